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

/// Reads a body whole, within the limits.
pub(super) async fn read<B: Body>(body: B, limits: Limits) -> Result<Bytes, Failure> {
    if body.size_hint().lower() > limits.body as u64 {
        return Err(too_large(limits));
    }
    let (mut body, mut late) = (pin!(body), pin!(time::sleep(limits.within)));
    let mut all = BytesMut::new();
    loop {
        let frame = poll_fn(|cx| match body.as_mut().poll_frame(cx) {
            Poll::Pending => late.as_mut().poll(cx).map(|()| Err(())),
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
        });
        let Ok(frame) = frame.await else {
            let message = format!("the request's body did not come within {:?}", limits.within);
            let failure = Failure::of(&Error::refusal(Kind::InvalidRequest).with_message(message));
            return Err(failure.with_status(StatusCode::REQUEST_TIMEOUT));
        };
        let mut data = match frame {
            None => return Ok(all.freeze()),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => data,
                Err(_) => continue,
            },
            Some(Err(_)) => {
                let error = Error::refusal(Kind::InvalidRequest).with_message("the request's body broke off");
                return Err(Failure::of(&error));
            }
        };
        if all.len() + data.remaining() > limits.body {
            return Err(too_large(limits));
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
