//! `Retry-After`: when an answer says that it is worth to ask again.
//!
//! Both forms of RFC 9110 are read: seconds from now, and a date, which is taken relative to the `Date` of the same answer, so that two
//! clocks that differ do no harm. Where it cannot be read there is no advice, and whoever repeats uses a wait of its own.

use std::time::Duration;

use ::http::header::{DATE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderName};

use super::digits;

/// A year: nobody waits for longer, and sums with it do not overflow.
const LARGEST: u64 = 365 * 24 * 60 * 60;

/// The wait that an answer's headers ask for; at most a year.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::retry_after;
///
/// let mut headers = http::HeaderMap::new();
/// assert_eq!(retry_after::of(&headers), None);
/// headers.insert("retry-after", "2".parse()?);
/// assert_eq!(retry_after::of(&headers), Some(Duration::from_secs(2)));
/// headers.insert("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT".parse()?);
/// headers.insert("date", "Sun, 06 Nov 1994 08:49:30 GMT".parse()?);
/// assert_eq!(retry_after::of(&headers), Some(Duration::from_secs(7)));
/// # Ok::<_, http::header::InvalidHeaderValue>(())
/// ```
#[must_use]
pub fn of(headers: &HeaderMap) -> Option<Duration> {
    let value = only(headers, &RETRY_AFTER)?;
    let seconds = digits(value, 19).or_else(|| {
        let now = date(only(headers, &DATE)?)?;
        Some(date(value)?.saturating_sub(now))
    })?;
    Some(Duration::from_secs(seconds.min(LARGEST)))
}

/// Two copies are as good as none.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?;
    all.next().is_none().then(|| value.as_bytes())
}

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may be sent, in seconds since the epoch.
fn date(value: &[u8]) -> Option<u64> {
    let fixed = value.len() == 29
        && value.get(3..5)? == b", "
        && [(7, b' '), (11, b' '), (16, b' '), (19, b':'), (22, b':')]
            .iter()
            .all(|(at, is)| value.get(*at) == Some(is))
        && value.ends_with(b" GMT");
    if !fixed {
        return None;
    }
    let number = |from: usize, to: usize| digits(value.get(from..to)?, 4);
    let (day, year) = (number(5, 7)?, number(12, 16)?);
    let month = value.get(8..11)?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (hour, minute, second) = (number(17, 19)?, number(20, 22)?, number(23, 25)?);
    if year < 1970 || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leaps(year) > leaps(year - 1);
    let days_before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334].get(month)?;
    let days = (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
        + days_before
        + u64::from(is_leap && month > 1)
        + (day - 1);
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use ::http::HeaderValue;

    use super::*;

    #[test]
    fn dates() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Fri, 31 Dec 2100 00:00:00 GMT", Some(4_133_894_400)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun Nov  6 08:49:37 1994", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sun, 06 Nuv 1994 08:49:37 GMT", None),
            ("Sun, +6 Nov 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(date(text.as_bytes()), seconds, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_advice() {
        const LATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        const EARLY: &str = "Sun, 06 Nov 1994 08:49:30 GMT";
        let of = |values: &[&'static str], date: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(RETRY_AFTER, HeaderValue::from_static(value));
            }
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            super::of(&headers)
        };
        for values in [&["-1"][..], &["1.5"], &["1s"], &[""], &["1", "2"]] {
            assert_eq!(of(values, None), None, "{values:?}");
        }
        // A date alone would have to be compared with our clock.
        assert_eq!(of(&[LATE], None), None);
        assert_eq!(of(&[EARLY], Some(LATE)), Some(Duration::ZERO));
        assert_eq!(of(&["0"], None), Some(Duration::ZERO));
        assert_eq!(
            of(&["9999999999999999999"], None),
            Some(Duration::from_secs(LARGEST))
        );
    }
}
