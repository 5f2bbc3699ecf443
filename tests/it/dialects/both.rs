use super::{
    strict::{self, Verdict},
    *,
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use seawall::{
    Stack,
    chat::{Media, Part, Role, Text, ToolResult},
};
use serde_json::json;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tower::Service;

/// A provider that holds every request to its rules, and gives one answer after the other.
#[derive(Clone)]
struct Strict {
    rules: fn(&Value) -> Verdict,
    answers: Arc<Vec<Option<String>>>,
    next: Arc<AtomicUsize>,
}

impl Strict {
    /// `None`: a rate limit.
    fn new(rules: fn(&Value) -> Verdict, answers: Vec<Option<String>>) -> Self {
        Self { rules, answers: Arc::new(answers), next: Arc::default() }
    }

    fn seen(&self) -> usize {
        self.next.load(Relaxed)
    }
}

impl Service<Request<Full<Bytes>>> for Strict {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<String>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let body: Value = serde_json::from_slice(&request.collect().await.unwrap().to_bytes()).unwrap();
            if let Err(rule) = (this.rules)(&body) {
                let error = json!({ "error": { "type": "invalid_request_error", "message": rule } });
                return Ok(Response::builder().status(400).body(error.to_string()).unwrap());
            }
            Ok(match &this.answers[this.next.fetch_add(1, Relaxed)] {
                Some(answer) => Response::new(answer.clone()),
                None => Response::builder().status(429).header("retry-after", "5").body(String::new()).unwrap(),
            })
        })
    }
}

fn openai_calls(ids: &[&str]) -> Option<String> {
    let call =
        |id| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{\"at\": 1.0}" } });
    let calls: Vec<_> = ids.iter().map(call).collect();
    Some(
        json!({ "choices": [{ "message": { "content": null, "reasoning_content": "Hm.", "tool_calls": calls } }] })
            .to_string(),
    )
}

fn anthropic_calls(id: &str) -> Option<String> {
    Some(
        json!({ "stop_reason": "tool_use", "content": [
        { "type": "thinking", "thinking": "Hm.", "signature": "anthropic-1" },
        { "type": "tool_use", "id": id, "name": "look", "input": { "at": 1.10 } },
    ] })
        .to_string(),
    )
}

/// Case 34.
#[tokio::test(start_paused = true)]
async fn a_conversation_with_tools_switches_and_switches_back_and_both_accept_it() {
    let done = json!({ "choices": [{ "message": { "content": "Blue." } }] }).to_string();
    let long = "toolu_".repeat(10);
    let first = Strict::new(
        strict::openai,
        vec![openai_calls(&["call one", "call two"]), None, openai_calls(&["call one"]), None, Some(done)],
    );
    let second = Strict::new(strict::anthropic, vec![anthropic_calls(&long), anthropic_calls("toolu_2")]);
    let stack = Stack::chat(openai().over(first.clone()))
        .name("openai")
        .then(anthropic().over(second.clone()))
        .name("anthropic")
        .model("claude-sonnet-4-5")
        .on_429()
        .build()
        .unwrap();
    let mut request = question().system("Look.");
    let mut rounds = 0;
    let text = loop {
        let reply = stack.ask(request.clone()).await.unwrap();
        request = request.message(reply.message().clone());
        if reply.tool_calls().next().is_none() {
            break reply.text().into_owned();
        }
        for call in reply.tool_calls() {
            let plot = ToolResult::new(call.id(), "").image(Media::base64("image/png", "iVBOR"));
            request = request.message(Message::new(Role::Tool, [Part::ToolResult(plot)]));
        }
        rounds += 1;
        // Every second round is long enough for the first provider to be open again.
        if rounds % 2 == 0 {
            tokio::time::advance(crate::seconds(6)).await;
        }
    };
    assert_eq!((text.as_str(), rounds, first.seen(), second.seen()), ("Blue.", 4, 5, 2));
}

#[test]
fn a_provider_that_speaks_in_two_ways_gets_its_thoughts_in_the_one_it_is_asked_in() {
    let completions = openai().name("deepseek").send_reasoning();
    let messages = anthropic().name("deepseek");
    let block = r#"{"type":"thinking","thinking":"Hm.","signature":""}"#;
    let turn = |json: &str| calls(["a"]).part(Part::Reasoning(thoughts("deepseek", "Hm.", json)));
    let said = |dialect: &dyn Fn(&chat::Request) -> Value, json| dialect(&spoken(turn(json)))["messages"][1].take();
    let (here, there) = (|request: &_| body(&completions, request), |request: &_| body(&messages, request));
    assert_eq!(said(&here, "\"Hm.\"")["reasoning_content"], "Hm.");
    assert_eq!(said(&here, block)["reasoning_content"], "");
    assert_eq!(said(&there, block)["content"][1]["thinking"], "Hm.");
    assert_eq!(said(&there, "\"Hm.\"")["content"].as_array().unwrap().len(), 1);
}

/// A turn of the model's, with what its tools gave, or one of the user's.
#[derive(Clone, Debug)]
enum Step {
    User { text: &'static str, image: bool },
    Model { text: &'static str, thoughts: Option<&'static str>, ids: Vec<&'static str>, told: Told },
}

#[derive(Clone, Copy, Debug)]
struct Told {
    reversed: bool,
    interrupted: bool,
    together: bool,
    twice: bool,
    image: bool,
    /// Whether the model says more behind its calls.
    goes_on: bool,
}

const LONG: &str = "toolu_0123456789_0123456789_0123456789_0123456789_0123456789_0123456789";

fn step() -> impl Strategy<Value = Step> {
    let text = || prop::sample::select(vec!["", " ", "Blue.", "\u{1f30a}\n"]);
    let user = (text(), any::<bool>()).prop_map(|(text, image)| Step::User { text, image });
    let ids = prop::collection::vec(prop::sample::select(vec!["call_1", "toolu_1", "", "a b", "é", LONG]), 0..4);
    let thoughts = prop::option::of(prop::sample::select(vec!["anthropic", "openai", "deepseek"]));
    let told = any::<[bool; 6]>().prop_map(|[reversed, interrupted, together, twice, image, goes_on]| Told {
        reversed,
        interrupted,
        together,
        twice,
        image,
        goes_on,
    });
    let model =
        (text(), thoughts, ids, told).prop_map(|(text, thoughts, ids, told)| Step::Model { text, thoughts, ids, told });
    prop_oneof![user, model]
}

impl Step {
    fn turns(&self) -> Vec<Message> {
        let image = || Part::Image(Media::base64("image/png", "iVBOR"));
        match self {
            Self::User { text, image: false } => vec![Message::user(*text)],
            Self::User { text, image: true } => vec![Message::user(*text).part(image())],
            Self::Model { text, thoughts: by, ids, told } => {
                let signed = |by: &str| {
                    let json = json!({ "type": "thinking", "thinking": "Hm.", "signature": by });
                    Part::Reasoning(thoughts(by, "Hm.", &json.to_string()))
                };
                let parts = by.iter().map(|by| signed(by)).chain([Part::Text(Text::from(*text))]);
                let calls = ids.iter().map(|id| Part::ToolCall(ToolCall::new(*id, "look", "{}")));
                let mut turns = vec![Message::new(Role::Assistant, parts.chain(calls))];
                turns.extend(told.goes_on.then(|| Message::assistant("And more.")));
                turns.extend(told.results(ids));
                turns
            }
        }
    }
}

impl Told {
    fn results(self, ids: &[&'static str]) -> Vec<Message> {
        let mut ids = ids.to_vec();
        if self.reversed {
            ids.reverse();
        }
        let given = |id: &&str| {
            let result = ToolResult::new(*id, if self.reversed { "" } else { "6" });
            Part::ToolResult(if self.image {
                result.image(Media::base64("image/png", "iVBOR"))
            } else {
                result.error()
            })
        };
        let mut turns: Vec<_> = match self.together {
            true if ids.is_empty() => Vec::new(),
            true => vec![Message::new(Role::Tool, ids.iter().map(given))],
            false => ids.iter().map(|id| Message::new(Role::Tool, [given(id)])).collect(),
        };
        if let (true, Some(last)) = (self.twice, ids.last()) {
            turns.push(Message::new(Role::Tool, [given(last)]));
        }
        if self.interrupted && turns.len() > 1 {
            turns.insert(1, Message::user("Well?"));
        }
        turns
    }
}

/// A conversation of as many steps as `limited` has, which begins with this history.
async fn goes_on(history: Vec<Message>, limited: &[bool]) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (step, is_limited) in limited.iter().enumerate() {
        let ids = ["call one".to_owned(), format!("call_{step}"), "x".repeat(70)];
        match is_limited {
            true => {
                first.push(None);
                second.push(anthropic_calls(&ids[step % 3]));
            }
            false => first.push(openai_calls(&[&ids[step % 3], "same"])),
        }
    }
    let (first, second) = (Strict::new(strict::openai, first), Strict::new(strict::anthropic, second));
    let stack = Stack::chat(openai().over(first.clone()))
        .then(anthropic().over(second.clone()))
        .model("claude-sonnet-4-5")
        .on_429()
        .build()
        .unwrap();
    let mut request = chat::Request::new("m").history(history).user("Well?");
    for is_limited in limited {
        let reply = stack.ask(request.clone()).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.message()));
        assert_eq!(reply.trail().attempts().len(), usize::from(*is_limited));
        let calls: Vec<_> = reply.tool_calls().map(|call| call.id().to_owned()).collect();
        request = request.message(reply.message().clone());
        for id in calls {
            let plot = ToolResult::new(id, "").image(Media::base64("image/png", "iVBOR"));
            request = request.message(Message::new(Role::Tool, [Part::ToolResult(plot)]));
        }
        tokio::time::advance(crate::seconds(6)).await;
    }
    let switches = limited.iter().filter(|limited| **limited).count();
    assert_eq!((first.seen(), second.seen()), (limited.len(), switches));
}

proptest! {
    /// Case 34, over any history: each step is asked of the first provider, which limits it at some, and of the second then.
    #[test]
    fn whatever_was_said_it_goes_on_with_either_provider_through_failover(
        steps in prop::collection::vec(step(), 0..5),
        limited in prop::collection::vec(any::<bool>(), 1..6),
    ) {
        let history: Vec<_> = steps.iter().flat_map(Step::turns).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(goes_on(history, &limited));
    }

    #[test]
    fn whatever_was_said_both_accept_it_and_a_longer_history_begins_the_same(steps in prop::collection::vec(step(), 1..8)) {
        let history: Vec<_> = steps.iter().flat_map(Step::turns).collect();
        let request = chat::Request::new("m").history(history.clone());
        let (here, there) = (body(&openai(), &request), body(&anthropic(), &request));
        prop_assert_eq!(strict::openai(&here), Ok(()));
        prop_assert_eq!(strict::anthropic(&there), Ok(()));
        let own = |part: &&Part| matches!(part, Part::Reasoning(thoughts) if thoughts.native().dialect() == "anthropic");
        let kept = history.iter().flat_map(Message::parts).filter(own).count();
        let sent = there.to_string().matches("\"signature\":\"anthropic\"").count();
        prop_assert_eq!(kept, sent, "none of its own is lost, and no other's goes along");
        // What a cache has read stays as it was.
        let more = closed(calls(["call_1", "a b"])).into_iter();
        let longer = body(&openai(), &more.fold(request.clone(), chat::Request::message));
        let before = here["messages"].as_array().unwrap();
        prop_assert_eq!(&longer["messages"].as_array().unwrap()[..before.len()], &before[..]);
        let stored = serde_json::to_string(&request).unwrap();
        let restored: chat::Request = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(anthropic().encode(&restored, &mut Fit::default()).unwrap().into_body(), anthropic().encode(&request, &mut Fit::default()).unwrap().into_body());
    }
}

/// Case 30: Gemini signs one call of several, and Anthropic says who called where it was not the model itself.
#[test]
fn what_a_provider_adds_to_a_call_goes_back_with_that_call_and_to_nobody_else() {
    let gemini = openai().name("gemini").base_url("https://generativelanguage.googleapis.com/v1beta/openai");
    let signed = r#"{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"EqQB/+=="}},"function":{"name":"look","arguments":"{\"at\": 1.10}"}}"#;
    let plain = r#"{"index":1,"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}"#;
    let from_gemini = format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{signed},{plain}]}}}}]}}"#);
    let called = r#"{"type":"tool_use","id":"a","name":"look","input":{"at": 1.10},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}"#;
    let from_anthropic = format!(r#"{{"content":[{called}],"stop_reason":"tool_use"}}"#);
    let bytes = |dialect: &dyn Fn(&chat::Request) -> Bytes, request: &chat::Request| {
        String::from_utf8(dialect(request).to_vec()).unwrap()
    };
    let sent = |request: &chat::Request| gemini.encode(request, &mut Fit::default()).unwrap().into_body();
    let sent_there = |request: &chat::Request| anthropic().encode(request, &mut Fit::default()).unwrap().into_body();
    let stored = |message: &Message| serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap();

    let one = spoken(stored(decoded(&gemini, &from_gemini).unwrap().message()));
    assert!(bytes(&sent, &one).contains(signed), "byte for byte");
    assert_eq!(body(&gemini, &one)["messages"][1]["tool_calls"][1].as_object().unwrap().len(), 3);
    assert_eq!(body(&openai(), &one)["messages"][1]["tool_calls"][0].get("extra_content"), None);
    let other = spoken(stored(decoded(&anthropic(), &from_anthropic).unwrap().message()));
    assert!(bytes(&sent_there, &other).contains(called), "byte for byte");
    let there = body(&anthropic(), &one);
    assert_eq!(
        there["messages"][1]["content"][0],
        json!({ "type": "tool_use", "id": "a", "name": "look", "input": { "at": 1.10 } })
    );
    // Under another id it would be another call.
    let twice = [other.messages(), &closed(other.messages()[1].clone())].concat();
    assert_eq!(bytes(&sent_there, &chat::Request::new("m").history(twice)).matches("srvtoolu_1").count(), 1);
    let direct = from_anthropic.replace("code_execution_20250825", "direct");
    assert_eq!(decoded(&anthropic(), &direct).unwrap().tool_calls().next().unwrap().native(), None);
}
