//! One conversation in the words of two providers: nothing lost, and nothing sent that the other one refuses.
mod anthropic;
mod both;
mod history;
mod models;
mod openai;
mod presets;
mod quirks;
mod refused;
mod replies;
mod strict;

use http::Response;
use seawall::{
    Error,
    chat::{self, Message, Native, Reasoning, Reply, ToolCall},
    provider::{Anthropic, Dialect, Fit, OpenAi},
};
use serde_json::{Value, value::RawValue};

const KEY: &str = "sk-ant-api03-AbC123";

fn anthropic() -> Anthropic {
    Anthropic::new(KEY)
}

fn openai() -> OpenAi {
    OpenAi::new("sk-1")
}

fn question() -> chat::Request {
    chat::Request::new("m").user("What is it?")
}

fn body(dialect: &impl Dialect, request: &chat::Request) -> Value {
    serde_json::from_slice(dialect.encode(request, &mut Fit::default()).unwrap().body()).unwrap()
}

fn decoded(dialect: &impl Dialect, body: &str) -> Result<Reply, Error> {
    let (head, ()) = Response::new(()).into_parts();
    dialect.decode(&head, body.as_bytes())
}

fn calls<const N: usize>(ids: [&str; N]) -> Message {
    ids.iter().fold(Message::assistant(""), |turn, id| turn.tool_call(ToolCall::new(*id, "look", r#"{"at": 1.0}"#)))
}

/// A turn, and the results of its calls.
fn closed(turn: Message) -> Vec<Message> {
    let results = turn.tool_calls().map(|call| Message::tool(call.id(), "1")).collect::<Vec<_>>();
    [vec![turn], results].concat()
}

/// The question, a turn and the results of its calls.
fn spoken(turn: Message) -> chat::Request {
    closed(turn).into_iter().fold(question(), chat::Request::message)
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Thoughts as a provider wrote them.
fn thoughts(dialect: &str, text: &str, json: &str) -> Reasoning {
    Reasoning::new(text, Native::new(dialect, raw(json)))
}
