use super::{Failure, Limits};
use crate::{Error, Kind, time};
use bytes::{Buf, Bytes, BytesMut};
use http::StatusCode;
use http_body::Body;
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// How much of a body that is too large is read and dropped. Most clients write all of it before they look for an answer, and of a
/// connection that closes meanwhile they see no more than that.
const DROPPED: u64 = 256 * 1024 * 1024;

/// Reads a body whole, within the limits.
pub(super) async fn read<B: Body>(body: B, limits: Limits) -> Result<Bytes, Failure> {
    let announced = body.size_hint().lower();
    let mut is_dropped = announced > limits.body as u64;
    if announced > DROPPED {
        return Err(too_large(limits));
    }
    let (mut body, mut late) = (pin!(body), pin!(time::sleep(limits.within)));
    let (mut all, mut dropped) = (BytesMut::new(), 0);
    loop {
        let frame = poll_fn(|cx| match body.as_mut().poll_frame(cx) {
            Poll::Pending => late.as_mut().poll(cx).map(|()| Err(())),
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
        });
        let frame = match frame.await {
            Err(()) | Ok(None | Some(Err(_))) if is_dropped => return Err(too_large(limits)),
            Err(()) => {
                let message = format!("the request's body did not come within {:?}", limits.within);
                let failure = Failure::of(&Error::refusal(Kind::InvalidRequest).with_message(message));
                return Err(failure.with_status(StatusCode::REQUEST_TIMEOUT));
            }
            Ok(None) => return Ok(all.freeze()),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => {
                let error = Error::refusal(Kind::InvalidRequest).with_message("the request's body broke off");
                return Err(Failure::of(&error));
            }
        };
        let Ok(mut data) = frame.into_data() else { continue };
        if !is_dropped && all.len() + data.remaining() > limits.body {
            (is_dropped, all) = (true, BytesMut::new());
        }
        if is_dropped {
            dropped += data.remaining() as u64;
            if dropped > DROPPED {
                return Err(too_large(limits));
            }
            continue;
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            all.extend_from_slice(chunk);
            let taken = chunk.len();
            data.advance(taken);
        }
    }
}

fn too_large(limits: Limits) -> Failure {
    let message = format!("the request is larger than the {} bytes that are read here", limits.body);
    Failure::of(&Error::refusal(Kind::PayloadTooLarge).with_message(message))
}
