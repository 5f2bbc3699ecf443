//! Any bytes as a stream of events: the first byte says how it is cut, the second how long an event may be.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::sse::{Frame, Parser};

fuzz_target!(|data: &[u8]| {
    let [cut, limit, stream @ ..] = data else { return };
    let limit = usize::from(*limit) * 4;
    let whole = frames(limit, [stream]);
    let cut = frames(limit, stream.chunks(usize::from(*cut).max(1)));
    assert_eq!(whole, cut, "where the network cuts makes no difference");
    // An event has a line for itself, and what is left of a line without its field is shorter.
    let told: usize = whole.iter().flatten().map(|(_, data)| data.len()).sum();
    assert!(told <= stream.len() && whole.iter().flatten().all(|(_, data)| data.len() <= limit));
});

/// Each frame's name and data; `None` where one was too long. A comment has no name.
fn frames<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Option<(Option<String>, Vec<u8>)>> {
    let mut parser = Parser::new(limit);
    let mut frames = Vec::new();
    let mut take = |parser: &mut Parser| {
        while let Some(frame) = parser.next() {
            frames.push(match frame {
                Ok(Frame::Event { name, data }) => Some((Some(name.unwrap_or_default().to_owned()), data.to_vec())),
                Ok(Frame::Comment(text)) => Some((None, text.to_vec())),
                Ok(_) | Err(_) => None,
            });
        }
    };
    for piece in pieces {
        parser.push(piece);
        take(&mut parser);
    }
    parser.finish();
    take(&mut parser);
    frames
}
