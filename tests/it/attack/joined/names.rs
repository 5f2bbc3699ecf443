//! Names of models by the hundred thousand, and secrets where they do not belong: what is kept, and what is printed.
use crate::{fake::*, guarded, seconds};
use seawall::{
    CircuitState, Error, Gate, Kind, Sink, Stack,
    chat::{self, Answer as ChatAnswer, Message, Reply},
    circuit_breaker::Window,
};
use std::sync::{Arc, Mutex};

const KEY: &str = "sk-proj-4f9aAbC123xYz789";
const PROMPT: &str = "the patient is called Ada";

fn fine() -> Fake<chat::Request, Reply> {
    fake(|_, _| Now(Ok(Reply::whole(ChatAnswer::new(Message::assistant(PROMPT))))))
}

/// An error that brings what a log must not show.
fn talkative(kind: Kind) -> Error {
    let error = Error::provider(kind).with_status(500).with_message(PROMPT).with_code(KEY);
    error.with_source(std::io::Error::other(KEY)).with_request_id(format!("req-{KEY}"))
}

#[tokio::test(start_paused = true)]
async fn what_is_printed_of_a_stack_its_calls_and_its_events_shows_no_key_and_no_prompt() {
    guarded(async {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let log = printed.clone();
        let print = move |line: String| log.lock().unwrap().push(line);
        let events = print.clone();
        let sink = Sink::new(move |event| events(format!("{event:?} {event:#?}")));
        let kinds = [Kind::Server, Kind::RateLimited, Kind::Timeout, Kind::Transport, Kind::Overloaded, Kind::Auth];
        let broken = || fake(move |nth, _: chat::Request| Now(Err(talkative(kinds[nth as usize % kinds.len()]))));
        let gates = [Gate::new(), Gate::new()];
        let window = Window::calls(9).unwrap().consecutive(2).unwrap();
        let stack =
            Stack::chat(broken()).gate(&gates[0]).then(broken()).gate(&gates[1]).model("m").on_429().on_failure();
        let stack = stack.circuit(window).rounds(2).sink(sink.clone()).build().unwrap();
        let question = || chat::Request::new("m").system(PROMPT).user(PROMPT).user(KEY);
        for _ in 0..20 {
            let call = stack.ask(question());
            print(format!("{call:?}"));
            let error = call.await.unwrap_err();
            print(format!("{error} {error:?} {error:#?} {:?} {:?}", error.trail(), error.root()));
            print(format!("{:?}", error.root().map(ToString::to_string)));
            tokio::time::sleep(seconds(3)).await;
        }
        let answered = Stack::chat(broken()).then(fine()).on_429().on_failure().sink(sink).build().unwrap();
        let reply = answered.ask(question()).await.unwrap();
        print(format!("{reply:?} {stack:?} {stack:#?} {answered:?} {gates:?} {:#?}", gates[0]));
        let printed = printed.lock().unwrap();
        assert!(printed.len() > 100, "{}", printed.len());
        for line in printed.iter() {
            assert!(!line.contains(KEY) && !line.contains(PROMPT), "{line}");
        }
    })
    .await;
}

/// A name of a megabyte is no name: it has no circuit of its own, no place in the gate, and no room in what is told.
#[tokio::test(start_paused = true)]
async fn names_as_long_as_books_are_told_of_in_a_word() {
    guarded(async {
        let longest = Arc::new(Mutex::new(0));
        let length = longest.clone();
        let sink = Sink::new(move |event| {
            let mut most = length.lock().unwrap();
            *most = format!("{event:?}").len().max(*most);
        });
        let broken = fake(
            |nth, _: chat::Request| if nth % 3 == 0 { Now(Err(talkative(Kind::Server))) } else { limited(seconds(1)) },
        );
        let gate = Gate::new();
        let window = Window::calls(9).unwrap().consecutive(1).unwrap();
        let stack = Stack::chat(broken).gate(&gate).then(fine()).on_429().on_failure().max_retries(0);
        let stack = stack.circuit(window).sink(sink).build().unwrap();
        for nth in 0..20 {
            let name = "n".repeat((1 << 20) + nth);
            assert!(stack.ask(chat::Request::new(name.clone()).user("?")).await.is_ok());
            assert_eq!(gate.circuit(Some(&name)), CircuitState::Closed, "not shown");
            tokio::time::sleep(seconds(9)).await;
        }
        assert!(format!("{gate:?}").len() < 1000);
        assert!(*longest.lock().unwrap() < 2000, "{}", longest.lock().unwrap());
    })
    .await;
}
