//! `grpc-message`.

use ::http::HeaderValue;

/// A text as a `grpc-message`.
pub(in crate::http) fn percent_encoded(text: &str) -> HeaderValue {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut value = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            value.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            value.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
        }
    }
    HeaderValue::from_bytes(&value).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_visible_ascii() {
        for (text, value) in [
            ("deadline_exceeded", "deadline_exceeded"),
            ("100% ~ok~", "100%25 ~ok~"),
            ("a\r\nb: c", "a%0D%0Ab: c"),
            ("ä\0\u{7f}", "%C3%A4%00%7F"),
        ] {
            assert_eq!(percent_encoded(text), value);
        }
    }
}
