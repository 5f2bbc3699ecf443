//! A peer that speaks just enough HTTP/2 to fail by its rules.
use super::listening;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;
const PREFACE: usize = 24;

pub const NO_ERROR: u32 = 0;
pub const INTERNAL_ERROR: u32 = 2;
pub const REFUSED_STREAM: u32 = 7;

pub type Frames = Vec<u8>;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frames {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub fn reset_stream(stream: u32, reason: u32) -> Frames {
    frame(RST_STREAM, 0, stream, &reason.to_be_bytes())
}

/// No stream was looked at, and no new one is welcome.
pub fn go_away(reason: u32) -> Frames {
    frame(GOAWAY, 0, 0, &[[0; 4], reason.to_be_bytes()].concat())
}

/// A head with status 200, and a part of the body.
pub fn half_an_answer(stream: u32) -> Frames {
    const STATUS_200: u8 = 0x88;
    [frame(HEADERS, END_HEADERS, stream, &[STATUS_200]), frame(DATA, 0, stream, b"{\"half")].concat()
}

/// The URL of a peer that writes these frames for each request, by its stream; it answers no ping, and closes once the
/// client has gone.
pub async fn peer(answer: impl Fn(u32) -> Frames + Clone + Send + 'static) -> String {
    listening(move |socket| answered(socket, answer.clone())).await
}

async fn answered(mut socket: TcpStream, answer: impl Fn(u32) -> Frames) {
    let _ = socket.write_all(&frame(SETTINGS, 0, 0, &[])).await;
    if socket.read_exact(&mut [0; PREFACE]).await.is_err() {
        return;
    }
    while let Ok((kind, stream)) = read_frame(&mut socket).await {
        if kind == HEADERS {
            let _ = socket.write_all(&answer(stream)).await;
        }
    }
}

async fn read_frame(socket: &mut TcpStream) -> std::io::Result<(u8, u32)> {
    let mut head = [0; 9];
    socket.read_exact(&mut head).await?;
    let [a, b, c, kind, _, stream @ ..] = head;
    socket.read_exact(&mut vec![0; u32::from_be_bytes([0, a, b, c]) as usize]).await?;
    Ok((kind, u32::from_be_bytes(stream)))
}
