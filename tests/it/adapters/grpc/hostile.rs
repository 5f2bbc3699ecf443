//! What no gRPC server would answer: an error, in bounded memory, and never a panic.
use super::*;
use crate::guarded;
use base64::{Engine, prelude::BASE64_STANDARD};
use prost::encoding;
use seawall::{Kind, Phase};
use std::time::Duration;
use tonic::Code;

const GRPC: (&str, &[u8]) = ("content-type", b"application/grpc");

/// A call to a server that answers this, without retries.
async fn ask(
    answer: impl Fn() -> http::Response<RawBody> + Clone + Send + 'static,
) -> Result<(usize, Option<Status>), Status> {
    let mut client = client(stack!(raw(answer), max_retries(0)));
    Ok(read(client.ask_stream(question()).await?.into_inner()).await)
}

#[tokio::test(start_paused = true)]
async fn a_status_that_makes_no_sense_is_unknown() {
    guarded(async {
        for number in [&b"banana"[..], b"99", b"-1", b"", b"00", b"\xff\xfe", b"4294967296"] {
            let place: [fn(&'static [u8]) -> http::Response<RawBody>; 2] = [
                |number| head(&[GRPC, ("grpc-status", number)], frames(vec![])),
                |number| head(&[GRPC], frames(vec![trailers(&[("grpc-status", number)])])),
            ];
            for place in place {
                let status = ask(move || place(number)).await.unwrap_err();
                assert_eq!((status.code(), told(&status).kind()), (Code::Unknown, Kind::Server));
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn details_that_are_broken_tell_nothing() {
    guarded(async {
        // No base64 (on which tonic's own reader panics), no protobuf, one that claims more than there is.
        for details in [&b"!!!not base64"[..], b"AAAA", b"/////w", b"Gv////8P", b"", b"\xff\xff"] {
            let failed =
                move || head(&[GRPC, ("grpc-status", b"8"), ("grpc-status-details-bin", details)], frames(vec![]));
            let status = ask(failed).await.unwrap_err();
            assert_eq!((status.code(), told(&status).kind()), (Code::ResourceExhausted, Kind::RateLimited));
            assert_eq!(told(&status).retry_after(), None);

            let behind = move || {
                let end = trailers(&[("grpc-status", b"8"), ("grpc-status-details-bin", details)]);
                head(&[GRPC], frames(vec![message(), end]))
            };
            let (pieces, status) = ask(behind).await.unwrap();
            assert_eq!((pieces, status.unwrap().code()), (1, Code::ResourceExhausted));

            let fine = move || {
                let end = trailers(&[("grpc-status", b"0"), ("grpc-status-details-bin", details)]);
                head(&[GRPC], frames(vec![message(), end]))
            };
            assert!(matches!(ask(fine).await, Ok((1, None))));
            let empty =
                move || head(&[GRPC, ("grpc-status", b"0"), ("grpc-status-details-bin", details)], frames(vec![]));
            assert!(matches!(ask(empty).await, Ok((0, None))));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn waits_beyond_reason_are_read_without_overflow() {
    guarded(async {
        for (seconds, nanos, wait) in [
            (i64::MIN, i32::MIN, Duration::ZERO),
            (-1, 5, Duration::ZERO),
            (i64::MAX, i32::MAX, Duration::new(i64::MAX as u64, 999_999_999)),
            (1, -5, Duration::from_secs(1)),
        ] {
            // A google.rpc.Status by hand, as no library would write it.
            let (mut delay, mut info, mut any, mut status) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            encoding::int64::encode(1, &seconds, &mut delay);
            encoding::int32::encode(2, &nanos, &mut delay);
            encoding::bytes::encode(1, &delay, &mut info);
            encoding::string::encode(1, &"type.googleapis.com/google.rpc.RetryInfo".to_owned(), &mut any);
            encoding::bytes::encode(2, &info, &mut any);
            encoding::bytes::encode(3, &any, &mut status);
            let text: &'static [u8] = BASE64_STANDARD.encode(status).leak().as_bytes();
            let answer =
                move || head(&[GRPC, ("grpc-status", b"8"), ("grpc-status-details-bin", text)], frames(vec![]));
            assert_eq!(told(&ask(answer).await.unwrap_err()).retry_after(), Some(wait), "{seconds} {nanos}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_megabyte_of_message_or_details_is_not_kept() {
    guarded(async {
        let long: &'static [u8] = vec![b'x'; 1 << 20].leak();
        let escaped: &'static [u8] = "%E6%B5%B7".repeat(1 << 17).leak().as_bytes();
        for text in [long, escaped] {
            let answer = move || head(&[GRPC, ("grpc-status", b"3"), ("grpc-message", text)], frames(vec![]));
            let status = ask(answer).await.unwrap_err();
            assert!((1000..9000).contains(&status.message().len()), "{}", status.message().len());
            assert!(told(&status).message().unwrap().len() <= 2048);
        }
        let details: &'static [u8] = vec![b'A'; 1 << 20].leak();
        let answer = move || head(&[GRPC, ("grpc-status", b"3"), ("grpc-status-details-bin", details)], frames(vec![]));
        let status = ask(answer).await.unwrap_err();
        assert_eq!((status.code(), status.details().len()), (Code::InvalidArgument, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_end_without_a_status_is_a_cut() {
    guarded(async {
        let before: [fn() -> http::Response<RawBody>; 3] = [
            || head(&[GRPC], frames(vec![])),
            || head(&[GRPC], frames(vec![trailers(&[("x-other", b"1")])])),
            || head(&[GRPC], frames(vec![Ok(http_body::Frame::data(Bytes::new()))])),
        ];
        for answer in before {
            let status = ask(answer).await.unwrap_err();
            assert_eq!((status.code(), told(&status).kind()), (Code::Unknown, Kind::Transport));
            assert!(told(&status).is_retryable());
        }
        let (pieces, status) = ask(|| head(&[GRPC], frames(vec![message()]))).await.unwrap();
        let status = status.unwrap();
        assert_eq!((pieces, told(&status).kind(), told(&status).is_delivered()), (1, Kind::Transport, true));

        let broken = || head(&[GRPC], frames(vec![message(), Err("reset".into())]));
        let (pieces, status) = ask(broken).await.unwrap();
        let status = status.unwrap();
        assert_eq!((pieces, status.code(), told(&status).phase()), (1, Code::Unavailable, Some(Phase::Body)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_proxy_is_judged_as_http_does() {
    guarded(async {
        for (number, code, kind) in [
            (503, Code::Unavailable, Kind::Overloaded),
            (502, Code::Unavailable, Kind::Server),
            (504, Code::Unavailable, Kind::Timeout),
            (429, Code::Unavailable, Kind::RateLimited),
            (404, Code::Unimplemented, Kind::NotFound),
            (403, Code::PermissionDenied, Kind::Permission),
            (401, Code::Unauthenticated, Kind::Auth),
            (400, Code::Internal, Kind::InvalidRequest),
            (413, Code::Unknown, Kind::PayloadTooLarge),
            (302, Code::Unknown, Kind::Unknown),
        ] {
            let page = move || {
                let body = frames(vec![Ok(http_body::Frame::data("<html>sorry</html>".into()))]);
                let mut response = head(&[("content-type", b"text/html"), ("retry-after", b"9")], body);
                *response.status_mut() = http::StatusCode::from_u16(number).unwrap();
                response
            };
            let status = ask(page).await.unwrap_err();
            assert_eq!((status.code(), told(&status).kind()), (code, kind), "{number}");
            assert_eq!(told(&status).retry_after(), Some(Duration::from_secs(9)));
            assert!(!format!("{status:?}").contains("sorry"));
        }
        let page =
            || head(&[("content-type", b"text/html")], frames(vec![Ok(http_body::Frame::data("<html>".into()))]));
        let status = ask(page).await.unwrap_err();
        assert_eq!((status.code(), told(&status).kind()), (Code::Unknown, Kind::Unknown));
        // A page without end is not read to its end.
        let endless = || {
            let chunks = std::iter::repeat_with(|| Ok(http_body::Frame::data(Bytes::from_static(&[b'x'; 4096]))));
            let mut response = head(&[], StreamBody::new(tokio_stream::iter(chunks)).boxed_unsync());
            *response.status_mut() = http::StatusCode::BAD_GATEWAY;
            response
        };
        assert_eq!(told(&ask(endless).await.unwrap_err()).kind(), Kind::Server);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_status_of_grpc_counts_whatever_http_says() {
    let both = || {
        let mut response = head(&[GRPC, ("grpc-status", b"8")], frames(vec![]));
        *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        response
    };
    let status = ask(both).await.unwrap_err();
    assert_eq!((status.code(), told(&status).kind()), (Code::ResourceExhausted, Kind::RateLimited));
}

#[tokio::test(start_paused = true)]
async fn frames_of_nothing_do_not_stop_the_clocks() {
    let nothing = || {
        let empty = std::iter::repeat_with(|| Ok(http_body::Frame::data(Bytes::new())));
        head(&[GRPC], StreamBody::new(tokio_stream::iter(empty)).boxed_unsync())
    };
    let mut client = client(stack!(raw(nothing), deadline(Duration::from_millis(50))));
    let advance = async {
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_millis(60)).await;
    };
    let (status, ()) = tokio::join!(client.ask_stream(question()), advance);
    assert_eq!(status.unwrap_err().code(), Code::DeadlineExceeded);
}
