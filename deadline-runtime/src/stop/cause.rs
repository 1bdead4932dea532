//! [`Cause`] and [`Phase`]: why work was stopped, and in what.

use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal, $word:literal;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word that logs, metrics and headers carry.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The value of a word, as [`as_str`](Self::as_str) writes it.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            #[allow(dead_code, reason = "only the causes are stored as numbers")]
            pub(crate) const fn number(self) -> u8 {
                match self { $(Self::$variant => $number,)* }
            }

            #[allow(dead_code, reason = "only the causes are stored as numbers")]
            pub(crate) const fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Why work was stopped: exactly one, the first one wins.
    ///
    /// ```
    /// use deadline_runtime::Cause;
    ///
    /// assert_eq!(Cause::DependencyTimeout.as_str(), "dependency_timeout");
    /// assert_eq!(Cause::from_word("shutdown"), Some(Cause::Shutdown));
    /// ```
    Cause {
        /// The client went away before it had its answer.
        ClientCancelled = 1, "client_cancelled";
        /// The limit that ended the work belongs to an ancestor or to the request itself.
        DeadlineExceeded = 2, "deadline_exceeded";
        /// The work's own budget, strictly shorter than its parent's, ended it.
        DependencyTimeout = 3, "dependency_timeout";
        /// Refused before it started: less was left than a useful run needs.
        LocalBudgetRejected = 4, "local_budget_rejected";
        /// Refused because the service has no capacity.
        Overload = 5, "overload";
        /// The process is shutting down.
        Shutdown = 6, "shutdown";
        /// A sibling whose result was required failed.
        SiblingFailed = 7, "sibling_failed";
        /// Another attempt of the same work won.
        Superseded = 8, "superseded";
        /// The work it belonged to failed.
        ParentFailed = 9, "parent_failed";
        /// Cancelled by the program.
        UserCancelled = 10, "user_cancelled";
        /// A dependency answered with a failure or could not be reached.
        DependencyFailed = 11, "dependency_failed";
        /// The deadline the caller sent cannot be read.
        BadDeadline = 12, "bad_deadline";
        /// Dropped from outside without any other evidence.
        Abandoned = 13, "abandoned";
    }
}

words! {
    /// In what the work was when it stopped.
    ///
    /// The core knows the first three; integrations name the others.
    Phase {
        /// Before it began: refused.
        Start = 1, "start";
        /// At an await nobody has labelled.
        Wait = 2, "wait";
        /// At a checkpoint of a loop.
        Compute = 3, "compute";
        /// Waiting for a slot.
        Queue = 4, "queue";
        /// Opening a connection.
        Connect = 5, "connect";
        /// Waiting for a pooled connection.
        Pool = 6, "pool";
        /// Sending a request.
        Request = 7, "request";
        /// Waiting for the head of an answer.
        Response = 8, "response";
        /// Reading or writing a body.
        Body = 9, "body";
        /// Inside a database.
        Database = 10, "database";
        /// Committing.
        Commit = 11, "commit";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_distinct_and_read_back() {
        for &cause in Cause::ALL {
            assert_eq!(Cause::from_word(cause.as_str()), Some(cause));
            assert_eq!(Cause::from_number(cause.number()), Some(cause));
        }
        for &phase in Phase::ALL {
            assert_eq!(Phase::from_word(phase.as_str()), Some(phase));
            assert_eq!(Phase::from_number(phase.number()), Some(phase));
        }
        assert_eq!(Cause::from_number(0), None);
        assert_eq!(Cause::from_word("cancelled"), None);
    }
}
