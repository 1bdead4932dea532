//! The identity of a request: taken from the caller or made here.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use ::http::HeaderMap;

use super::header::REQUEST_ID;

/// An id goes into every event and every outgoing request: it must not be a way to fill them.
const LONGEST: usize = 128;

/// The caller's id if there is exactly one and it is fit to be repeated.
pub(super) fn taken(headers: &HeaderMap) -> Option<Arc<str>> {
    let mut copies = headers.get_all(REQUEST_ID).iter();
    let value = copies.next()?.as_bytes();
    let fit = (1..=LONGEST).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
    if !fit || copies.any(|copy| copy.as_bytes() != value) {
        return None;
    }
    std::str::from_utf8(value).ok().map(Arc::from)
}

/// A new one: 32 hexadecimal digits.
pub(super) fn made() -> Arc<str> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    // The standard library's hash keys: the operating system's randomness on each thread, and others at each call.
    let keys = RandomState::new();
    let bits = (u128::from(keys.hash_one(0)) << 64) | u128::from(keys.hash_one(1));
    // By hand: formatting costs three times as much, and most requests come without an id.
    let bytes = bits.to_be_bytes();
    let digits: [u8; 32] = std::array::from_fn(|at| {
        let byte = bytes[at / 2];
        let half = if at % 2 == 0 { byte >> 4 } else { byte & 15 };
        HEX[usize::from(half)]
    });
    Arc::from(std::str::from_utf8(&digits).unwrap_or_default())
}

/// Where an id lies in 0..1000, the same in every process, so that all hops of a request make the same choice.
pub(super) fn per_mille(id: &str) -> u64 {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(hash) % 1000
}

/// A bijection that spreads neighbouring numbers.
const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ::http::HeaderValue;

    use super::*;

    fn with(values: &[&'static str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (REQUEST_ID, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn ids_of_strangers_are_bounded_and_visible() {
        assert_eq!(taken(&with(&["8f-14/e45f"])).as_deref(), Some("8f-14/e45f"));
        assert_eq!(taken(&with(&["a", "a"])).as_deref(), Some("a"));
        let long: &'static str = "x".repeat(129).leak();
        for refused in [&[][..], &[""], &["a b"], &["a", "b"], &[long]] {
            assert_eq!(taken(&with(refused)), None, "{refused:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_bytes(b"\xc3\xa4").unwrap());
        assert_eq!(taken(&headers), None);
    }

    #[test]
    fn made_ids_differ() {
        let ids: HashSet<_> = (0..10_000).map(|_| made()).collect();
        assert_eq!(ids.len(), 10_000);
        let hexadecimal =
            |id: &Arc<str>| id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        assert!(ids.iter().all(|id| id.len() == 32 && hexadecimal(id)));
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let below = (0..100_000)
            .filter(|n| per_mille(&format!("request-{n}")) < 50)
            .count();
        assert!((4_500..5_500).contains(&below), "{below}");
    }
}
