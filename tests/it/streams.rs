//! Streamed answers are put together, whoever writes them and however they are cut on the way.
mod anthropic;
mod calls;
mod cuts;
mod errors;
mod openai;
mod recorded;
mod thoughts;

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame};
use seawall::{
    Error,
    chat::{self, Answer, Item, Native, Reply, ToolCall},
    provider::{self, Dialect},
};
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::{ServiceExt, service_fn};

/// In which words an answer is read.
#[derive(Clone)]
enum Speaks {
    OpenAi(provider::OpenAi),
    Anthropic(provider::Anthropic),
}

fn openai() -> Speaks {
    Speaks::OpenAi(provider::OpenAi::without_key())
}

fn anthropic() -> Speaks {
    Speaks::Anthropic(provider::Anthropic::without_key())
}

/// A body of these chunks, whose connection may stay open.
struct Chunks {
    chunks: VecDeque<Bytes>,
    stays_open: bool,
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.chunks.pop_front() {
            None if self.stays_open => Poll::Pending,
            chunk => Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk)))),
        }
    }
}

/// The bytes in chunks of this size.
fn chunks(stream: &[u8], size: usize) -> Vec<Bytes> {
    stream.chunks(size).map(Bytes::copy_from_slice).collect()
}

/// All that a reader of a stream gets.
#[derive(Debug)]
struct Read {
    items: Vec<Item>,
    answer: Answer,
    skipped: u32,
    error: Option<Error>,
}

impl Speaks {
    async fn ask(&self, chunks: Vec<Bytes>, stays_open: bool) -> Result<Reply, Error> {
        let question = chat::Request::new("m").user("What colour is the sea?").stream();
        let service = service_fn(move |_| {
            let body = Chunks { chunks: chunks.iter().cloned().collect(), stays_open };
            let response = Response::builder().header("content-type", "text/event-stream").body(body);
            std::future::ready(Ok::<_, Infallible>(response.unwrap()))
        });
        match self.clone() {
            Self::OpenAi(dialect) => dialect.over(service).oneshot(question).await,
            Self::Anthropic(dialect) => dialect.over(service).oneshot(question).await,
        }
    }

    /// Reads a stream to its end, whatever that is.
    async fn read(&self, chunks: Vec<Bytes>) -> Read {
        Self::all(self.ask(chunks, false).await).await
    }

    /// Reads a stream behind which the connection stays open.
    async fn left_open(&self, stream: &str) -> Read {
        Self::all(self.ask(vec![Bytes::copy_from_slice(stream.as_bytes())], true).await).await
    }

    async fn all(reply: Result<Reply, Error>) -> Read {
        let mut read = Read { items: Vec::new(), answer: Answer::default(), skipped: 0, error: None };
        let mut reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                assert!(!error.is_delivered(), "nothing was shown");
                read.error = Some(error);
                return read;
            }
        };
        while let Some(item) = reply.next().await {
            match item {
                Ok(item) => read.items.push(item),
                Err(error) => {
                    assert!(error.is_delivered(), "something was shown");
                    read.error = Some(error);
                }
            }
        }
        read.answer = reply.answer().clone();
        read.skipped = reply.skipped();
        read
    }

    /// Reads a stream that is whole.
    async fn whole(&self, stream: &str) -> Read {
        let read = self.read(vec![Bytes::copy_from_slice(stream.as_bytes())]).await;
        assert!(read.error.is_none(), "{:?} in {stream}", read.error);
        read
    }

    /// The error that ends a stream.
    async fn failing(&self, stream: &str) -> Error {
        let read = self.read(vec![Bytes::copy_from_slice(stream.as_bytes())]).await;
        read.error.unwrap_or_else(|| panic!("a success: {stream}"))
    }

    /// A whole reply.
    fn decoded(&self, body: &str) -> Answer {
        let (head, ()) = Response::new(()).into_parts();
        let reply = match self {
            Self::OpenAi(dialect) => dialect.decode(&head, body.as_bytes()),
            Self::Anthropic(dialect) => dialect.decode(&head, body.as_bytes()),
        };
        reply.unwrap().answer().clone()
    }
}

/// An event of OpenAI's form.
fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// One with this delta of the first choice.
fn delta(delta: &Value) -> String {
    data(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

/// One that ends the answer.
fn finish(reason: &str) -> String {
    data(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
}

const DONE: &str = "data: [DONE]\n\n";

/// An event of Anthropic's form.
fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn text(text: &str) -> Item {
    Item::Text(text.into())
}

fn calling(index: usize, name: &str, arguments: &str) -> Item {
    Item::Calling { index, name: name.into(), arguments: arguments.into() }
}

fn called(id: &str, name: &str, arguments: &str) -> Item {
    Item::ToolCall(ToolCall::new(id, name, arguments))
}

fn native(dialect: &str, json: &str) -> Native {
    Native::new(Arc::<str>::from(dialect), RawValue::from_string(json.to_owned()).unwrap())
}
