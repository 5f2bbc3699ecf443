//! The parser of server-sent events.
use proptest::prelude::*;
use seawall::sse::{Frame, Parser};

/// What came out, owned: the name and data of an event, or a comment.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Event(Option<String>, String),
    Comment(String),
    TooLong,
}

fn event(name: &str, data: &str) -> Seen {
    Seen::Event((!name.is_empty()).then(|| name.into()), data.into())
}

fn drain(parser: &mut Parser, seen: &mut Vec<Seen>) {
    while let Some(frame) = parser.next() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        seen.push(match frame {
            Ok(Frame::Event { name, data }) => Seen::Event(name.map(str::to_owned), text(data)),
            Ok(Frame::Comment(comment)) => Seen::Comment(text(comment)),
            Ok(other) => panic!("{other:?}"),
            Err(_) => Seen::TooLong,
        });
    }
}

fn parsed<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let (mut parser, mut seen) = (Parser::new(1000), Vec::new());
    for chunk in chunks {
        parser.push(chunk);
        drain(&mut parser, &mut seen);
    }
    parser.finish();
    drain(&mut parser, &mut seen);
    seen
}

const STREAM: &str = "\u{feff}: ping\n\nevent: delta\ndata: a🌊b\nid: 7\n\ndata:no space\ndata\ndata:  two\n\nevent: lost\n\n\
                      data: [DONE]\n\nretry: 5\ndata: last";

fn expected() -> Vec<Seen> {
    vec![
        Seen::Comment("ping".into()),
        event("delta", "a🌊b"),
        event("", "no space\n\n two"),
        event("", "[DONE]"),
        event("", "last"),
    ]
}

#[test]
fn every_line_end_and_every_cut_gives_the_same_frames() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = STREAM.replace('\n', end);
        let bytes = stream.as_bytes();
        assert_eq!(parsed([bytes]), expected(), "{end:?}");
        assert_eq!(parsed(bytes.chunks(1)), expected(), "{end:?}, byte by byte");
        for at in 0..bytes.len() {
            assert_eq!(parsed([&bytes[..at], &bytes[at..]]), expected(), "{end:?} cut at {at}");
        }
    }
    assert_eq!(parsed([b"data: a\r\n\rdata: b\n\r\n".as_slice()]), [event("", "a"), event("", "b")], "mixed");
}

#[test]
fn a_line_or_an_event_over_the_limit_is_an_error_once() {
    let long = [b"data: ".as_slice(), &[b'x'; 2000]].concat();
    let line = parsed([b"data: ok\n\n".as_slice(), &long, b"\n\ndata: lost\n\n"]);
    assert_eq!(line, [event("", "ok"), Seen::TooLong]);
    let event_lines = b"data: 0123456789\n".repeat(200);
    assert_eq!(parsed(event_lines.chunks(7)), [Seen::TooLong]);
    let mut parser = Parser::new(10);
    parser.push(&[b'x'; 100]);
    let error = parser.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a server-sent event is longer than 10 bytes");
    assert_eq!(parser.next(), None);
}

#[test]
fn short_ends_are_no_frames() {
    for stream in ["", "\u{feff}", "\u{ef}", "\n\n\n", "event: x\n\n", "event: x", "id: 1\n\n"] {
        assert_eq!(parsed([stream.as_bytes()]), [], "{stream:?}");
    }
    assert_eq!(parsed(["data:\n\n".as_bytes()]), [event("", "")], "empty data is data");
}

#[test]
fn many_small_pushes_take_linear_time() {
    let (mut parser, mut frames) = (Parser::new(1 << 22), 0);
    for _ in 0..2_000_000 {
        parser.push(b"d");
        frames += u32::from(parser.next().is_some());
    }
    parser.push(b"\ndata: x\n\n");
    while parser.next().is_some() {
        frames += 1;
    }
    assert_eq!(frames, 1);
}

proptest! {
    #[test]
    fn any_bytes_cut_anywhere_give_the_same_frames(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(b' '), 0x20_u8..0x7f], 0..120),
        cut in 0_usize..120,
    ) {
        let cut = cut.min(bytes.len());
        prop_assert_eq!(parsed([bytes.as_slice()]), parsed([&bytes[..cut], &bytes[cut..]]));
    }
}
