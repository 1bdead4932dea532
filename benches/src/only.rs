//! `--only OPERATION N`, for callgrind: one operation, so many times, and nothing else.

/// What the command line asks for.
pub struct Only {
    pub operation: String,
    pub times: u32,
}

/// Nothing, unless the command line asks for one operation.
pub fn only() -> Option<Only> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    let operation = arguments.nth(1)?;
    let times = arguments.next().and_then(|times| times.parse().ok());
    Some(Only {
        times: times.expect("--only OPERATION TIMES"),
        operation,
    })
}
