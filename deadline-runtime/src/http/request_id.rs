//! The identity of a request: taken from the caller or made here.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::http::{HeaderMap, HeaderValue};

use super::header::REQUEST_ID;
use crate::context::id::Drawn;

/// An id goes into every event and every outgoing request: it must not be a way to fill them.
const LONGEST: usize = 128;

/// The caller's id if there is exactly one and it is fit to be repeated.
pub(super) fn taken(headers: &HeaderMap) -> Option<Arc<str>> {
    let mut copies = headers.get_all(REQUEST_ID).iter();
    let first = copies.next()?;
    if copies.any(|copy| copy != first) {
        return None;
    }
    fit(first)
}

/// The id of the one header that there is.
pub(super) fn fit(value: &HeaderValue) -> Option<Arc<str>> {
    let value = value.as_bytes();
    let fit = (1..=LONGEST).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
    fit.then(|| std::str::from_utf8(value).ok().map(Arc::from))
        .flatten()
}

/// Ids for requests that come without one.
///
/// Each layer counts its requests and writes the count in a way of its own: within a process none comes twice, and between
/// processes they meet as seldom as 128 random bits do, unless one is forked off another that has made its layer. To ask for
/// randomness each time costs ten times as much.
#[derive(Debug)]
pub(super) struct Ids {
    next: AtomicU64,
    keys: [u64; 2],
}

impl Ids {
    pub(super) fn new() -> Self {
        // The standard library's hash keys: the operating system's randomness on each thread, and others at each call.
        let random = RandomState::new();
        Self {
            next: AtomicU64::new(random.hash_one(0)),
            keys: [random.hash_one(1), random.hash_one(2)],
        }
    }

    pub(super) fn draw(&self) -> Drawn {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        Drawn(self.keys.map(|key| mix(mix(count) ^ key)))
    }
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
        let (one, other) = (Ids::new(), Ids::new());
        let ids: HashSet<_> = (0..10_000)
            .flat_map(|_| [one.draw(), other.draw()])
            .collect();
        assert_eq!(ids.len(), 20_000);
        let halves: HashSet<_> = ids.iter().flat_map(|id| id.0).collect();
        assert_eq!(halves.len(), 40_000);
        let hexadecimal = |id: Arc<str>| id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        assert!(
            ids.iter()
                .all(|id| id.text().len() == 32 && hexadecimal(id.text()))
        );
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let below = (0..100_000)
            .filter(|n| per_mille(&format!("request-{n}")) < 50)
            .count();
        assert!((4_500..5_500).contains(&below), "{below}");
    }
}
