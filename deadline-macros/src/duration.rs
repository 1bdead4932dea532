//! Literal durations: whole milliseconds, unit mandatory.
//!
//! `"450ms"`, `"2s"`, `"1m 30s"`, `"1h"`. Everything else is refused with a text that says what was wrong and, where
//! the intention is clear, how to write it.

use crate::nearest::nearest;

/// The longest accepted duration, one year.
const LONGEST: u64 = 365 * 24 * HOUR;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The units, longest first: the order in which they must appear.
const UNITS: [(&str, u64); 4] = [("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];

const ACCEPTED: &str =
    "accepted are whole numbers with a unit (`ms`, `s`, `m`, `h`), such as \"450ms\" or \"1m 30s\"";

/// Reads a literal; the error is a complete message.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("an empty duration: {ACCEPTED}"));
    }
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative: {ACCEPTED}"));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "`{text}` has no unit: write \"{text}ms\" or \"{text}s\""
        ));
    }

    let mut total: u64 = 0;
    let mut rest = text;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let (part, after) = Part::read(rest);
        let (index, unit) = part.unit(text)?;
        if index < next_unit {
            return Err(format!(
                "`{text}`: each unit once and the longest first, such as \"1h 5m 30s\""
            ));
        }
        next_unit = index + 1;
        total = part
            .number(text, unit)?
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| too_long(text))?;
        rest = after;
    }

    match total {
        0 => Err(format!(
            "`{text}` is zero, which would be over before it starts: the shortest is \"1ms\""
        )),
        total if total > LONGEST => Err(too_long(text)),
        total => Ok(total),
    }
}

/// One number and its unit, `30s` in `1m 30s`.
struct Part<'a> {
    number: &'a str,
    unit: &'a str,
}

impl<'a> Part<'a> {
    fn read(text: &'a str) -> (Self, &'a str) {
        let split = |text: &'a str, inside: fn(char) -> bool| {
            let end = text.find(|c| !inside(c)).unwrap_or(text.len());
            text.split_at(end)
        };
        let (number, rest) = split(text, |c| c.is_ascii_digit() || matches!(c, '.' | ',' | '_'));
        let (unit, rest) = split(rest, |c| !c.is_ascii_digit() && !c.is_whitespace());
        (Part { number, unit }, rest.trim_start())
    }

    fn unit(&self, text: &str) -> Result<(usize, u64), String> {
        if self.number.is_empty() {
            return Err(format!("`{text}` is not a duration: {ACCEPTED}"));
        }
        if let Some(index) = UNITS.iter().position(|(name, _)| *name == self.unit) {
            return Ok((index, UNITS[index].1));
        }
        let number = self.number;
        Err(match self.unit {
            "" => {
                format!("`{text}`: the number {number} has no unit directly behind it; {ACCEPTED}")
            }
            "M" => format!(
                "`{text}`: `M` is ambiguous; write \"{number}m\" for minutes or \"{number}ms\" for milliseconds"
            ),
            "ns" | "us" | "µs" | "μs" => {
                format!(
                    "`{text}` is finer than the timers, which tick in milliseconds: the shortest is \"1ms\""
                )
            }
            unit if UNITS
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(unit)) =>
            {
                format!(
                    "`{text}`: units are lower case, write \"{number}{}\"",
                    unit.to_ascii_lowercase()
                )
            }
            "min" | "mins" | "minute" | "minutes" => {
                format!("`{text}`: write \"{number}m\" for minutes")
            }
            "sec" | "secs" | "second" | "seconds" => {
                format!("`{text}`: write \"{number}s\" for seconds")
            }
            "msec" | "msecs" | "millis" | "milliseconds" => {
                format!("`{text}`: write \"{number}ms\" for milliseconds")
            }
            "d" | "day" | "days" => format!("`{text}`: days are not a unit here; {ACCEPTED}"),
            unit => {
                let hint = nearest(unit, UNITS.iter().map(|(name, _)| *name))
                    .map_or_else(String::new, |unit| {
                        format!(", did you mean \"{number}{unit}\"?")
                    });
                format!("`{text}`: unknown unit `{unit}`{hint}; {ACCEPTED}")
            }
        })
    }

    fn number(&self, text: &str, unit: u64) -> Result<u64, String> {
        if let Some((whole, fraction)) = self.number.split_once('.') {
            return Err(match decimal(whole, fraction, unit) {
                Some(millis) => format!(
                    "`{text}`: whole numbers only, write \"{}\"",
                    literal(millis)
                ),
                None => format!("`{text}` is not a whole number of milliseconds; {ACCEPTED}"),
            });
        }
        if !self.number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "`{text}`: digits only, without separators; {ACCEPTED}"
            ));
        }
        self.number.parse().map_err(|_| too_long(text))
    }
}

fn too_long(text: &str) -> String {
    format!("`{text}` is longer than a year; leave the budget out when there is no limit")
}

/// `1.5` of a unit in milliseconds, when that is a whole number of them.
fn decimal(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let digits = u32::try_from(fraction.len()).ok()?;
    let scale = 10_u64.checked_pow(digits)?;
    let fraction = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u64>().ok()?
    };
    let scaled = whole
        .parse::<u64>()
        .ok()?
        .checked_mul(scale)?
        .checked_add(fraction)?
        .checked_mul(unit)?;
    (scaled != 0 && scaled.is_multiple_of(scale)).then(|| scaled / scale)
}

/// A number of milliseconds as this module would accept it: `1m 30s`.
fn literal(millis: u64) -> String {
    let mut rest = millis;
    let mut parts = Vec::new();
    for (name, unit) in UNITS {
        if rest / unit > 0 {
            parts.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    parts.join(" ")
}

/// A number of milliseconds as people say it: `450ms`, `1.5s`, `1m 30s`.
pub(crate) fn figure(millis: u64) -> String {
    if !(SECOND..MINUTE).contains(&millis) {
        return if millis == 0 {
            "0ms".to_owned()
        } else {
            literal(millis)
        };
    }
    let fraction = format!("{:03}", millis % SECOND);
    match fraction.trim_end_matches('0') {
        "" => format!("{}s", millis / SECOND),
        fraction => format!("{}.{fraction}s", millis / SECOND),
    }
}

#[cfg(test)]
mod tests {
    use super::{figure, parse};

    #[test]
    fn whole_numbers_with_a_unit() {
        for (text, millis) in [
            ("1ms", 1),
            ("450ms", 450),
            ("2s", 2_000),
            ("1m", 60_000),
            ("1h", 3_600_000),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            ("1h  5m 2s 7ms", 3_902_007),
            ("0s 5ms", 5),
            ("8760h", 31_536_000_000),
        ] {
            assert_eq!(parse(text), Ok(millis), "{text}");
        }
    }

    #[test]
    fn everything_else_says_what_is_wrong() {
        for (text, part) in [
            ("", "empty"),
            ("450", "has no unit: write \"450ms\" or \"450s\""),
            ("0ms", "is zero"),
            ("0s 0ms", "is zero"),
            ("-5ms", "negative"),
            (
                "1M",
                "`M` is ambiguous; write \"1m\" for minutes or \"1ms\" for milliseconds",
            ),
            ("450MS", "units are lower case, write \"450ms\""),
            ("2S", "units are lower case, write \"2s\""),
            ("1.5s", "whole numbers only, write \"1s 500ms\""),
            ("0.25m", "whole numbers only, write \"15s\""),
            ("0.5ms", "not a whole number of milliseconds"),
            ("1.0005s", "not a whole number of milliseconds"),
            ("500us", "finer than the timers"),
            ("10ns", "finer than the timers"),
            ("1_000ms", "without separators"),
            ("450 ms", "the number 450 has no unit directly behind it"),
            ("1s 1m", "the longest first"),
            ("1s 2s", "each unit once"),
            ("5min", "write \"5m\" for minutes"),
            ("5sec", "write \"5s\" for seconds"),
            ("1d", "days are not a unit"),
            ("5mss", "unknown unit `mss`, did you mean \"5ms\"?"),
            ("8761h", "longer than a year"),
            ("99999999999999999999ms", "longer than a year"),
            ("18446744073709551615h", "longer than a year"),
            ("soon", "is not a duration"),
            ("40%", "unknown unit `%`"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn figures_read_as_people_write_them() {
        for (millis, text) in [
            (0, "0ms"),
            (450, "450ms"),
            (1_000, "1s"),
            (1_500, "1.5s"),
            (1_234, "1.234s"),
            (60_000, "1m"),
            (90_000, "1m 30s"),
            (90_500, "1m 30s 500ms"),
            (3_600_000, "1h"),
        ] {
            assert_eq!(figure(millis), text);
        }
    }
}
