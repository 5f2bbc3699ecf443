//! Server-sent events, framed on bytes.
