//! Bytes on their way out.
use crate::sim::step::Head;

/// Where a status line or a chunk's size belongs.
pub(super) const NONSENSE: &[u8] = b"sorry, no HTTP today\r\n\r\n";

pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The head but for its blank line, before which so many bytes of filler go.
pub(super) fn head(head: &Head, close: bool) -> (Vec<u8>, u32) {
    let reason = http::StatusCode::from_u16(head.status).ok().and_then(|status| status.canonical_reason());
    let mut lines = vec![format!("HTTP/1.1 {} {}", head.status, reason.unwrap_or("Unknown"))];
    lines.extend(head.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push(match head.length {
        Some(length) => format!("content-length: {length}"),
        None => "transfer-encoding: chunked".to_owned(),
    });
    if close {
        lines.push("connection: close".to_owned());
    }
    if head.filler > 0 {
        lines.push("x-filler: ".to_owned());
    }
    (lines.join("\r\n").into_bytes(), head.filler)
}

pub(super) fn chunk(piece: &[u8]) -> Vec<u8> {
    // A chunk of no bytes would be the last one.
    if piece.is_empty() {
        return Vec::new();
    }
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}
