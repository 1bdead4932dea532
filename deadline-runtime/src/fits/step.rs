//! The control flow of a body, as the attribute wrote it down.
//!
//! ```text
//! then(0 load_profile, either(1 recent_orders, return(2 no_orders)), loop(250ms enrich))
//! ```
//!
//! A text and not a value made of constructors: the compiler has nothing to do for a literal, and most texts are never
//! read, because the calls fit in whatever order they come.

/// One step of a body, as far as it can take time: a place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    text: &'static [u8],
    at: usize,
}

/// What a step is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// `0 load_profile`: the awaited call with this number.
    Call(usize, &'static str),
    /// `250ms load_profile`: a statement under `#[budget]` with so many milliseconds.
    Budget(u64, &'static str),
    /// `40% load_profile`: the same in percent of what the function has to work with.
    Share(u64, &'static str),
    /// `10x(20ms enrich)`: at most so many times a `#[budget]`.
    Times(u64, Step),
    /// `within(250ms load_profile, return())`: a `#[budget]` around something that leaves the function or a loop.
    Around(Step, Step),
    /// `then(…)`: one after the other.
    Then(Steps),
    /// `either(…)`: one of them.
    Either(Steps),
    /// `join(…)`: all at the same time.
    Join(Steps),
    /// `loop(…)`: counted once, or never entered.
    Loop(Step),
    /// `forever(…)`: counted once, left by a `break` only.
    Forever(Step),
    /// `return(…)`, after its value.
    Return(Step),
    /// `break(…)`: that or `continue`, after its value.
    Break(Step),
}

/// Steps one after the other in the text.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    text: &'static [u8],
    /// The next one; behind the text when there is none.
    at: usize,
}

impl Steps {
    /// Takes the next one.
    pub(super) const fn next(&mut self) -> Option<Step> {
        if self.at >= self.text.len() {
            return None;
        }
        let step = Step {
            text: self.text,
            at: self.at,
        };
        self.at = behind(self.text, self.at);
        Some(step)
    }
}

/// Nothing: `then()` as well as what is not there.
const NOTHING: Step = Step { text: b"", at: 0 };

impl Step {
    pub(super) const fn read(text: &'static str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
        }
    }

    pub(super) const fn kind(&self) -> Kind {
        let Self { text, at } = *self;
        let (number, unit) = number(text, at);
        if at < unit {
            return match letter(text, unit) {
                b'm' => Kind::Budget(number, name(text, unit + 3)),
                b'%' => Kind::Share(number, name(text, unit + 2)),
                b'x' => Kind::Times(number, Self { text, at: unit + 2 }),
                #[expect(clippy::cast_possible_truncation, reason = "a number of this body's")]
                _ => Kind::Call(number as usize, name(text, unit + 1)),
            };
        }
        let mut open = at;
        while open < text.len() && text[open] != b'(' {
            open += 1;
        }
        let mut inner = inside(text, open);
        let steps = inner;
        match (letter(text, at), letter(text, at + 1)) {
            (b'w', _) => Kind::Around(one(&mut inner), one(&mut inner)),
            (b'e', _) => Kind::Either(steps),
            (b'j', _) => Kind::Join(steps),
            (b'l', _) => Kind::Loop(one(&mut inner)),
            (b'f', _) => Kind::Forever(one(&mut inner)),
            (b'r', _) => Kind::Return(one(&mut inner)),
            (b'b', _) => Kind::Break(one(&mut inner)),
            _ => Kind::Then(steps),
        }
    }
}

const fn one(steps: &mut Steps) -> Step {
    match steps.next() {
        Some(step) => step,
        None => NOTHING,
    }
}

/// What is in the parentheses that open there.
const fn inside(text: &'static [u8], open: usize) -> Steps {
    let nothing = letter(text, open + 1) == b')' || open >= text.len();
    Steps {
        text,
        at: if nothing { text.len() } else { open + 1 },
    }
}

/// Where the next step of the same list begins, or the end of the text.
const fn behind(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < text.len() {
        match text[at] {
            b'(' => depth += 1,
            b')' if depth == 0 => return text.len(),
            b')' => depth -= 1,
            b',' if depth == 0 => return at + 2,
            _ => {}
        }
        at += 1;
    }
    at
}

const fn letter(text: &[u8], at: usize) -> u8 {
    if at < text.len() { text[at] } else { 0 }
}

/// The digits that begin there, and what is behind them.
const fn number(text: &[u8], mut at: usize) -> (u64, usize) {
    let mut number = 0_u64;
    while letter(text, at).is_ascii_digit() {
        number = number
            .saturating_mul(10)
            .saturating_add((text[at] - b'0') as u64);
        at += 1;
    }
    (number, at)
}

/// Names have none of the characters of the text around them.
const fn name(text: &'static [u8], from: usize) -> &'static str {
    let mut end = from;
    while end < text.len() && !matches!(text[end], b',' | b')') {
        end += 1;
    }
    let (before, _) = text.split_at(end);
    match std::str::from_utf8(before.split_at(from).1) {
        Ok(name) => name,
        Err(_) => "await",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written back from what was read.
    fn written(step: &Step) -> String {
        let all = |mut steps: Steps| {
            let mut all = Vec::new();
            while let Some(step) = steps.next() {
                all.push(written(&step));
            }
            all.join(", ")
        };
        match step.kind() {
            Kind::Call(number, name) => format!("{number} {name}"),
            Kind::Budget(millis, name) => format!("{millis}ms {name}"),
            Kind::Share(percent, name) => format!("{percent}% {name}"),
            Kind::Times(times, step) => format!("{times}x({})", written(&step)),
            Kind::Around(budget, step) => {
                format!("within({}, {})", written(&budget), written(&step))
            }
            Kind::Then(steps) => format!("then({})", all(steps)),
            Kind::Either(steps) => format!("either({})", all(steps)),
            Kind::Join(steps) => format!("join({})", all(steps)),
            Kind::Loop(step) => format!("loop({})", written(&step)),
            Kind::Forever(step) => format!("forever({})", written(&step)),
            Kind::Return(step) => format!("return({})", written(&step)),
            Kind::Break(step) => format!("break({})", written(&step)),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "0 load",
            "12 self.pool.größe::get!",
            "250ms orders.recent",
            "40% orders",
            "10x(20ms enrich)",
            "10x(3 enrich)",
            "then()",
            "then(0 a, 1 b, 2 c)",
            "then(either(0 a, then(1 b, return(then()))), join(2 c, 3 d), 4 e)",
            "within(250ms a, then(break(then()), return(0 b)))",
            "forever(then(0 a, either(then(), break(1 b)), 2 c))",
            "loop(10x(20ms a))",
            "either(return(0 thenable), 1 await)",
        ] {
            assert_eq!(written(&Step::read(text)), text);
        }
    }
}
