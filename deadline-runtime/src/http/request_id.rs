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
    // The standard library's hash keys: the operating system's randomness on each thread, and others at each call.
    let keys = RandomState::new();
    let mut digits = [0; 32];
    for (half, bits) in digits.chunks_exact_mut(16).zip([0, 1]) {
        let bits: u64 = keys.hash_one(bits);
        half[..8].copy_from_slice(&eight_digits(bits >> 32));
        half[8..].copy_from_slice(&eight_digits(bits & 0xffff_ffff));
    }
    Arc::from(std::str::from_utf8(&digits).unwrap_or_default())
}

/// The lower half of `bits` in hexadecimal, all digits at once: most requests come without an id, and formatting costs ten
/// times as much.
const fn eight_digits(bits: u64) -> [u8; 8] {
    // A digit a byte.
    let bits = (bits | (bits << 16)) & 0x0000_ffff_0000_ffff;
    let bits = (bits | (bits << 8)) & 0x00ff_00ff_00ff_00ff;
    let bits = (bits | (bits << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    // One where it is above nine: from there it is 39 to the letters.
    let letters = ((bits + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (bits + 0x3030_3030_3030_3030 + letters * 39).to_be_bytes()
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
    fn digits_are_those_of_formatting() {
        for bits in [0, 0x0123_4567, 0x89ab_cdef, 0xffff_ffff, 0x90a0_9f0f] {
            assert_eq!(eight_digits(bits), format!("{bits:08x}").as_bytes());
        }
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let below = (0..100_000)
            .filter(|n| per_mille(&format!("request-{n}")) < 50)
            .count();
        assert!((4_500..5_500).contains(&below), "{below}");
    }
}
