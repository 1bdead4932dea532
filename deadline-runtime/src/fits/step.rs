//! The control flow of a body.

/// One step of a body, as far as it can take time.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// The awaited call with this number.
    Call(usize, &'static str),
    /// A statement under `#[budget]` with so many milliseconds.
    Budget(u64, &'static str),
    /// The same in percent of what the function has to work with.
    Share(u64, &'static str),
    /// At most so many times a `#[budget]`.
    Times(u64, &'a Step<'a>),
    /// A `#[budget]` around something that leaves the function or a loop.
    Around(&'a Step<'a>, &'a Step<'a>),
    /// One after the other.
    Then(&'a [Step<'a>]),
    /// One of them.
    Either(&'a [Step<'a>]),
    /// All at the same time.
    Join(&'a [Step<'a>]),
    /// Counted once, or never entered.
    Loop(&'a Step<'a>),
    /// Counted once, left by a `break` only.
    Forever(&'a Step<'a>),
    /// `return`, after its value.
    Return(&'a Step<'a>),
    /// `break` or `continue`, after its value.
    Break(&'a Step<'a>),
}
