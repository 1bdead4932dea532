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
