//! [`Tag`]: the name that a transaction goes by on the server.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::context::Context;

/// The `application_name` of one transaction: the request it belongs to, then a part that is like no other.
///
/// `pg_stat_activity` then shows which request a backend works for, and a cancel by this name can only ever meet this
/// very transaction, also when its backend has been given to somebody else. Servers keep 63 bytes of a name and make
/// `?` of everything that is not printable ASCII, so this is what is sent.
#[derive(Debug, Clone)]
pub(crate) struct Tag(Arc<str>);

/// What `NAMEDATALEN` leaves.
const LONGEST: usize = 63;
/// `#` and sixteen digits.
const UNIQUE: usize = 17;

impl Tag {
    pub(crate) fn of(cx: &Context) -> Self {
        let id = cx.request_id();
        let shown: String = id
            .as_deref()
            .unwrap_or("deadline")
            .chars()
            .take(LONGEST - UNIQUE)
            .map(|c| match c {
                // No quote and no backslash: the name stands in the text of a statement.
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | ':' | '/' | ' ' => c,
                _ => '?',
            })
            .collect();
        Self(format!("{shown}#{:016x}", unique()).into())
    }
}

/// Sixty-four bits that are like no others: every `RandomState` of this process has keys of its own, and another
/// process starts from other ones.
fn unique() -> u64 {
    RandomState::new().hash_one(())
}

impl PartialEq<str> for Tag {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(id: &str) -> String {
        Tag::of(&Context::builder("pay").request_id(id).build()).to_string()
    }

    #[test]
    fn a_name_fits_says_the_request_and_cannot_leave_its_quotes() {
        let name = tag("8f14e45f");
        assert_eq!(name.split('#').next(), Some("8f14e45f"));
        for id in [
            "x'; DROP TABLE users; --",
            "\\'",
            "\u{1F600}\n\0",
            "ä".repeat(200).as_str(),
            "a#b",
        ] {
            let name = tag(id);
            assert!(name.len() <= 63, "{name}");
            assert!(!name.contains(['\'', '\\', '\n', '\0', ';']), "{name}");
            assert!(name.is_ascii(), "{name}");
            assert_eq!(name.matches('#').count(), 1, "{name}");
        }
        assert!(tag("").starts_with('#'));
        assert!(
            Tag::of(&Context::none())
                .to_string()
                .starts_with("deadline#")
        );
    }

    #[test]
    fn no_two_are_alike() {
        let names: std::collections::HashSet<_> = (0..1_000).map(|_| tag("same")).collect();
        assert_eq!(names.len(), 1_000);
    }
}
