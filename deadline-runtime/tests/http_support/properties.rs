//! What holds for every input of the codecs. Shared by the seeded run on stable and the fuzz targets.

#![allow(unreachable_pub)]

use std::time::Duration;

use deadline_runtime::http::codec::{
    absolute, attempt, connect, envoy, grpc, relative, request_start,
};

/// The grammars, told in another way than the decoders read them.
fn all_digits(text: &str, most: usize) -> Option<u128> {
    let fits = !text.is_empty() && text.len() <= most && text.chars().all(|c| c.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

fn millis(text: &str, most: usize) -> Option<Duration> {
    let number = all_digits(text, most)?;
    Some(Duration::from_millis(u64::try_from(number).ok()?))
}

fn grpc_timeout(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let number = all_digits(text.strip_suffix(unit)?, 8)?;
    let length: u128 = match unit {
        'n' => 1,
        'u' => 1_000,
        'm' => 1_000_000,
        'S' => 1_000_000_000,
        'M' => 60_000_000_000,
        'H' => 3_600_000_000_000,
        _ => return None,
    };
    let seconds = u64::try_from(number * length / 1_000_000_000).ok()?;
    let nanos = u32::try_from(number * length % 1_000_000_000).ok()?;
    Some(Duration::new(seconds, nanos))
}

fn start(text: &str) -> Option<Duration> {
    let text = text.strip_prefix("t=").unwrap_or(text);
    let micros = match text.split_once('.') {
        Some((seconds, parts)) => {
            let padded = format!("{parts:0<6}");
            (seconds.len() == 10 && all_digits(parts, 6).is_some())
                .then(|| Some(all_digits(seconds, 10)? * 1_000_000 + all_digits(&padded, 6)?))?
        }
        None => match text.len() {
            10 => all_digits(text, 10).map(|seconds| seconds * 1_000_000),
            13 => all_digits(text, 13).map(|millis| millis * 1_000),
            16 => all_digits(text, 16),
            _ => None,
        },
    };
    Some(Duration::from_micros(u64::try_from(micros?).ok()?))
}

/// Every decoder reads exactly its grammar, and never panics.
pub fn decoding(value: &[u8]) {
    let text = std::str::from_utf8(value).unwrap_or("not text");
    assert_eq!(relative::decode(value).ok(), millis(text, 12), "{value:?}");
    assert_eq!(envoy::decode(value).ok(), millis(text, 12), "{value:?}");
    assert_eq!(connect::decode(value).ok(), millis(text, 10), "{value:?}");
    assert_eq!(grpc::decode(value).ok(), grpc_timeout(text), "{value:?}");
    assert_eq!(request_start::decode(value).ok(), start(text), "{value:?}");
    let epoch = millis(text, 13).filter(|at| at.as_millis() >= 1_000_000_000_000);
    assert_eq!(absolute::decode(value).ok(), epoch, "{value:?}");
    let number = all_digits(text, 4).filter(|number| *number > 0);
    let attempt = attempt::decode(value)
        .ok()
        .map(|number| u128::from(number.get()));
    assert_eq!(attempt, number, "{value:?}");
}

/// What is written can be read, is never more than there was, never zero and never longer than allowed.
pub fn encoding(left: Duration) {
    let millisecond = Duration::from_millis(1);
    let grpc = grpc::encode(left);
    assert_eq!(grpc.is_none(), left.is_zero());
    if let Some(value) = grpc {
        let read = grpc::decode(value.as_bytes()).unwrap();
        assert!(
            read <= left && !read.is_zero() && value.len() <= 9,
            "{left:?}: {value}"
        );
    }
    type Decode = fn(&[u8]) -> Result<Duration, deadline_runtime::http::codec::Malformed>;
    let both: [(_, Decode, usize); 2] = [
        (relative::encode(left), relative::decode, 12),
        (connect::encode(left), connect::decode, 10),
    ];
    for (value, decode, most) in both {
        assert_eq!(value.is_none(), left < millisecond);
        if let Some(value) = value {
            let read = decode(value.as_bytes()).unwrap();
            assert!(
                read <= left && !read.is_zero() && value.len() <= most,
                "{left:?}: {value:?}"
            );
            let longest = value.as_bytes().iter().all(|byte| *byte == b'9');
            assert!(left - read < millisecond || longest, "{left:?}: {value:?}");
        }
    }
    if let Some(value) = absolute::encode(left) {
        let read = absolute::decode(value.as_bytes()).unwrap();
        assert!(read <= left && left - read < millisecond && value.len() == 13);
    }
}

/// What is believed of another machine's clock is never more than is granted, and never nothing.
pub fn judging(at: Duration, now: Duration, most: Duration) {
    if let Some(left) = absolute::left(at, now, most, absolute::GUARD) {
        assert!(left <= most && (!left.is_zero() || most.is_zero()));
        assert!(at > now && at - now <= most.saturating_add(absolute::GUARD));
    }
    if let Some(queued) = request_start::queued(at, now, absolute::GUARD) {
        assert!(queued <= absolute::GUARD);
    }
}
