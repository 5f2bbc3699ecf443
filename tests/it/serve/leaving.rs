//! Clients that hang up at any moment: no call upstream is left, no permit, no sleep. Over real sockets.
use super::wire::{ANTHROPIC, OPENAI, Served, read_to, request, rest, served, within};
use seawall::sim::{Answer, Fault, Phase, Script, When};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where a client is when it leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    BeforeTheHead,
    InTheHead,
    BehindTheHead,
    InTheBody,
    /// Another call has the one permit.
    InLine,
    /// For the Retry-After of a 503.
    WhileARetrySleeps,
    WhileTheHeadIsAwaited,
    /// Upstream.
    InTheAnswersHead,
    WhileTheBodyIsAwaited,
    BeforeTheFirstToken,
    BetweenEvents,
    BehindTheLastEvent,
    /// Before all of it was read.
    WhenItIsOver,
}

use Moment::*;

/// How it leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Close,
    Reset,
    /// It would read on.
    NoMoreRequests,
}

impl Moment {
    const PLAIN: [Self; 11] = [
        BeforeTheHead,
        InTheHead,
        BehindTheHead,
        InTheBody,
        InLine,
        WhileARetrySleeps,
        WhileTheHeadIsAwaited,
        InTheAnswersHead,
        WhileTheBodyIsAwaited,
        BehindTheLastEvent,
        WhenItIsOver,
    ];
    const STREAM: [Self; 8] = [
        InLine,
        WhileARetrySleeps,
        WhileTheHeadIsAwaited,
        InTheAnswersHead,
        BeforeTheFirstToken,
        BetweenEvents,
        BehindTheLastEvent,
        WhenItIsOver,
    ];

    /// How much of the request is written: of the head, and of the body.
    fn written(self) -> (usize, usize) {
        match self {
            BeforeTheHead => (0, 0),
            InTheHead => (20, 0),
            BehindTheHead => (usize::MAX, 0),
            InTheBody => (usize::MAX, 30),
            _ => (usize::MAX, usize::MAX),
        }
    }

    fn fault(self) -> Option<Fault> {
        Some(match self {
            InLine | WhileTheHeadIsAwaited => Fault::silence(Phase::BeforeHead),
            WhileARetrySleeps => Fault::status(503).header("retry-after", "30"),
            InTheAnswersHead => Fault::silence(Phase::InHead),
            WhileTheBodyIsAwaited => Fault::silence(Phase::InBody),
            BeforeTheFirstToken => Fault::silence(Phase::AfterTokens(0)),
            BetweenEvents => Fault::silence(Phase::AfterTokens(3)),
            BehindTheLastEvent => Fault::silence(Phase::AtEnd),
            BeforeTheHead | InTheHead | BehindTheHead | InTheBody | WhenItIsOver => return None,
        })
    }

    fn is_whole(self) -> bool {
        self.written() == (usize::MAX, usize::MAX)
    }
}

fn first(text: &str, bytes: usize) -> &str {
    text.get(..bytes).unwrap_or(text)
}

/// Comes to the moment, and leaves.
async fn leave(served: &Served, path: &str, stream: bool, moment: Moment, by: By, behind: &str) {
    let (head, body) = request(path, stream);
    let before = match moment {
        InLine => {
            let before = served.call(path, stream).await;
            served.seen(1).await;
            Some(before)
        }
        _ => None,
    };
    let mut connection = served.connect().await;
    let (of_head, of_body) = moment.written();
    let text = format!("{}{}{behind}", first(&head, of_head), first(&body, of_body));
    connection.write_all(text.as_bytes()).await.unwrap();
    match moment {
        BeforeTheHead | InTheHead => {}
        BehindTheHead | InTheBody => served.arrived(1).await,
        InLine => served.arrived(2).await,
        BetweenEvents => drop(read_to(&mut connection, "one").await),
        WhenItIsOver => drop(read_to(&mut connection, "200 OK").await),
        _ => served.seen(1).await,
    }
    match by {
        By::Close => drop(connection),
        By::Reset => {
            connection.set_zero_linger().unwrap();
            drop(connection);
        }
        By::NoMoreRequests => {
            connection.shutdown().await.unwrap();
            let mut rest = Vec::new();
            let _ = within(connection.read_to_end(&mut rest)).await;
        }
    }
    if let Some(before) = before {
        served.alive(1).await;
        drop(before);
    }
}

async fn leaves_nothing_behind(path: &str, stream: bool, moment: Moment, by: By, behind: &str) {
    let answer = Answer::default().text("one two three four five");
    let script = Script::seeded(1).answer(answer);
    let served = served(
        moment.fault().into_iter().fold(script, |script, fault| script.fault(When::first(1), fault)),
        Duration::from_secs(5),
    )
    .await;
    leave(&served, path, stream, moment, by, behind).await;
    served.is_clean().await;
    let seen = served.provider.seen();
    assert!(seen <= u64::from(moment.is_whole()), "{moment:?}: {seen}");
    let next = rest(served.call(path, stream).await).await;
    assert!(next.starts_with("HTTP/1.1 200 OK") && next.contains("five"), "{moment:?} {by:?}: {next}");
    assert_eq!(served.provider.seen(), seen + 1, "{moment:?}: what was dropped is not asked again");
}

#[tokio::test]
async fn at_any_moment_of_a_call_a_client_that_hangs_up_leaves_nothing_behind() {
    for moment in Moment::PLAIN {
        for path in [OPENAI, ANTHROPIC] {
            for by in [By::Close, By::Reset, By::NoMoreRequests] {
                leaves_nothing_behind(path, false, moment, by, "").await;
            }
        }
    }
}

#[tokio::test]
async fn at_any_moment_of_a_stream_a_client_that_hangs_up_leaves_nothing_behind() {
    for moment in Moment::STREAM {
        for path in [OPENAI, ANTHROPIC] {
            for by in [By::Close, By::Reset, By::NoMoreRequests] {
                leaves_nothing_behind(path, true, moment, by, "").await;
            }
        }
    }
}

/// A line feed too many, or a request that it did not wait to send, or more than hyper takes beforehand: nobody reads them before the
/// call is over. (Where it does not even fit into the system's own buffers, the end stays on the client's side.)
#[cfg(any(target_os = "linux", target_os = "android"))]
#[tokio::test]
async fn a_client_that_wrote_on_behind_its_request_leaves_nothing_behind_either() {
    let (head, body) = request(OPENAI, false);
    let another = format!("{head}{body}");
    for behind in ["\r\n", &another, &"x".repeat(30_000)] {
        for moment in [InLine, WhileARetrySleeps, WhileTheHeadIsAwaited] {
            for (stream, by) in [(false, By::Close), (true, By::NoMoreRequests), (true, By::Reset)] {
                leaves_nothing_behind(OPENAI, stream, moment, by, behind).await;
            }
        }
        leaves_nothing_behind(ANTHROPIC, true, BetweenEvents, By::Close, behind).await;
    }
}

#[tokio::test]
async fn a_client_that_wrote_on_and_stays_is_answered() {
    for behind in ["\r\n", "\n\r\n\n", "GET "] {
        let served = served(Script::seeded(1), Duration::from_secs(5)).await;
        let mut connection = served.call(OPENAI, true).await;
        connection.write_all(behind.as_bytes()).await.unwrap();
        let told = rest(connection).await;
        assert!(told.contains("200 OK") && told.contains("[DONE]"), "{told}");
    }
}

/// One that reads nothing more while others are answered on the same connection, of which HTTP/2 has one.
#[tokio::test]
async fn over_http2_a_call_is_given_up_alone_and_nothing_of_it_is_left() {
    let faults = [Phase::BeforeHead, Phase::InHead, Phase::AfterTokens(0), Phase::AfterTokens(3), Phase::AtEnd];
    for at in faults {
        let answer = Answer::default().text("one two three four five");
        let script = Script::seeded(1).answer(answer).fault(When::first(1), Fault::silence(at));
        let served = served(script, Duration::from_secs(5)).await;
        let client = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
        let call = || {
            let (url, (_, body)) = (format!("http://{}{OPENAI}", served.address), request(OPENAI, true));
            client.post(url).body(body).send()
        };
        let given_up = tokio::spawn(call());
        served.seen(1).await;
        let in_line = tokio::spawn(call());
        served.arrived(2).await;
        in_line.abort();
        given_up.abort();
        drop((in_line.await, given_up.await));
        served.is_clean().await;
        let next = within(async { call().await.unwrap().text().await.unwrap() }).await;
        assert!(next.contains("[DONE]"), "{at:?}: {next}");
        assert_eq!(served.provider.seen(), 2);
    }
}

/// The permit goes to whoever waits, when the client that had it is gone.
#[tokio::test]
async fn whoever_is_in_line_comes_next_when_the_client_in_front_hangs_up() {
    let script = Script::seeded(1).fault(When::first(1), Fault::silence(Phase::AfterTokens(1)));
    let served = served(script, Duration::from_secs(5)).await;
    let front = served.call(OPENAI, true).await;
    served.seen(1).await;
    let next = served.call(ANTHROPIC, true).await;
    served.arrived(2).await;
    drop(front);
    assert!(rest(next).await.contains("message_stop"));
    served.is_clean().await;
}
