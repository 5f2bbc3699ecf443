//! A caller: one call after the other, as long as it is told to.
use crate::{
    call::{Call, Deed},
    judge::{End, judge},
    wire::Connection,
};
use std::{
    io,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{sleep, timeout};

/// Longer than all that the stack may take: what is not over by then has no answer.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Debug)]
pub enum Outcome {
    Answered(String),
    Refused(u16),
    Event,
    /// We left.
    Left,
    /// What may not be.
    Wrong(String),
}

/// One call, over the connection that is kept or a new one.
pub async fn play(kept: &mut Option<Connection>, address: SocketAddr, call: &Call, sent: &AtomicU64) -> Outcome {
    let outcome = match timeout(PATIENCE, ask(kept, address, call, sent)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Wrong(format!("unanswered: {error}")),
        Err(_) => Outcome::Wrong("unanswered: nothing came".to_owned()),
    };
    match outcome {
        Outcome::Wrong(what) => {
            let asked = String::from_utf8_lossy(&call.body).chars().take(200).collect::<String>();
            let head = String::from_utf8_lossy(&call.head).into_owned();
            Outcome::Wrong(format!("call {}, {:?}, {:?}: {what}\n{head}{asked}", call.id, call.protocol, call.deed))
        }
        outcome => outcome,
    }
}

async fn ask(kept: &mut Option<Connection>, address: SocketAddr, call: &Call, sent: &AtomicU64) -> io::Result<Outcome> {
    let is_narrow = call.deed == Deed::ReadsSlowly;
    let mut connection = match kept.take().filter(|_| !is_narrow) {
        Some(connection) => connection,
        None => Connection::open(address, is_narrow).await?,
    };
    match call.deed {
        Deed::LeavesInHead => {
            connection.send(&call.head[..call.head.len() * (call.id as usize % 10) / 10]).await?;
            sleep(Duration::from_millis(call.id % 300)).await;
            return Ok(Outcome::Left);
        }
        Deed::LeavesInBody => {
            connection.send(&call.head).await?;
            connection.send(&call.body[..call.body.len() * (call.id as usize % 10) / 10]).await?;
            sleep(Duration::from_millis(call.id % 300)).await;
            return Ok(Outcome::Left);
        }
        Deed::WritesSlowly => {
            connection.send(&call.head).await?;
            for piece in call.body.chunks(call.body.len() / 4 + 1) {
                sleep(Duration::from_millis(call.id % 100)).await;
                connection.send(piece).await?;
            }
        }
        _ => connection.send(&[&call.head[..], &call.body].concat()).await?,
    }
    sent.fetch_add(1, Relaxed);
    if let Deed::LeavesWaiting(wait) = call.deed {
        sleep(wait).await;
        return Ok(Outcome::Left);
    }
    let head = connection.head().await?;
    let mut body = Vec::new();
    loop {
        if matches!(call.deed, Deed::LeavesReading(bytes) if body.len() >= bytes) {
            return Ok(Outcome::Left);
        }
        let Some(piece) = connection.more().await? else { break };
        body.extend_from_slice(&piece);
        if is_narrow {
            sleep(Duration::from_millis(20)).await;
        }
    }
    let closes = call.closes || head.get("connection") == Some("close");
    let wrong = match judge(call, &head, &body) {
        Err(wrong) => Some(wrong),
        Ok(end) => match (call.deed, end) {
            (Deed::Errs(wanted), End::Refused(status)) if wanted != status => {
                Some(format!("{status} in place of {wanted}: {}", String::from_utf8_lossy(&body)))
            }
            (Deed::Errs(_), End::Whole(_) | End::Event) => Some("what makes no sense is answered".to_owned()),
            (_, end) => {
                let behind = match closes {
                    true => connection.rest().await?.len(),
                    false => {
                        let behind = usize::from(!connection.is_at_rest());
                        *kept = Some(connection).filter(|_| !is_narrow);
                        behind
                    }
                };
                return Ok(match (behind, end) {
                    (0, End::Whole(id)) => Outcome::Answered(id),
                    (0, End::Refused(status)) => Outcome::Refused(status),
                    (0, End::Event) => Outcome::Event,
                    (more, _) => Outcome::Wrong(format!("{more} bytes behind the answer")),
                });
            }
        },
    };
    Ok(Outcome::Wrong(wrong.unwrap_or_default()))
}
