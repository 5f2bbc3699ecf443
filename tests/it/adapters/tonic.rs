//! gRPC, over real sockets: the service that is served, and what errors become.
use seawall::{
    Context, Error, Kind, Stack,
    adapters::tonic::{
        ChatService, context,
        proto::{self, chat_client::ChatClient, part, piece},
    },
    provider::OpenAi,
    serve::Drain,
    sim::{Answer, Fault, MockProvider, Phase, Script, When},
};
use std::time::Duration;
use tokio::{
    net::TcpListener,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tonic::{
    Code, Request, Status, Streaming,
    metadata::MetadataMap,
    transport::{Channel, Server, server::TcpIncoming},
};
use tonic_types::StatusExt;

/// A server over a stack over a provider, and a client of it.
struct Served {
    provider: MockProvider,
    client: ChatClient<Channel>,
    drain: Drain,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

async fn served(script: Script) -> Served {
    let provider = MockProvider::start(script).await.unwrap();
    let client = OpenAi::new("sk-secret").base_url(provider.base_url()).client().unwrap();
    let stack = Stack::chat(client).max_retries(0).concurrency(1).build().unwrap();
    let drain = Drain::new();
    let service = ChatService::new(stack).drain(&drain).into_server();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = Server::builder().add_service(service);
    let server = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        server.serve_with_incoming_shutdown(TcpIncoming::from(listener), stopped).await.unwrap();
    });
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let client = ChatClient::new(channel).max_decoding_message_size(64 << 20).max_encoding_message_size(64 << 20);
    Served { provider, client, drain, stop: Some(stop), server }
}

impl Served {
    /// Waits until nothing is under way upstream.
    async fn idle(&self) {
        let idle = async {
            while self.provider.in_flight() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(5), idle).await.expect("a call upstream stays behind");
    }
}

fn text(text: &str) -> proto::Part {
    proto::Part { kind: Some(part::Kind::Text(text.to_owned())) }
}

fn turn(role: proto::Role, parts: impl Into<Vec<proto::Part>>) -> proto::Message {
    proto::Message { role: role.into(), parts: parts.into() }
}

fn question() -> proto::AskRequest {
    let messages = vec![turn(proto::Role::User, [text("What colour is the sea?")])];
    proto::AskRequest { model: "m".to_owned(), messages, ..Default::default() }
}

async fn pieces(mut stream: Streaming<proto::Piece>) -> (Vec<piece::Kind>, Option<Status>) {
    let mut kinds = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(piece)) => kinds.extend(piece.kind),
            Ok(None) => return (kinds, None),
            Err(status) => return (kinds, Some(status)),
        }
    }
}

fn said(kinds: &[piece::Kind]) -> String {
    let texts = kinds.iter().filter_map(|kind| match kind {
        piece::Kind::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn an_answer_is_given_whole_and_piece_by_piece() {
    let mut served = served(Script::seeded(1).answer(Answer::default().text("Blue, mostly."))).await;
    let reply = served.client.ask(question()).await.unwrap().into_inner();
    assert_eq!(reply.message.unwrap().parts, [text("Blue, mostly.")]);
    assert_eq!((reply.finish_reason.as_str(), reply.model.as_str()), ("stop", "m"));
    assert!(reply.usage.unwrap().output > 0);

    let stream = served.client.ask_stream(question()).await.unwrap().into_inner();
    let (kinds, status) = pieces(stream).await;
    assert!(status.is_none(), "{status:?}");
    assert_eq!(said(&kinds), "Blue, mostly.");
    assert!(matches!(&kinds[0], piece::Kind::Started(started) if started.model == "m"));
    assert!(kinds.contains(&piece::Kind::FinishReason("stop".to_owned())));
}

#[tokio::test]
async fn tools_go_round() {
    let answer = Answer::default().text("").tool_call("add", r#"{"a":4,"b":2}"#).tool_call("add", r#"{"a":7,"b":8}"#);
    let mut served = served(Script::seeded(1).answer(answer).keep_bodies(10_000)).await;
    let tool = proto::Tool {
        name: "add".to_owned(),
        description: "Adds.".to_owned(),
        parameters: r#"{"type":"object"}"#.to_owned(),
        strict: false,
    };
    let asked = proto::AskRequest { tools: vec![tool], ..question() };
    let message = served.client.ask(asked.clone()).await.unwrap().into_inner().message.unwrap();
    let calls = message.parts.iter().filter_map(|part| match &part.kind {
        Some(part::Kind::ToolCall(call)) => Some(call.clone()),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    assert_eq!(
        calls.iter().map(|call| call.arguments.as_str()).collect::<Vec<_>>(),
        [r#"{"a":4,"b":2}"#, r#"{"a":7,"b":8}"#]
    );

    let results = calls.iter().map(|call| proto::Part {
        kind: Some(part::Kind::ToolResult(proto::ToolResult {
            call_id: call.id.clone(),
            content: "6".to_owned(),
            ..Default::default()
        })),
    });
    let mut again = asked.clone();
    again.messages.extend([message, turn(proto::Role::Tool, results.collect::<Vec<_>>())]);
    served.client.ask(again).await.unwrap();
    let sent = &served.provider.log().records[1];
    let body = String::from_utf8_lossy(sent.body.as_deref().unwrap()).into_owned();
    assert_eq!(body.matches(r#""role":"tool""#).count(), 2, "{body}");

    let stream = served.client.ask_stream(asked).await.unwrap().into_inner();
    let (kinds, _) = pieces(stream).await;
    let whole = kinds
        .iter()
        .filter(|kind| matches!(kind, piece::Kind::Whole(part) if matches!(part.kind, Some(part::Kind::ToolCall(_)))));
    assert_eq!(whole.count(), 2);
}

#[tokio::test]
async fn a_cut_stream_ends_with_a_status() {
    let script = Script::seeded(1).answer(Answer::default().text("one two three four five six"));
    let mut served = served(script.fault(When::always(), Fault::cut(Phase::AfterTokens(3)))).await;
    let stream = served.client.ask_stream(question()).await.unwrap().into_inner();
    let (kinds, status) = pieces(stream).await;
    assert!(!said(&kinds).is_empty());
    assert_eq!(status.unwrap().code(), Code::Unavailable);
}

#[tokio::test]
async fn a_rate_limit_tells_when_to_ask_again_and_nothing_of_the_provider() {
    let fault = Fault::status(429).header("retry-after-ms", "1500").body(
        r#"{"error":{"message":"org-1 at https://internal is limited, key sk-secret","code":"rate_limit_exceeded"}}"#,
    );
    let mut served = served(Script::seeded(1).fault(When::always(), fault)).await;
    for streamed in [false, true] {
        let status = match streamed {
            false => served.client.ask(question()).await.unwrap_err(),
            true => served.client.ask_stream(question()).await.unwrap_err(),
        };
        assert_eq!(status.code(), Code::ResourceExhausted);
        let details = status.get_error_details();
        let wait = details.retry_info().unwrap().retry_delay.unwrap();
        assert!(wait <= Duration::from_millis(1500) && wait > Duration::from_millis(500), "{wait:?}");
        let info = details.error_info().unwrap();
        assert!(["RATE_LIMITED", "COOLING_DOWN"].contains(&info.reason.as_str()) && info.domain == "seawall");
        let told = format!("{status:?}");
        for secret in ["org-1", "internal", "sk-secret"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
}

#[tokio::test]
async fn the_callers_timeout_is_the_calls_deadline() {
    let mut served = served(Script::seeded(1).fault(When::always(), Fault::silence(Phase::BeforeHead))).await;
    let mut request = Request::new(question());
    request.set_timeout(Duration::from_millis(200));
    let start = Instant::now();
    let status = served.client.ask(request).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    served.idle().await;
}

#[tokio::test(start_paused = true)]
async fn every_form_of_a_timeout_is_read_and_nonsense_passed_over() {
    for (header, wait) in
        [("2H", 7_200_000), ("3M", 180_000), ("7S", 7000), ("250m", 250), ("4000u", 4), ("99999999n", 99)]
    {
        let mut metadata = MetadataMap::new();
        metadata.insert("grpc-timeout", header.parse().unwrap());
        assert_eq!(context(&metadata).left().unwrap().as_millis(), wait, "{header}");
    }
    for header in ["", "S", "-1S", "+1S", "123456789S", "1x", "1.5S", "é"] {
        let mut metadata = MetadataMap::new();
        if let Ok(value) = header.parse() {
            metadata.insert("grpc-timeout", value);
        }
        assert!(context(&metadata).deadline.is_none(), "{header}");
    }
    assert_eq!(context(&MetadataMap::new()).sends_left, Context::default().sends_left);
}

#[tokio::test]
async fn a_caller_who_leaves_ends_the_call_upstream() {
    let answer = Answer::default().text(&*"word ".repeat(50));
    let script = Script::seeded(1).answer(answer).fault(When::always(), Fault::silence(Phase::AfterTokens(5)));
    let mut served = served(script).await;
    let mut stream = served.client.ask_stream(question()).await.unwrap().into_inner();
    stream.message().await.unwrap();
    drop(stream);
    served.idle().await;
    // The one permit is free again.
    let mut stream = served.client.ask_stream(question()).await.unwrap().into_inner();
    assert!(stream.message().await.unwrap().is_some());
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_its_place_and_not_sent() {
    let mut served = served(Script::seeded(1)).await;
    let asked = |change: fn(&mut proto::AskRequest)| {
        let mut request = question();
        change(&mut request);
        request
    };
    for (request, word) in [
        (asked(|it| it.model.clear()), "model:"),
        (asked(|it| it.messages.clear()), "messages:"),
        (asked(|it| it.messages[0].role = 9), "messages[0].role:"),
        (asked(|it| it.messages[0].parts.push(proto::Part::default())), "messages[0].parts[1]:"),
        (asked(|it| it.temperature = Some(f64::NAN)), "temperature:"),
        (
            asked(|it| it.tools.push(proto::Tool { parameters: "{".to_owned(), ..Default::default() })),
            "tools[0].parameters:",
        ),
        (asked(|it| it.extra.push(proto::Extra { value: "]".to_owned(), ..Default::default() })), "extra[0].value:"),
    ] {
        let status = served.client.ask(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(word), "{word} {status:?}");
    }
    let huge = asked(|it| it.messages[0].parts[0] = text(&"x".repeat(50 << 20)));
    assert_eq!(served.client.ask(huge).await.unwrap_err().code(), Code::OutOfRange);
    assert_eq!(served.provider.seen(), 0);
}

#[tokio::test]
async fn a_server_that_stops_lets_streams_end_and_tells_those_that_do_not() {
    let answer = Answer::default().text("one two three four five six");
    let script = Script::seeded(1).answer(answer).fault(When::always(), Fault::silence(Phase::AfterTokens(3)));
    let mut served = served(script).await;
    let mut stream = served.client.ask_stream(question()).await.unwrap().into_inner();
    stream.message().await.unwrap();
    drop(served.stop.take());
    tokio::task::yield_now().await;
    served.drain.end();
    let (_, status) = pieces(stream).await;
    assert_eq!(status.unwrap().code(), Code::Unavailable);
    drop(served.client);
    timeout(Duration::from_secs(5), served.server).await.expect("the server does not stop").unwrap();
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn rest_and_grpc_share_a_port_and_a_stack() {
    use seawall::{
        adapters::axum::serve,
        serve::{Endpoint, OpenAi as Completions},
    };
    let provider = MockProvider::start(Script::seeded(1).answer(Answer::default().text("Blue."))).await.unwrap();
    let stack = Stack::chat(OpenAi::new("k").base_url(provider.base_url()).client().unwrap()).build().unwrap();
    let grpc = tonic::service::Routes::new(ChatService::new(stack.clone()).into_server());
    let rest = Endpoint::new(Completions::new(), stack);
    let router = grpc.prepare().into_axum_router().route_service("/v1/chat/completions", rest);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, router).until(async { drop(stopped.await) }));

    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let reply = ChatClient::new(channel).ask(question()).await.unwrap().into_inner();
    assert_eq!(reply.message.unwrap().parts, [text("Blue.")]);
    let asked = r#"{"model":"m","messages":[{"role":"user","content":"?"}]}"#;
    let url = format!("http://{address}/v1/chat/completions");
    let answer = reqwest::Client::new().post(url).body(asked).send().await.unwrap().text().await.unwrap();
    assert!(answer.contains("Blue."), "{answer}");
    drop(stop);
    timeout(Duration::from_secs(5), server).await.expect("it stops").unwrap().unwrap();
    assert_eq!(provider.seen(), 2);
}

#[test]
fn every_kind_has_a_code() {
    for kind in Kind::ALL {
        let status = Status::from(
            Error::provider(*kind).with_message("sk-secret of org-1").with_retry_after(Duration::from_millis(1)),
        );
        assert!(!matches!(status.code(), Code::Ok | Code::Unknown), "{kind:?}");
        let is_ours_to_mend = matches!(kind, Kind::Auth | Kind::Permission | Kind::QuotaExhausted);
        assert!(!is_ours_to_mend || status.code() == Code::Internal && !status.message().contains("org-1"));
        assert_eq!(status.get_error_details().error_info().unwrap().reason, kind.as_str().to_uppercase());
    }
}
