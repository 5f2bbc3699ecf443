//! Layers as a stack of several routes joins them.
mod listeners;
mod routes;
use crate::fake::{Answer, Fake, Now, fake};
use seawall::{
    Error, Gate, Stack,
    circuit_breaker::Window,
    failover::{One, Then},
    stack::Builder,
};

type Model = Fake<u64, u64>;
type Two = Builder<Then<One<Model>, Model>>;

/// Answers as told, with the number of the request.
fn model(answer: impl Fn(u32) -> Answer<u64> + Send + Sync + 'static) -> Model {
    fake(move |nth, _: u64| answer(nth))
}

fn well() -> Model {
    model(|_| Now(Ok(2)))
}

/// Opens with its first failure.
fn brittle() -> Window {
    Window::calls(100).unwrap().consecutive(1).unwrap()
}

/// Two routes, at their gates, with a switch after everything that may be named.
fn two(first: &Model, second: &Model, gates: [&Gate; 2]) -> Two {
    let stack = Stack::bare(first.clone()).gate(gates[0]).then(second.clone()).gate(gates[1]);
    stack.on_429().on_failure().seed(1)
}

fn kinds(error: &Error) -> Vec<seawall::Kind> {
    error.trail().attempts().iter().map(seawall::Attempt::kind).collect()
}
