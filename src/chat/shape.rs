use super::{Gathering, Reply, Request};
use crate::{Context, Ending, Gather, Guard, Note, Replay, Shape, Sink, Trail};

/// [`Request`] and [`Reply`]: the context rides in the one, guards and trail in the other.
///
/// A whole reply ends its guards at once and at no cost; a stream keeps each in one box.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chat;

impl Shape<Request> for Chat {
    fn context(&self, request: &Request) -> Option<Context> {
        request.context()
    }

    fn set_context(&self, request: &mut Request, context: Context) {
        request.set_context(context);
    }

    fn set_sink(&self, request: &mut Request, sink: &Sink) {
        request.set_sink(sink.clone());
    }

    fn streams(&self, request: &Request) -> bool {
        request.is_stream()
    }

    /// A streamed reply is there with its first content.
    fn shows_head(&self) -> bool {
        false
    }

    /// The model.
    fn key<'a>(&self, request: &'a Request) -> Option<&'a str> {
        Some(request.model_name())
    }
}

impl Replay<Request> for Chat {
    fn again(&self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

impl Note<Reply> for Chat {
    fn note(&self, reply: &mut Reply, trail: Trail) {
        reply.prepend(trail);
    }

    fn trail<'a>(&self, reply: &'a Reply) -> Option<&'a Trail> {
        Some(reply.trail())
    }
}

impl<G: Guard + Send + 'static> Ending<Reply, G> for Chat {
    type Response = Reply;

    fn hold(&self, reply: Reply, guard: G) -> Reply {
        reply.hold(guard)
    }
}

impl Gather<Reply> for Chat {
    type Gathering = Gathering;

    fn gather(&self, reply: Reply) -> Gathering {
        Gathering::new(reply)
    }
}
