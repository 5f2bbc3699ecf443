//! Over real sockets, through reqwest.
use super::*;
use seawall::provider::Reqwest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The transport, past any proxy that the environment names.
pub fn direct() -> Reqwest {
    Reqwest::with_client(Reqwest::client_builder().no_proxy().build().unwrap())
}

/// What the server does with a connection, once it has read the request.
#[derive(Clone, Copy)]
enum Act {
    Close(&'static str),
    Reset(&'static str),
    Hang,
}

/// A server of one request a connection; gives its base URL and what it was sent.
async fn listen(act: Act) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let request = read_request(&mut socket).await;
            log.lock().unwrap().push(request);
            finish(socket, act).await;
            log.lock().unwrap().push("closed".into());
        }
    });
    (url, seen)
}

async fn finish(mut socket: TcpStream, act: Act) {
    match act {
        Act::Close(answer) => socket.write_all(answer.as_bytes()).await.unwrap(),
        Act::Reset(answer) => {
            socket.write_all(answer.as_bytes()).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            socket.set_zero_linger().unwrap();
        }
        Act::Hang => while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = socket.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| body.len() >= length.parse().unwrap()) || read == 0 {
            return text;
        }
    }
}

async fn over_reqwest(act: Act) -> (Result<Reply, Error>, Vec<String>) {
    let (url, seen) = listen(act).await;
    let call = openai().base_url(url).over(direct()).oneshot(question());
    let result = tokio::time::timeout(seconds(10), call).await.expect("the call hangs");
    let seen = seen.lock().unwrap().clone();
    (result, seen)
}

#[tokio::test]
async fn a_question_is_answered_over_the_wire() {
    let body = r#"{"choices":[{"message":{"content":"Blue."}}],"x":{"y":1}}"#;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nx-new: 1\r\n\r\n{body}", body.len());
    let (reply, seen) = over_reqwest(Act::Close(answer.leak())).await;
    assert_eq!(reply.unwrap().text(), "Blue.");
    let request = &seen[0];
    for part in [
        "POST /v1/chat/completions HTTP/1.1\r\n",
        "authorization: Bearer sk-proj-4f9aAbC123\r\n",
        "content-type: application/json\r\n",
        "user-agent: seawall/",
        "content-length: 88\r\n",
        r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"What colour is the sea?"}]}"#,
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let (target, asked) = listen(Act::Hang).await;
    let moved = format!("HTTP/1.1 307 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
    let (result, _) = over_reqwest(Act::Close(moved.leak())).await;
    assert_eq!(result.unwrap_err().status(), Some(307));
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_failing_connection_is_a_transport_error_and_is_tried_once() {
    const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"Bl";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2d\r\n{\"choices\":[{\"message\":{\"content\":\"Blue.\"}}]}\r\n";
    for act in [
        Act::Reset(""),
        Act::Close(""),
        Act::Reset("HTTP/1.1 200"),
        Act::Close("HTTP/1.1 200 OK\r\n"),
        Act::Reset(CUT),
        Act::Close(CUT),
        Act::Close(CHUNKED),
        Act::Reset(CHUNKED),
    ] {
        let (result, seen) = over_reqwest(act).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::Transport, 1), "{error}");
        assert!(!error.is_delivered() && error.is_retryable() && error.is_against_provider());
        assert_eq!(seen.iter().filter(|line| line.starts_with("POST")).count(), 1);
    }
}

#[tokio::test]
async fn an_error_names_no_url_down_to_its_source() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = openai().base_url(format!("http://{free}/v1?key=hush")).over(direct());
    let error = client.oneshot(question()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Transport);
    let mut told = format!("{error} {error:?} {:?}", error.message());
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        told += &format!(" {cause} {cause:?}");
        source = cause.source();
    }
    assert!(!told.contains("hush") && !told.contains(KEY), "{told}");
}

#[tokio::test]
async fn dropping_the_call_hangs_up() {
    let (url, seen) = listen(Act::Hang).await;
    let client = openai().base_url(url).over(direct());
    let call = client.oneshot(question());
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), call).await.is_err());
    for _ in 0..200 {
        if seen.lock().unwrap().len() == 2 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the server still waits: {:?}", seen.lock().unwrap());
}

#[test]
fn what_could_never_be_sent_is_no_client() {
    let setting = |dialect: OpenAi| dialect.client().err().map(|invalid| invalid.setting());
    assert_eq!(setting(openai().base_url("not a url")), Some("base_url"));
    assert_eq!(setting(OpenAi::new(" ")), Some("key"));
    assert_eq!(setting(OpenAi::new("line\nbreak")), Some("key"));
    assert_eq!(setting(openai().organisation("\u{7f}")), Some("organisation"));
}

#[test]
fn a_client_over_reqwest_may_go_anywhere() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    anywhere::<Client<OpenAi, Reqwest>>();
}

#[tokio::test]
async fn a_url_that_cannot_be_taken_out_leaves_with_the_source_that_names_it() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = Reqwest::client_builder().no_proxy().build().unwrap();
    let wrapped = io::Error::other(client.get(format!("http://{free}/?key=hush")).send().await.unwrap_err());
    assert!(format!("{wrapped:?}").contains("hush"), "or this test shows nothing");
    let error = seawall::classify::Classifier::new().transport(wrapped.into());
    assert_eq!(
        (error.kind(), error.phase(), error.code()),
        (Kind::Transport, Some(Phase::Connect), Some("ConnectionRefused"))
    );
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    assert!(causes.map(|cause| format!("{cause} {cause:?}")).all(|told| !told.contains("hush")));
}
