//! Text that the compiler puts together.

const CAPACITY: usize = 4096;

/// Longer names are cut.
const LONGEST_NAME: usize = 64;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(super) struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; CAPACITY],
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "the calls in this function do not fit its budget",
        }
    }

    pub(super) const fn push(&mut self, text: &str) -> &mut Self {
        self.cut(text, CAPACITY)
    }

    pub(super) const fn name(&mut self, name: &str) -> &mut Self {
        self.cut(name, LONGEST_NAME);
        if name.len() > LONGEST_NAME {
            self.push("…");
        }
        self
    }

    /// At most so many bytes, and never a part of a character.
    const fn cut(&mut self, text: &str, most: usize) -> &mut Self {
        let bytes = text.as_bytes();
        let mut end = bytes.len();
        if end > most {
            end = most;
        }
        if end > CAPACITY - self.len {
            end = CAPACITY - self.len;
        }
        while end < bytes.len() && end > 0 && bytes[end] & 0b1100_0000 == 0b1000_0000 {
            end -= 1;
        }
        let mut index = 0;
        while index < end {
            self.bytes[self.len] = bytes[index];
            self.len += 1;
            index += 1;
        }
        self
    }

    pub(super) const fn spaces(&mut self, mut count: usize) -> &mut Self {
        while count > 0 {
            self.push(" ");
            count -= 1;
        }
        self
    }

    pub(super) const fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = 1;
        while number / 10_u64.pow(digits - 1) >= 10 {
            digits += 1;
        }
        self.digits(number, digits)
    }

    /// So many of its last digits.
    const fn digits(&mut self, number: u64, mut count: u32) -> &mut Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        while count > 0 {
            count -= 1;
            self.push(DIGITS[(number / 10_u64.pow(count) % 10) as usize]);
        }
        self
    }

    /// Milliseconds as people write them: `450ms`, `1.5s`, `1m 30s`.
    pub(super) const fn figure(&mut self, millis: u64) -> &mut Self {
        if millis < SECOND {
            return self.number(millis).push("ms");
        }
        if millis < MINUTE {
            self.number(millis / SECOND);
            let mut fraction = millis % SECOND;
            if fraction > 0 {
                let mut digits = 3;
                while fraction.is_multiple_of(10) {
                    fraction /= 10;
                    digits -= 1;
                }
                self.push(".").digits(fraction, digits);
            }
            return self.push("s");
        }
        let mut first = true;
        let units = [(HOUR, "h"), (MINUTE, "m"), (SECOND, "s"), (1, "ms")];
        let mut rest = millis;
        let mut index = 0;
        while index < units.len() {
            let (unit, name) = units[index];
            if rest >= unit {
                if !first {
                    self.push(" ");
                }
                first = false;
                self.number(rest / unit).push(name);
                rest %= unit;
            }
            index += 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, Text};

    #[test]
    fn figures_read_as_people_write_them() {
        for (millis, text) in [
            (0, "0ms"),
            (450, "450ms"),
            (1_000, "1s"),
            (1_500, "1.5s"),
            (1_050, "1.05s"),
            (1_234, "1.234s"),
            (60_000, "1m"),
            (90_000, "1m 30s"),
            (90_500, "1m 30s 500ms"),
            (3_600_000, "1h"),
            (u64::MAX, "5124095576030h 25m 51s 615ms"),
        ] {
            assert_eq!(Text::new().figure(millis).as_str(), text);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = "ä".repeat(LONGEST_NAME);
        let mut text = Text::new();
        assert_eq!(
            text.name(&name).as_str(),
            format!("{}…", "ä".repeat(LONGEST_NAME / 2))
        );
        let mut full = Text::new();
        for _ in 0..1_000 {
            full.push("äöü");
        }
        assert_eq!(full.as_str().len(), 4_096);
    }
}
