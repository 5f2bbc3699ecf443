//! What a status means, and when it is asked again.
use super::*;
use crate::{guarded, seconds};
use seawall::{GaveUp, Kind, Phase, Scope};
use std::time::Duration;
use tonic::Code;
use tonic_types::{ErrorDetails, QuotaViolation, StatusExt};
use tower::{ServiceExt, util::MapResponse};

/// Every code: its kind, its status among HTTP's, how often it is sent.
const CODES: [(Code, Kind, u16, usize); 16] = [
    (Code::Cancelled, Kind::Cancelled, 499, 1),
    (Code::Unknown, Kind::Server, 500, 3),
    (Code::InvalidArgument, Kind::InvalidRequest, 400, 1),
    (Code::DeadlineExceeded, Kind::Timeout, 504, 3),
    (Code::NotFound, Kind::NotFound, 404, 1),
    (Code::AlreadyExists, Kind::Conflict, 409, 1),
    (Code::PermissionDenied, Kind::Permission, 403, 1),
    (Code::ResourceExhausted, Kind::RateLimited, 429, 3),
    (Code::FailedPrecondition, Kind::InvalidRequest, 400, 1),
    (Code::Aborted, Kind::Conflict, 409, 3),
    (Code::OutOfRange, Kind::InvalidRequest, 400, 1),
    (Code::Unimplemented, Kind::NotFound, 404, 1),
    (Code::Internal, Kind::Server, 500, 3),
    (Code::Unavailable, Kind::Overloaded, 503, 3),
    (Code::DataLoss, Kind::Server, 500, 3),
    (Code::Unauthenticated, Kind::Auth, 401, 1),
];

#[tokio::test(start_paused = true)]
async fn every_code_is_of_its_kind_and_reaches_the_caller_as_it_was() {
    guarded(async {
        for (code, kind, http, sends) in CODES {
            // A status in the place of an answer, and in trailers before any message.
            let refused: [Say; 2] = [
                |_| Err(with_header(Status::new(Code::Unknown, "so it is"), "x-own", "kept")),
                |_| Ok(vec![Err(Status::new(Code::Unknown, "so it is"))]),
            ];
            for (place, say) in refused.into_iter().enumerate() {
                let scripted = Scripted::new(say);
                // The script is a plain function: the code is put into its answer on the way.
                let channel = MapResponse::new(server(&scripted), move |answer| renumbered(answer, code as i32));
                let mut client = client(stack!(channel));
                let status = match place {
                    0 => client.ask(question()).await.unwrap_err(),
                    _ => client.ask_stream(question()).await.unwrap_err(),
                };
                assert_eq!((status.code(), status.message()), (code, "so it is"));
                let error = told(&status);
                assert_eq!((error.kind(), error.status()), (kind, Some(http)), "{code:?}");
                assert_eq!((scripted.sends(), error.sends()), (sends, sends as u32), "{code:?}");
                assert!(!error.is_delivered() && error.code().is_some(), "{code:?}");
            }
        }
    })
    .await;
}

/// The same answer with another status, in its head or in its trailers.
fn renumbered(answer: http::Response<Body>, number: i32) -> http::Response<RawBody> {
    let value = move || http::HeaderValue::from(number);
    let (mut head, body) = answer.into_parts();
    if head.headers.contains_key("grpc-status") {
        head.headers.insert("grpc-status", value());
    }
    let body = body.map_frame(move |frame| match frame.into_trailers() {
        Ok(mut trailers) => {
            trailers.insert("grpc-status", value());
            http_body::Frame::trailers(trailers)
        }
        Err(frame) => frame,
    });
    http::Response::from_parts(head, body.map_err(BoxError::from).boxed_unsync())
}

#[tokio::test(start_paused = true)]
async fn retry_info_is_waited_for_in_full_whatever_the_code() {
    guarded(async {
        let say: [Say; 3] =
            [|n| after(n, Code::ResourceExhausted), |n| after(n, Code::Aborted), |n| after(n, Code::Unavailable)];
        for say in say {
            let scripted = Scripted::new(say);
            client(stack!(server(&scripted))).ask(question()).await.unwrap();
            // With jitter on top.
            assert!(matches!(scripted.gaps()[..], [gap] if (20_000..26_000).contains(&gap)), "{:?}", scripted.gaps());
        }
    })
    .await;
}

fn after(n: usize, code: Code) -> Result<Vec<Result<Piece, Status>>, Status> {
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(20_000)));
    if n == 0 { Err(Status::with_error_details(code, "later", details)) } else { Ok(vec![text("a")]) }
}

#[tokio::test(start_paused = true)]
async fn a_pushback_is_a_told_wait_and_goes_before_retry_info() {
    guarded(async {
        let scripted = Scripted::new(|n| match n {
            0 => {
                let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(50)));
                let status = Status::with_error_details(Code::Unavailable, "later", details);
                Err(with_header(status, "grpc-retry-pushback-ms", "7000"))
            }
            _ => Ok(vec![text("a")]),
        });
        client(stack!(server(&scripted))).ask(question()).await.unwrap();
        assert!(matches!(scripted.gaps()[..], [gap] if (7000..9000).contains(&gap)), "{:?}", scripted.gaps());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pushback_that_is_no_number_means_not_again() {
    guarded(async {
        let says: [Say; 6] = [
            |_| Err(with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "-1")),
            |_| Err(with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "banana")),
            |_| Err(with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "")),
            |_| Err(with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "+5")),
            |_| Err(with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "99999999999999999999999")),
            |_| {
                let mut status = with_header(Status::unavailable("no"), "grpc-retry-pushback-ms", "1");
                status.metadata_mut().append("grpc-retry-pushback-ms", MetadataValue::from_static("2"));
                Err(status)
            },
        ];
        for say in says {
            let scripted = Scripted::new(say);
            let status = client(stack!(server(&scripted))).ask(question()).await.unwrap_err();
            assert_eq!((status.code(), scripted.sends()), (Code::Unavailable, 1));
            assert_eq!((told(&status).kind(), told(&status).is_retryable()), (Kind::Overloaded, false));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pushback_makes_no_mistake_worth_asking_again() {
    let scripted = Scripted::new(|_| Err(with_header(Status::invalid_argument("no"), "grpc-retry-pushback-ms", "1")));
    let status = client(stack!(server(&scripted))).ask(question()).await.unwrap_err();
    assert_eq!((told(&status).kind(), scripted.sends()), (Kind::InvalidRequest, 1));
}

#[tokio::test(start_paused = true)]
async fn words_and_details_say_more_than_a_code() {
    let with_info = |code, message: &str, reason: &str| {
        Status::with_error_details(
            code,
            message,
            ErrorDetails::with_error_info(reason, "googleapis.com", [("a".to_owned(), "b".to_owned())]),
        )
    };
    let minute = QuotaViolation {
        quota_id: "GenerateRequestsPerMinutePerProjectPerModel".to_owned(),
        ..QuotaViolation::new("project", "limit reached")
    };
    for (status, kind, code) in [
        (
            Status::resource_exhausted("Error, message length too large: found 9 bytes"),
            Kind::PayloadTooLarge,
            "RESOURCE_EXHAUSTED",
        ),
        (
            Status::out_of_range("Error, decoded message length too large: found 9 bytes"),
            Kind::PayloadTooLarge,
            "OUT_OF_RANGE",
        ),
        (
            Status::resource_exhausted("Received message larger than max (9 vs. 4)"),
            Kind::PayloadTooLarge,
            "RESOURCE_EXHAUSTED",
        ),
        (Status::resource_exhausted("Your credit balance is too low"), Kind::QuotaExhausted, "RESOURCE_EXHAUSTED"),
        (Status::resource_exhausted("The model is overloaded"), Kind::Overloaded, "RESOURCE_EXHAUSTED"),
        (
            Status::unavailable("upstream connect error or disconnect/reset before headers"),
            Kind::Transport,
            "UNAVAILABLE",
        ),
        (
            Status::invalid_argument("This model's maximum context length is 9 tokens"),
            Kind::ContextLength,
            "INVALID_ARGUMENT",
        ),
        (with_info(Code::InvalidArgument, "API key not valid.", "API_KEY_INVALID"), Kind::Auth, "API_KEY_INVALID"),
        (with_info(Code::PermissionDenied, "not here", "SERVICE_DISABLED"), Kind::Permission, "SERVICE_DISABLED"),
        (
            with_info(Code::ResourceExhausted, "slow down", "RATE_LIMIT_EXCEEDED"),
            Kind::RateLimited,
            "RATE_LIMIT_EXCEEDED",
        ),
    ] {
        let error = classified(status).await;
        assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{error}");
    }
    let status = Status::with_error_details(Code::ResourceExhausted, "no", ErrorDetails::with_quota_failure([minute]));
    assert_eq!(classified(status).await.scope(), Some(Scope::RequestsPerMinute));
}

/// What the layer alone makes of a status that a channel fails with.
async fn classified(status: Status) -> Error {
    let channel = tower::service_fn(move |_: http::Request<Body>| {
        let status = status.clone();
        async move { Err::<http::Response<RawBody>, _>(status) }
    });
    let service = GrpcClassifyLayer::new().layer(channel);
    service.oneshot(http::Request::new(Body::empty())).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_message_is_decoded_and_its_keys_are_masked_everywhere() {
    let scripted = Scripted::new(|_| Err(Status::unauthenticated("ключ sk-proj-abcDEF123456 is 100% wrong")));
    let status = client(stack!(server(&scripted))).ask(question()).await.unwrap_err();
    let masked = "ключ sk-p… is 100% wrong";
    assert_eq!((status.message(), told(&status).message()), (masked, Some(masked)));
    for shown in [format!("{status}"), format!("{status:?}"), format!("{}", told(&status))] {
        assert!(!shown.contains("abcDEF"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_keeps_the_servers_details_and_metadata() {
    let scripted = Scripted::new(|_| {
        let details = ErrorDetails::with_bad_request_violation("model", "there is none");
        Err(with_header(Status::with_error_details(Code::InvalidArgument, "no", details), "x-own", "kept"))
    });
    let status = client(stack!(server(&scripted))).ask(question()).await.unwrap_err();
    assert_eq!(status.metadata().get("x-own").unwrap(), "kept");
    assert_eq!(status.get_error_details().bad_request().unwrap().field_violations[0].field, "model");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_ours_has_a_code_too() {
    guarded(async {
        let scripted = Scripted::new(|_| Err(Status::internal("broken")));
        let gate = seawall::Gate::new();
        gate.force_circuit_open();
        let stack = Stack::http(GrpcClassifyLayer::new().layer(server(&scripted))).gate(&gate).build().unwrap();
        let status = client(stack).ask(question()).await.unwrap_err();
        assert_eq!((status.code(), told(&status).kind()), (Code::Unavailable, Kind::CircuitOpen));
        assert_eq!(scripted.sends(), 0);

        let silent = tower::service_fn(|_: http::Request<Body>| {
            std::future::pending::<Result<http::Response<RawBody>, BoxError>>()
        });
        let status = client(stack!(silent, deadline(seconds(3)))).ask(question()).await.unwrap_err();
        assert_eq!((status.code(), told(&status).phase()), (Code::DeadlineExceeded, Some(Phase::Total)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_two_routes_the_caller_gets_the_status_of_the_last() {
    guarded(async {
        let (first, last) =
            (Scripted::new(|_| Err(Status::unavailable("first"))), Scripted::new(|_| Err(Status::internal("last"))));
        let layer = GrpcClassifyLayer::new();
        let stack = Stack::http(layer.layer(server(&first))).then(layer.layer(server(&last)));
        let stack = stack.on_failure().max_retries(0).seed(7).build().unwrap();
        let status = client(stack).ask(question()).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Internal, "last"));
        assert_eq!(told(&status).root().unwrap().message(), Some("first"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_ends_the_call_and_says_so() {
    guarded(async {
        let scripted = Scripted::new(|n| after(n, Code::ResourceExhausted));
        let mut request = Request::new(question());
        request.set_timeout(seconds(5));
        let status = client(stack!(server(&scripted))).ask(request).await.unwrap_err();
        assert_eq!((status.code(), scripted.sends()), (Code::ResourceExhausted, 1));
        assert_eq!(told(&status).gave_up(), Some(GaveUp::WaitPastDeadline));
    })
    .await;
}
