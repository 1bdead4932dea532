//! Durations of every size: what is written can be read, and is never more than there was.
//!
//! `cargo +nightly fuzz run encoding`, in the folder `deadline-runtime`.
#![no_main]

use std::time::Duration;

#[path = "../../tests/http_support/properties.rs"]
#[allow(dead_code)]
mod properties;

libfuzzer_sys::fuzz_target!(|input: (u64, u32, u64, u64)| {
    let (seconds, nanos, at, most) = input;
    let left = Duration::new(seconds, nanos % 1_000_000_000);
    properties::encoding(left);
    properties::judging(Duration::from_millis(at), left, Duration::from_millis(most));
});
