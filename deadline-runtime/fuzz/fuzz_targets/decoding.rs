//! Header values as bytes: each decoder reads its grammar and nothing else.
//!
//! `cargo +nightly fuzz run decoding`, in the folder `deadline-runtime`.
#![no_main]

#[path = "../../tests/http_support/properties.rs"]
#[allow(dead_code)]
mod properties;

libfuzzer_sys::fuzz_target!(|value: &[u8]| properties::decoding(value));
