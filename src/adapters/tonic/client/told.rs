//! The status that a server tells, in the head of an answer or in its trailers.
use crate::secret;
use ::tonic::{Code, Status, metadata::MetadataMap};
use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// How much of a message and of details is kept: a client takes 16 KiB of headers in all, unless it was told otherwise.
const MESSAGE_BYTES: usize = 8 * 1024;
const DETAILS_BYTES: usize = 32 * 1024;

/// Some write the padding and some do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The status in these headers; `None` where they have none. One that makes no sense is `UNKNOWN`.
///
/// tonic has a reader of its own, which panics where the details are no base64, and keeps keys in the message.
pub(super) fn status(headers: &HeaderMap) -> Option<Status> {
    let code = Code::from_bytes(headers.get(STATUS)?.as_bytes());
    let message = headers.get(MESSAGE).map(|value| message(value.as_bytes())).unwrap_or_default();
    let details = headers.get(DETAILS).and_then(|value| details(value.as_bytes())).unwrap_or_default();
    let mut others = headers.clone();
    [STATUS, MESSAGE, DETAILS].iter().for_each(|name| drop(others.remove(name)));
    Some(Status::with_details_and_metadata(code, message, details, MetadataMap::from_headers(others)))
}

/// Takes out of the headers of a success what tonic would panic on.
pub(super) fn without_broken_details(headers: &mut HeaderMap) {
    if headers.get(DETAILS).is_some_and(|value| BASE64.decode(value.as_bytes()).is_err()) {
        headers.remove(DETAILS);
    }
}

fn details(base64: &[u8]) -> Option<Bytes> {
    let is_short = base64.len() <= DETAILS_BYTES / 3 * 4 + 4;
    is_short.then(|| BASE64.decode(base64).ok()).flatten().map(Bytes::from)
}

fn message(encoded: &[u8]) -> String {
    let encoded = &encoded[..encoded.len().min(MESSAGE_BYTES)];
    secret::mask(&String::from_utf8_lossy(&percent_decoded(encoded)))
}

/// What is no escape stays as it is.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut decoded, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        let escape = digit(at + 1).zip(digit(at + 2)).filter(|_| text[at] == b'%');
        let escaped = escape.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        decoded.push(escaped.unwrap_or(text[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_what_is_none_stays() {
        for (text, decoded) in
            [("a%20b", "a b"), ("100%", "100%"), ("%zz%4", "%zz%4"), ("%E6%B5%B7", "海"), ("%FF", "\u{fffd}")]
        {
            assert_eq!(message(text.as_bytes()), decoded);
        }
    }
}
