//! How durations are read and written: `450ms`, `1.5s`, `1m 30s`.

use std::fmt;
use std::time::Duration;

use super::deadline::LONGEST;

/// Writes a duration the way people do: at most three decimals, the largest unit that keeps it short.
pub(crate) struct Short(pub(crate) Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, name) = match nanos {
            0 => return f.write_str("0ms"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let whole = nanos / unit;
        let thousandths = (nanos % unit) * 1_000 / unit;
        if thousandths == 0 {
            write!(f, "{whole}{name}")
        } else {
            let decimals = format!("{thousandths:03}");
            write!(f, "{whole}.{}{name}", decimals.trim_end_matches('0'))
        }
    }
}

/// Why a duration text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationError {
    text: String,
    reason: &'static str,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a duration: {} (accepted: whole numbers with `ms`, `s`, `m` or `h`, as in `450ms` or `1m 30s`, from 1ms to one year)",
            self.text, self.reason
        )
    }
}

impl std::error::Error for DurationError {}

/// Reads a duration as configuration files and environment variables write it.
///
/// The grammar is that of the attribute: whole numbers, each with its unit (`ms`, `s`, `m`, `h`), from one
/// millisecond to one year, the units in falling order.
///
/// # Errors
/// Says which rule the text breaks. Nothing is guessed: a number without a unit is refused because
/// seconds and milliseconds are mixed up in practice.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::parse_duration;
///
/// assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
/// assert!(parse_duration("450").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let refuse = |reason| DurationError {
        text: text.chars().take(64).collect(),
        reason,
    };
    let mut rest = text.trim_matches(' ');
    if rest.is_empty() {
        return Err(refuse("it is empty"));
    }
    let mut total: u64 = 0;
    let mut last_unit = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() {
            return Err(refuse("a number is missing"));
        }
        let unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "" => return Err(refuse("the unit is missing")),
            "M" => return Err(refuse("`M` could be minutes or months")),
            _ => return Err(refuse("the unit is unknown")),
        };
        if unit >= last_unit {
            return Err(refuse("each unit may stand once, the largest first"));
        }
        last_unit = unit;
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(unit))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| refuse("it is over one year"))?;
        rest = tail.trim_start_matches(' ');
    }
    match Duration::from_millis(total) {
        Duration::ZERO => Err(refuse("it is zero")),
        long if long > LONGEST => Err(refuse("it is over one year")),
        fits => Ok(fits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_prints_what_people_write() {
        let cases = [
            (Duration::ZERO, "0ms"),
            (Duration::from_millis(450), "450ms"),
            (Duration::from_millis(1_500), "1.5s"),
            (Duration::from_secs(90), "90s"),
            (Duration::from_micros(20_030), "20.03ms"),
            (Duration::from_nanos(999), "999ns"),
            (Duration::from_millis(1_405), "1.405s"),
        ];
        for (duration, text) in cases {
            assert_eq!(Short(duration).to_string(), text);
        }
    }

    #[test]
    fn durations_are_strict() {
        assert_eq!(parse_duration("450ms"), Ok(Duration::from_millis(450)));
        assert_eq!(
            parse_duration("1h 1m 1s 1ms"),
            Ok(Duration::from_millis(3_661_001))
        );
        assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("8760h"), Ok(LONGEST));
        let refused = [
            "",
            " ",
            "450",
            "1M",
            "450MS",
            "0ms",
            "-1s",
            "+1s",
            "1.5s",
            "1e3ms",
            "8761h",
            "１s",
            "1s 1s",
            "1ms 1s",
            "99999999999999999999h",
            "s",
            "ms5",
            "1_000ms",
        ];
        for text in refused {
            assert!(parse_duration(text).is_err(), "{text:?} was accepted");
        }
    }
}
