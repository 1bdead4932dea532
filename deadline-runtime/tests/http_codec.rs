//! How timeouts are written on the wire.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

use std::time::Duration;

use deadline_runtime::http::codec::{
    absolute, attempt, connect, envoy, grpc, relative, request_start,
};
use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn only_ascii_digits_are_a_relative_timeout() {
    for (value, millis) in [
        ("0", 0),
        ("1", 1),
        ("00000100", 100),
        ("999999999999", 999_999_999_999),
    ] {
        assert_eq!(relative::decode(value.as_bytes()), Ok(ms(millis)));
    }
    let refused: [&[u8]; 22] = [
        b"",
        b" ",
        b"-1",
        b"+5",
        b"-0",
        b"1 ",
        b" 1",
        b"1.5",
        b"1e3",
        b"1e400",
        b"0x64",
        b"1_000",
        b"100, 200",
        b"100,100",
        b"inf",
        b"Infinity",
        b"NaN",
        b"1000000000000",
        "１００".as_bytes(),
        "١٠٠".as_bytes(),
        b"\xff",
        b"1\x00",
    ];
    for value in refused {
        let error = relative::decode(value).unwrap_err().to_string();
        assert!(error.starts_with("x-request-timeout-ms: "), "{error}");
    }
}

#[test]
fn copies_must_agree() {
    let headers = |values: &[&str]| -> HeaderMap {
        values
            .iter()
            .map(|value| {
                let value = HeaderValue::from_str(value).unwrap();
                (deadline_runtime::http::header::REQUEST_TIMEOUT_MS, value)
            })
            .collect()
    };
    assert_eq!(relative::from_headers(&headers(&[])), Ok(None));
    assert_eq!(relative::from_headers(&headers(&["7"])), Ok(Some(ms(7))));
    assert_eq!(
        relative::from_headers(&headers(&["7", "7"])),
        Ok(Some(ms(7)))
    );
    for differ in [&["7", "8"][..], &["8", "7"], &["7", "7", "8"], &["7", "x"]] {
        assert!(relative::from_headers(&headers(differ)).is_err());
    }
}

#[test]
fn a_relative_timeout_is_rounded_down_and_never_zero() {
    for (nanos, text) in [
        (0, None),
        (999_999, None),
        (1_000_000, Some("1")),
        (1_999_999, Some("1")),
        (450_000_000, Some("450")),
    ] {
        let value = relative::encode(Duration::from_nanos(nanos));
        let value = value.as_ref().map(|value| value.to_str().unwrap());
        assert_eq!(value, text);
    }
    let most = relative::encode(Duration::MAX).unwrap();
    assert_eq!(most, "999999999999");
}

#[test]
fn grpc_timeouts_are_those_of_the_specification() {
    for (value, nanos) in [
        ("1n", 1),
        ("0n", 0),
        ("0S", 0),
        ("99999999u", 99_999_999_000),
        ("100m", 100_000_000),
        ("00000100m", 100_000_000),
        ("5S", 5_000_000_000),
        ("2M", 120_000_000_000),
        ("1H", 3_600_000_000_000),
    ] {
        assert_eq!(
            grpc::decode(value.as_bytes()),
            Ok(Duration::from_nanos(nanos))
        );
    }
    for value in [
        "",
        "-1S",
        "+5S",
        "-0m",
        "5",
        "S",
        "5s",
        "5h",
        "5 S",
        "123456789n",
        "abc",
        "1.5S",
        "１S",
        "5Sm",
    ] {
        assert!(grpc::decode(value.as_bytes()).is_err(), "{value}");
    }
    let hours = Duration::from_secs(99_999_999 * 3600);
    assert_eq!(grpc::decode(b"99999999H"), Ok(hours));
}

#[test]
fn grpc_timeouts_are_written_in_the_finest_unit_that_fits() {
    let nanos = Duration::from_nanos;
    for (left, text) in [
        (nanos(1), "1n"),
        (nanos(99_999_999), "99999999n"),
        (nanos(100_000_001), "100000u"),
        (ms(450), "450000u"),
        (ms(100_500), "100500m"),
        (nanos(100_000_900_000), "100000m"),
        (Duration::from_secs(3601), "3601000m"),
        (Duration::from_secs(100_000_000), "1666666M"),
        (nanos(i64::MAX.unsigned_abs()), "2562047H"),
        (Duration::MAX, "99999999H"),
    ] {
        assert_eq!(grpc::encode(left).as_deref(), Some(text));
    }
    assert_eq!(grpc::encode(Duration::ZERO), None);
}

#[test]
fn an_epoch_in_the_wrong_unit_is_refused_and_says_which() {
    let now = "1767225600123";
    assert_eq!(absolute::decode(now.as_bytes()), Ok(ms(1_767_225_600_123)));
    assert_eq!(
        absolute::decode(b"1000000000000"),
        Ok(ms(1_000_000_000_000))
    );
    for (value, problem) in [
        (
            "1767225600",
            "the value lies before 2001, as a count of seconds would",
        ),
        (
            "0",
            "the value lies before 2001, as a count of seconds would",
        ),
        (
            "999999999999",
            "the value lies before 2001, as a count of seconds would",
        ),
        (
            "0999999999999",
            "the value lies before 2001, as a count of seconds would",
        ),
        (
            "1767225600123000",
            "the value lies after 2286, as a count of microseconds would",
        ),
        (
            "10000000000000",
            "the value lies after 2286, as a count of microseconds would",
        ),
        ("", "the value is empty"),
        (
            "-1767225600123",
            "the value has something other than ASCII digits",
        ),
        (
            "1767225600.123",
            "the value has something other than ASCII digits",
        ),
        (
            "1.7672256e12",
            "the value has something other than ASCII digits",
        ),
    ] {
        let error = absolute::decode(value.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "x-request-deadline: {problem}; accepted: one value of 13 ASCII digits, \
                 milliseconds since the Unix epoch"
            )
        );
    }
}

#[test]
fn another_machines_clock_is_believed_within_bounds() {
    let now = ms(1_767_225_600_000);
    let most = Duration::from_secs(30);
    for (ahead, left) in [
        (1, Some(1)),
        (2_000, Some(2_000)),
        (30_000, Some(30_000)),
        (60_000, Some(30_000)),
        (90_000, Some(30_000)),
        (90_001, None),
        (31_536_000_000, None),
    ] {
        assert_eq!(
            absolute::left(now + ms(ahead), now, most, absolute::GUARD),
            left.map(ms)
        );
    }
    for behind in [0, 1, 3_000, 60_000, 31_536_000_000] {
        assert_eq!(
            absolute::left(now - ms(behind), now, most, absolute::GUARD),
            None
        );
    }
    for (behind, queued) in [
        (0, Some(0)),
        (250, Some(250)),
        (60_000, Some(60_000)),
        (60_001, None),
    ] {
        assert_eq!(
            request_start::queued(now - ms(behind), now, absolute::GUARD),
            queued.map(ms)
        );
    }
    for (ahead, queued) in [(3_000, Some(0)), (60_000, Some(0)), (60_001, None)] {
        assert_eq!(
            request_start::queued(now + ms(ahead), now, absolute::GUARD),
            queued.map(ms)
        );
    }
}

#[test]
fn what_proxies_write_about_the_start() {
    let at = Duration::from_micros(1_512_379_167_574_000);
    for value in [
        "1512379167574",
        "t=1512379167574",
        "t=1512379167.574",
        "1512379167.574000",
        "t=1512379167574000",
    ] {
        assert_eq!(request_start::decode(value.as_bytes()), Ok(at), "{value}");
    }
    assert_eq!(
        request_start::decode(b"t=1512379167"),
        Ok(Duration::from_secs(1_512_379_167))
    );
    for value in [
        "",
        "t=",
        "t",
        "T=1512379167574",
        "t=t=1512379167574",
        "t=151237916757",
        "t=15123791675740",
        "t=1512379167574000000",
        "t=1512379167.",
        "t=1512379167.5740000",
        "t=1512379167574.5",
        "t=.5",
        "t=-512379167574",
        "t=+512379167574",
        "t=1512379167574 ",
        "t=1512379167574, t=1512379167574",
        "t=1.5e9",
    ] {
        let error = request_start::decode(value.as_bytes()).unwrap_err();
        assert_eq!(error.header(), "x-request-start", "{value}");
    }
}

#[test]
fn connect_has_ten_digits_and_envoy_twelve() {
    let most = ms(9_999_999_999);
    assert_eq!(connect::decode(b"9999999999"), Ok(most));
    assert!(connect::decode(b"10000000000").is_err());
    assert!(connect::decode(b"00000000001").is_err());
    assert_eq!(connect::encode(Duration::MAX).unwrap(), "9999999999");
    assert_eq!(envoy::decode(b"999999999999"), Ok(ms(999_999_999_999)));
    assert!(envoy::decode(b"1000000000000").is_err());
    for value in ["", "-1", "+1", "1.0", "1s", "1, 1"] {
        assert!(connect::decode(value.as_bytes()).is_err());
        assert!(envoy::decode(value.as_bytes()).is_err());
    }
}

#[test]
fn attempts_are_counted_from_one() {
    for (name, value, number) in [
        ("x-request-attempt", "1", Some(1)),
        ("x-request-attempt", "0003", Some(3)),
        ("grpc-previous-rpc-attempts", "1", Some(2)),
        ("grpc-previous-rpc-attempts", "9999", Some(10_000)),
        ("other", "1", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        let read = attempt::from_headers(&headers, true).unwrap();
        assert_eq!(read.map(u32::from), number, "{name}: {value}");
    }
    for value in ["", "0", "-1", "+1", "1.5", "10000", "one"] {
        assert!(attempt::decode(value.as_bytes()).is_err(), "{value}");
    }
    let large = std::num::NonZeroU32::MAX;
    assert_eq!(attempt::encode(large), "9999");
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..10_000_000_u64).prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_millis),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
    ]
}

proptest! {
    #[test]
    fn a_relative_timeout_never_grows(left in durations()) {
        match relative::encode(left) {
            None => prop_assert!(left < ms(1)),
            Some(value) => {
                let read = relative::decode(value.as_bytes()).unwrap();
                prop_assert!(read <= left && !read.is_zero());
                prop_assert!(value.len() <= 12);
                // No more is lost than a millisecond, short of what cannot be written.
                prop_assert!(left - read < ms(1) || read == ms(999_999_999_999));
            }
        }
    }

    #[test]
    fn a_grpc_timeout_never_grows(left in durations()) {
        match grpc::encode(left) {
            None => prop_assert!(left.is_zero()),
            Some(value) => {
                let read = grpc::decode(value.as_bytes()).unwrap();
                prop_assert!(read <= left && !read.is_zero());
                prop_assert!(value.len() <= 9);
            }
        }
    }

    #[test]
    fn whatever_is_read_is_digits(value in prop::collection::vec(any::<u8>(), 0..16)) {
        let digits = (1..=12).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
        prop_assert_eq!(relative::decode(&value).is_ok(), digits);
    }
}
