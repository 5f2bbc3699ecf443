//! One call is one request on the wire, and the key goes to nobody else.
use super::{http2, listening, server};
use crate::client::direct;
use bytes::Bytes;
use http_body_util::Full;
use seawall::{
    Error, Kind, chat,
    classify::ClassifyLayer,
    provider::{OpenAi, Reqwest},
};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower::{Layer, ServiceExt};

const GOOD: &str = r#"{"choices":[{"message":{"content":"Blue."}}]}"#;

/// What came in: one entry a connection, with its requests.
type Log = Arc<Mutex<Vec<Vec<String>>>>;

/// What a server does with the nth request of a connection.
#[derive(Clone, Copy)]
enum Act {
    Answer,
    /// Answers, and closes before another request can come.
    AnswerAndClose,
    Close,
    Reset,
    Redirect(u16, &'static str),
}

async fn logging(acts: &'static [Act]) -> (String, Log) {
    let log = Log::default();
    let shared = Arc::clone(&log);
    let url = listening(move |socket| served(socket, acts, Arc::clone(&shared))).await;
    (url, log)
}

async fn served(mut socket: TcpStream, acts: &'static [Act], log: Log) {
    let connection = {
        let mut log = log.lock().unwrap();
        log.push(Vec::new());
        log.len() - 1
    };
    for act in acts {
        let Some(request) = read_request(&mut socket).await else { return };
        log.lock().unwrap()[connection].push(request);
        let good = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{GOOD}", GOOD.len());
        match act {
            Act::Answer => socket.write_all(good.as_bytes()).await.unwrap(),
            Act::AnswerAndClose => return socket.write_all(good.as_bytes()).await.unwrap(),
            Act::Close => return,
            Act::Reset => return socket.set_zero_linger().unwrap(),
            Act::Redirect(status, to) => {
                let head = format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
                socket.write_all(head.as_bytes()).await.unwrap();
            }
        }
    }
}

/// A request with its body; `None`: the client has gone.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = socket.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
            return Some(text);
        }
    }
}

async fn ask(transport: &Reqwest, url: &str) -> Result<chat::Reply, Error> {
    let client = OpenAi::new("sk-secret").base_url(url).over(transport.clone());
    client.oneshot(chat::Request::new("m").user("hello")).await
}

fn requests(log: &Log) -> Vec<usize> {
    log.lock().unwrap().iter().map(Vec::len).collect()
}

#[tokio::test]
async fn a_request_that_was_read_is_not_sent_again_on_a_new_connection() {
    for act in [&[Act::Close] as &[_], &[Act::Reset]] {
        let (url, log) = logging(act).await;
        let error = ask(&direct(), &url).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), requests(&log)), (Kind::Transport, 1, vec![1]));
    }
}

/// hyper sends again only what it had not begun to write, which no server has seen.
#[tokio::test]
async fn a_request_that_was_read_is_not_sent_again_on_a_kept_connection() {
    for acts in [&[Act::Answer, Act::Close] as &[_], &[Act::Answer, Act::Reset]] {
        let (url, log) = logging(acts).await;
        let transport = direct();
        assert_eq!(ask(&transport, &url).await.unwrap().text(), "Blue.");
        let error = ask(&transport, &url).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), requests(&log)), (Kind::Transport, 1, vec![2]));
    }
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_in_the_meantime_is_replaced() {
    let (url, log) = logging(&[Act::AnswerAndClose]).await;
    let transport = direct();
    for calls in 1..=20 {
        assert_eq!(ask(&transport, &url).await.unwrap().text(), "Blue.");
        // The close arrives.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert_eq!(requests(&log), vec![1; calls]);
    }
}

#[tokio::test]
async fn each_of_many_urls_is_asked_at_its_own_path_and_query_with_its_own_body() {
    const URLS: usize = 12;
    let (url, log) = logging(&[Act::Answer; 2 * URLS]).await;
    let (url, _) = url.split_once('?').unwrap();
    let transport = direct();
    for at in (0..URLS).chain(0..URLS) {
        let base = format!("{url}/{}?version={}", at / 2, at % 2);
        assert_eq!(ask(&transport, &base).await.unwrap().text(), "Blue.");
        let request = log.lock().unwrap()[0].last().unwrap().clone();
        assert!(request.contains(&format!("/{}/chat/completions?version={} HTTP/1.1", at / 2, at % 2)), "{request}");
        assert!(request.contains("authorization: Bearer sk-secret") && request.ends_with('}'), "{request}");
    }
    assert_eq!(requests(&log), [2 * URLS], "over one connection");
}

#[tokio::test]
async fn a_stream_that_is_refused_is_not_sent_again_behind_our_back() {
    let seen = Arc::new(Mutex::new(0));
    let count = Arc::clone(&seen);
    let refusing = move |stream| {
        *count.lock().unwrap() += 1;
        http2::reset_stream(stream, http2::REFUSED_STREAM)
    };
    let url = http2::peer(refusing).await;
    let over = |builder: reqwest::ClientBuilder| {
        Reqwest::with_client(builder.no_proxy().http2_prior_knowledge().build().unwrap())
    };
    let error = ask(&over(Reqwest::client_builder()), &url).await.unwrap_err();
    assert_eq!((error.kind(), error.sends(), *seen.lock().unwrap()), (Kind::Transport, 1, 1));
    let _ = ask(&over(reqwest::Client::builder()), &url).await;
    assert!(*seen.lock().unwrap() > 2, "reqwest's own settings send again");
}

#[tokio::test]
async fn no_redirect_is_followed_so_the_key_stays_where_it_was_sent() {
    for status in [301, 302, 303, 307, 308] {
        let (elsewhere, asked) = logging(&[Act::Answer]).await;
        for location in [elsewhere, "/elsewhere".to_owned()] {
            let redirects: &'static [Act] = vec![Act::Redirect(status, location.leak())].leak();
            let (url, log) = logging(redirects).await;
            let error = ask(&direct(), &url).await.unwrap_err();
            assert_eq!((error.status(), error.is_retryable()), (Some(status), false));
            assert_eq!(requests(&log), [1]);
            assert!(log.lock().unwrap()[0][0].contains("authorization: Bearer sk-secret"));
        }
        assert!(requests(&asked).is_empty());
    }
}

#[tokio::test]
async fn a_redirect_over_http_is_an_error_that_names_its_status() {
    let moved = super::Then::Close(b"HTTP/1.1 307 Moved\r\nlocation: /v2\r\ncontent-length: 0\r\n\r\n");
    let request = http::Request::post(server(moved).await).body(Full::<Bytes>::default()).unwrap();
    let error = ClassifyLayer::http().layer(direct()).oneshot(request).await.unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(307), false));
}
