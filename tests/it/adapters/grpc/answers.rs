//! Streams, requests that stream, deadlines on their way out.
use super::*;
use crate::{guarded, seconds};
use seawall::{CircuitState, Gate, GaveUp, Kind, Trail, circuit_breaker::Window};
use std::time::Duration;
use tonic::{Code, client::Grpc};
use tonic_prost::ProstCodec;

const ASK: http::uri::PathAndQuery = http::uri::PathAndQuery::from_static("/seawall.chat.v1.Chat/Ask");

#[tokio::test(start_paused = true)]
async fn a_unary_call_is_sent_again_with_the_same_bytes_and_its_answer_tells_the_trail() {
    guarded(async {
        let scripted = Scripted::new(|n| if n < 2 { Err(Status::internal("broken")) } else { Ok(vec![text("a")]) });
        let answer = client(stack!(server(&scripted))).ask(question()).await.unwrap();
        assert_eq!((answer.get_ref().id.as_str(), scripted.sends()), ("m", 3));
        let trail = answer.extensions().get::<Trail>().unwrap();
        assert_eq!(trail.attempts().iter().map(seawall::Attempt::kind).collect::<Vec<_>>(), [Kind::Server; 2]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_before_its_first_message_starts_over() {
    guarded(async {
        let scripted = Scripted::new(|n| match n {
            0 => Ok(vec![Err(Status::unavailable("not yet"))]),
            _ => Ok(vec![text("a"), text("b")]),
        });
        let stream = client(stack!(server(&scripted))).ask_stream(question()).await.unwrap().into_inner();
        assert!(matches!(read(stream).await, (2, None)));
        assert_eq!(scripted.sends(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_status_behind_messages_is_the_streams_own_and_counts_against_the_server() {
    guarded(async {
        let scripted = Scripted::new(|_| Ok(vec![text("a"), text("b"), Err(Status::data_loss("gone"))]));
        let gate = Gate::new();
        let stack = Stack::http(GrpcClassifyLayer::new().layer(server(&scripted))).gate(&gate).build().unwrap();
        let mut client = client(stack);
        for _ in 0..10 {
            let stream = client.ask_stream(question()).await.unwrap().into_inner();
            let (pieces, status) = read(stream).await;
            let status = status.unwrap();
            assert_eq!((pieces, status.code(), status.message()), (2, Code::DataLoss, "gone"));
            assert!(told(&status).is_delivered() && !told(&status).is_retryable());
        }
        assert_eq!((scripted.sends(), gate.circuit(None)), (10, CircuitState::Open), "nothing was asked again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_whole_stream_counts_for_the_server() {
    guarded(async {
        // Nine failures, a whole stream, nine failures: never ten in a row.
        let scripted = Scripted::new(|n| match n {
            9 => Ok(vec![text("a")]),
            _ => Ok(vec![text("a"), Err(Status::internal("broken"))]),
        });
        let gate = Gate::new();
        let window = Window::calls(100).unwrap().min_calls(100).unwrap().consecutive(10).unwrap();
        let stack = Stack::http(GrpcClassifyLayer::new().layer(server(&scripted))).gate(&gate).circuit(window);
        let mut client = client(stack.build().unwrap());
        for _ in 0..19 {
            read(client.ask_stream(question()).await.unwrap().into_inner()).await;
        }
        assert_eq!(gate.circuit(None), CircuitState::Closed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_messages_that_have_to_be_waited_for_is_sent_once_and_says_why() {
    guarded(async {
        let scripted = Scripted::new(|_| Err(Status::internal("broken")));
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            tokio::time::sleep(seconds(1)).await;
            sender.send(question()).await.unwrap();
        });
        let mut grpc = Grpc::new(GrpcClientLayer::new().layer(stack!(server(&scripted))));
        let messages = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let codec = ProstCodec::<AskRequest, AskReply>::default();
        let status = grpc.client_streaming(Request::new(messages), ASK, codec).await.unwrap_err();
        assert_eq!((status.code(), scripted.sends()), (Code::Internal, 1));
        assert_eq!(told(&status).gave_up(), Some(GaveUp::NotReplayable));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_messages_that_are_all_there_is_sent_again() {
    guarded(async {
        let scripted = Scripted::new(|n| if n < 2 { Err(Status::internal("broken")) } else { Ok(vec![text("a")]) });
        let mut grpc = Grpc::new(GrpcClientLayer::new().layer(stack!(server(&scripted))));
        let codec = ProstCodec::<AskRequest, AskReply>::default();
        let messages = Request::new(tokio_stream::iter([question()]));
        grpc.client_streaming(messages, ASK, codec).await.unwrap();
        assert_eq!(scripted.sends(), 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_over_the_limit_is_sent_whole_and_once() {
    guarded(async {
        let long = AskRequest { model: "m".repeat(10_000), ..question() };
        for (limit, sends) in [(9_000, 1), (11_000, 3)] {
            let scripted = Scripted::new(|n| if n < 2 { Err(Status::internal("broken")) } else { Ok(vec![text("a")]) });
            let layer = GrpcClientLayer::new().limit(limit);
            let answer = ChatClient::new(layer.layer(stack!(server(&scripted)))).ask(long.clone()).await;
            assert_eq!((answer.is_ok(), scripted.sends()), (sends == 3, sends));
            let one = Scripted::new(|_| Ok(vec![text("a")]));
            let answer = ChatClient::new(layer.layer(stack!(server(&one)))).ask(long.clone()).await.unwrap();
            assert_eq!(answer.into_inner().id, long.model);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_still_being_sent_gets_the_head_at_once() {
    guarded(async {
        // The server says its head, and no message before it has one.
        let channel = raw(|| {
            let never = StreamBody::new(tokio_stream::pending());
            head(&[("content-type", b"application/grpc")], never.boxed_unsync())
        });
        let mut grpc = Grpc::new(GrpcClientLayer::new().layer(stack!(channel)));
        let codec = ProstCodec::<AskRequest, AskReply>::default();
        let (_sender, receiver) = tokio::sync::mpsc::channel(1);
        let messages = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let answer = tokio::time::timeout(seconds(1), grpc.streaming(Request::new(messages), ASK, codec)).await;
        answer.expect("the head is held back").unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_written_is_not_sent() {
    let scripted = Scripted::new(|_| Ok(vec![text("a")]));
    let mut client = client(stack!(server(&scripted))).max_encoding_message_size(2);
    let status = client.ask(question()).await.unwrap_err();
    assert_eq!((status.code(), told(&status).kind()), (Code::OutOfRange, Kind::PayloadTooLarge));
    assert_eq!((told(&status).sends(), scripted.sends()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_the_deadline_goes_out_at_each_attempt() {
    guarded(async {
        let scripted = Scripted::new(|n| match n {
            0 => Err(with_header(Status::unavailable("later"), "grpc-retry-pushback-ms", "4000")),
            _ => Ok(vec![text("a")]),
        });
        let mut request = Request::new(question());
        request.set_timeout(seconds(20));
        client(stack!(server(&scripted), deadline(seconds(60)))).ask(request).await.unwrap();
        let sent: Vec<_> = scripted.headers("grpc-timeout").into_iter().flatten().map(|text| micros(&text)).collect();
        let gap = Duration::from_millis(u64::try_from(scripted.gaps()[0]).unwrap());
        assert_eq!(sent[0], seconds(20));
        assert!(sent[1] <= seconds(20) - gap && sent[1] >= seconds(19) - gap, "{sent:?} {gap:?}");
    })
    .await;
}

fn micros(text: &str) -> Duration {
    Duration::from_micros(text.strip_suffix('u').unwrap().parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_stacks_deadline_goes_out_and_the_limit_of_an_attempt_does_not() {
    guarded(async {
        let scripted = Scripted::new(|_| Ok(vec![text("a")]));
        client(stack!(server(&scripted), whole(seconds(9)))).ask(question()).await.unwrap();
        client(stack!(server(&scripted), whole(seconds(9)), deadline(seconds(30)))).ask(question()).await.unwrap();
        assert_eq!(scripted.headers("grpc-timeout"), [None, Some("30000000u".to_owned())]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_alone_keeps_the_codes() {
    let scripted = Scripted::new(|_| Err(Status::not_found("no such model")));
    let mut client = ChatClient::new(GrpcClassifyLayer::new().layer(server(&scripted)));
    let status = client.ask(question()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "no such model"));
    assert_eq!(told(&status).kind(), Kind::NotFound);
}
