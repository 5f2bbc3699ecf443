use super::{
    Pieces, context,
    proto::{AskReply, AskRequest, chat_server},
    reply, request,
};
use crate::{
    Error, Kind,
    chat::{Reply, Request},
    serve::Drain,
};
use ::tonic::{Response, Status};
use std::fmt;
use tower::{Service, ServiceExt};

/// The largest message that is read: as an HTTP [endpoint](crate::serve::Limits) has it. tonic's own 4 MiB end at one photograph.
const REQUEST_LIMIT: usize = 32 * 1024 * 1024;

/// Serves `chat.proto` over a stack: see the [module](super).
///
/// The caller's `grpc-timeout` is the call's deadline; a caller who leaves ends the call upstream; an error becomes a
/// [status](::tonic::Status) with `RetryInfo` and `ErrorInfo`.
#[derive(Clone)]
pub struct ChatService<S> {
    stack: S,
    drain: Option<Drain>,
}

impl<S> ChatService<S>
where
    S: Service<Request, Response = Reply, Error = Error, Future: Send> + Clone + Send + Sync + 'static,
{
    /// Asks `stack`.
    pub fn new(stack: S) -> Self {
        Self { stack, drain: None }
    }

    /// Ends what is still being answered with this.
    #[must_use]
    pub fn drain(self, drain: &Drain) -> Self {
        Self { drain: Some(drain.clone()), ..self }
    }

    /// The service that a tonic server takes. It reads messages up to 32 MiB; see its methods for compression and other limits.
    #[must_use]
    pub fn into_server(self) -> chat_server::ChatServer<Self> {
        chat_server::ChatServer::new(self).max_decoding_message_size(REQUEST_LIMIT)
    }

    async fn reply(&self, asked: ::tonic::Request<AskRequest>, streamed: bool) -> Result<Reply, Error> {
        let context = context(asked.metadata());
        let request = request::decode(asked.into_inner())?.with_context(context);
        let request = if streamed { request.stream() } else { request };
        let answer = async {
            let mut reply = self.stack.clone().oneshot(request).await?;
            if !streamed {
                reply.read().await?;
            }
            Ok(reply)
        };
        let answered = Drain::or_ended(self.drain.as_ref(), answer).await;
        answered.unwrap_or_else(|| Err(Error::refusal(Kind::Cancelled)))
    }
}

#[::tonic::async_trait]
impl<S> chat_server::Chat for ChatService<S>
where
    S: Service<Request, Response = Reply, Error = Error, Future: Send> + Clone + Send + Sync + 'static,
{
    async fn ask(&self, request: ::tonic::Request<AskRequest>) -> Result<Response<AskReply>, Status> {
        Ok(Response::new(reply::whole(self.reply(request, false).await?.answer())))
    }

    type AskStreamStream = Pieces;

    async fn ask_stream(&self, request: ::tonic::Request<AskRequest>) -> Result<Response<Pieces>, Status> {
        Ok(Response::new(Pieces::new(self.reply(request, true).await?, self.drain.as_ref())))
    }
}

impl<S> fmt::Debug for ChatService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatService").finish_non_exhaustive()
    }
}
