//! What is served: both protocols over a stack, in process and over real sockets.
mod bad;
mod cooling;
#[cfg(all(feature = "axum", feature = "reqwest"))]
mod endings;
#[cfg(all(feature = "axum", feature = "reqwest"))]
mod leaving;
mod openai;
mod protocols;
#[cfg(all(feature = "axum", feature = "reqwest"))]
mod slow;
#[cfg(all(feature = "axum", feature = "reqwest"))]
mod wire;

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Full};
use seawall::serve::{Body, Endpoint, Protocol};
use serde_json::Value;
use tower::ServiceExt;

/// Answers a body that is there.
async fn ask<P: Protocol, S>(endpoint: &Endpoint<P, S>, body: impl Into<Bytes>) -> (http::response::Parts, String)
where
    Endpoint<P, S>:
        tower::Service<http::Request<Full<Bytes>>, Response = Response<Body>, Error = std::convert::Infallible> + Clone,
{
    let request = http::Request::post("/").body(Full::new(body.into())).unwrap();
    let Ok(response) = endpoint.clone().oneshot(request).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head, String::from_utf8(body.to_vec()).unwrap())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
