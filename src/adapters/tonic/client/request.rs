use ::tonic::{Status, body::Body as TonicBody};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use std::{
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, Waker},
};

/// A body of so many frames is no one message.
const FRAMES: usize = 1024;

/// The body of a gRPC request, read into memory where it was there at once, so that it can be sent again.
///
/// A copy of one that streams has nothing to give: it fails.
pub struct RequestBody(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Streamed { ahead: Option<Bytes>, rest: TonicBody },
    Gone,
}

impl RequestBody {
    /// Reads what is there without waiting: that is all of the one message of a unary call. What has more than `limit` bytes, or
    /// more to come, streams.
    pub(super) fn read(mut body: TonicBody, limit: usize) -> Result<Self, Status> {
        // Nobody is to be woken: what is pending is asked again by whoever sends it.
        let mut cx = Cx::from_waker(Waker::noop());
        let mut kept = Kept::Nothing;
        for _ in 0..FRAMES {
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Ready(None) => return Ok(Self(Kind::Whole(kept.joined()))),
                // A request has no trailers in gRPC.
                Poll::Ready(Some(frame)) => kept = kept.and(frame?.into_data().unwrap_or_default()),
                Poll::Pending => break,
            }
            if kept.len() > limit {
                break;
            }
        }
        Ok(Self(Kind::Streamed { ahead: kept.joined(), rest: body }))
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.0, Kind::Whole(_))
    }
}

/// What was read: mostly one frame, which is not copied.
enum Kept {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl Kept {
    fn and(self, more: Bytes) -> Self {
        match self {
            kept if more.is_empty() => kept,
            Self::Nothing => Self::One(more),
            Self::One(first) => {
                let mut joined = BytesMut::with_capacity(first.len() + more.len());
                joined.extend_from_slice(&first);
                Self::Many(joined).and(more)
            }
            Self::Many(mut joined) => {
                joined.extend_from_slice(&more);
                Self::Many(joined)
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::One(one) => one.len(),
            Self::Many(joined) => joined.len(),
        }
    }

    fn joined(self) -> Option<Bytes> {
        match self {
            Self::Nothing => None,
            Self::One(one) => Some(one),
            Self::Many(joined) => Some(joined.freeze()),
        }
    }
}

impl Clone for RequestBody {
    fn clone(&self) -> Self {
        match &self.0 {
            Kind::Whole(bytes) => Self(Kind::Whole(bytes.clone())),
            Kind::Streamed { .. } | Kind::Gone => Self(Kind::Gone),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let ahead = match &mut self.get_mut().0 {
            Kind::Whole(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Streamed { ahead, rest } => match ahead.take() {
                None => return Pin::new(rest).poll_frame(cx),
                Some(ahead) => ahead,
            },
            Kind::Gone => return Poll::Ready(Some(Err(Status::internal("a request that streams is sent once")))),
        };
        Poll::Ready(Some(Ok(Frame::data(ahead))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").field("whole", &self.is_whole()).finish_non_exhaustive()
    }
}
