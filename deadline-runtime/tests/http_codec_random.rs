//! The codecs against a seeded stream of inputs: the same on every machine, and on stable.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

#[path = "http_support/properties.rs"]
mod properties;

use std::time::Duration;

/// Fewer where they are slow.
const INPUTS: usize = if cfg!(debug_assertions) {
    200_000
} else {
    2_000_000
};

/// Steele and Vigna's splitmix: small, and good enough to pick bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Mostly almost right: digits with one thing or another around or in them.
    fn value(&mut self, value: &mut Vec<u8>) {
        const ODD: &[u8] = b"HMSmuntT=.,+-_ eExX\t\0\x7f\xc2\xa0\xd9\xa0";
        value.clear();
        if self.below(4) == 0 {
            value.extend_from_slice(b"t=");
        }
        let length = self.below(18);
        for _ in 0..length {
            value.push(b'0' + self.below(10) as u8);
        }
        match self.below(8) {
            0 => value.push(b'.'),
            1 | 2 => value.push(ODD[self.below(6)]),
            3 if !value.is_empty() => {
                let at = self.below(value.len());
                value[at] = ODD[self.below(ODD.len())];
            }
            4 => {
                let at = self.below(value.len() + 1);
                value.insert(at, self.next() as u8);
            }
            5 if value.len() > 10 => value.insert(10, b'.'),
            _ => {}
        }
    }

    /// Of every order of magnitude.
    fn duration(&mut self) -> Duration {
        let number = self.next() >> self.below(64);
        match self.below(3) {
            0 => Duration::from_nanos(number),
            1 => Duration::from_millis(number),
            _ => Duration::new(number, (self.next() % 1_000_000_000) as u32),
        }
    }
}

#[test]
fn two_million_inputs_keep_the_rules() {
    let mut random = Random(20_260_101);
    let mut value = Vec::new();
    for _ in 0..INPUTS {
        random.value(&mut value);
        properties::decoding(&value);
        properties::encoding(random.duration());
        properties::judging(random.duration(), random.duration(), random.duration());
    }
    // Two clocks that are close to each other, which random instants are not.
    let now = Duration::from_millis(1_767_225_600_123);
    for _ in 0..INPUTS / 10 {
        let at =
            now + Duration::from_millis(random.next() % 400_000) - Duration::from_millis(200_000);
        properties::judging(at, now, Duration::from_millis(random.next() % 100_000));
    }
}

#[test]
fn the_longest_and_the_shortest() {
    for left in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(999),
        Duration::from_millis(1),
        Duration::from_nanos(i64::MAX.unsigned_abs()),
        Duration::from_nanos(u64::MAX),
        Duration::MAX,
    ] {
        properties::encoding(left);
        properties::judging(left, Duration::MAX, Duration::MAX);
        properties::judging(Duration::MAX, left, Duration::MAX);
    }
    for value in [
        &b""[..],
        b"t=",
        b".",
        b"t=.",
        b"9999999999.999999",
        b"99999999H",
    ] {
        properties::decoding(value);
    }
}
