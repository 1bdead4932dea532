//! SQLSTATE codes. Only codes: message text is translated.

/// Whether an error with this code may be the end of one of our limits or of a cancel. Which it was is decided elsewhere:
/// `57014` is both, and an operator's cancel as well.
pub(crate) fn ends_by_limit_or_cancel(code: &str) -> bool {
    matches!(
        code,
        // query_canceled, lock_not_available
        "57014" | "55P03"
        // idle_in_transaction_session_timeout, transaction_timeout (17 and later)
        | "25P03" | "25P04"
    )
}

/// Whether the same transaction may well succeed when it is tried again.
pub(crate) fn is_serialization_failure(code: &str) -> bool {
    // serialization_failure, deadlock_detected
    matches!(code, "40001" | "40P01")
}

/// Why the guard of a commit has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// The server's clock says that it is too late.
    Late,
    /// It is not in the transaction that we began.
    Foreign,
}

/// The guard's errors; another statement can fail with the same ones.
pub(crate) fn guard(code: &str) -> Option<Guard> {
    match code {
        "22012" => Some(Guard::Late),
        "2201E" => Some(Guard::Foreign),
        _ => None,
    }
}
