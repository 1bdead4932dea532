//! [`Answers`]: what has come back for the text of a commit.

use super::code::ends_by_limit_or_cancel;

/// The answers of the statements of a text whose last one is the commit, with its guard before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answers {
    wanted: usize,
    count: usize,
    ours: bool,
}

/// Why the server has refused a commit, where it was not an error of what the transaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The server's clock says that it is too late.
    Late,
    /// It is not in the transaction that we began.
    Foreign,
    /// A limit, or a cancel: whose is decided elsewhere.
    Ended,
}

impl Refusal {
    /// What is to be said of a transaction that is not ours any more.
    pub(crate) const FOREIGN: &'static str =
        "a statement has ended the transaction, or changed its application_name";
}

impl Answers {
    /// None yet.
    pub(crate) fn to(sql: &str) -> Self {
        Self {
            wanted: sql.matches(';').count() + 1,
            count: 0,
            ours: false,
        }
    }

    /// One statement more is through.
    pub(crate) const fn through(&mut self) {
        self.count += 1;
    }

    /// There was a row; if it was the transaction's own name, these are the answers of this text.
    pub(crate) const fn row(&mut self, is_echo: bool) {
        self.ours |= is_echo;
    }

    /// Whether the commit is through.
    pub(crate) const fn committed(&self) -> bool {
        self.ours && self.count == self.wanted
    }

    /// What an error with this code means here. What is put off until the commit can fail with the guard's own codes before it.
    pub(crate) fn refusal(&self, code: &str) -> Option<Refusal> {
        let at_guard = self.count + 2 == self.wanted;
        match code {
            "22012" if at_guard => Some(Refusal::Late),
            "2201E" if at_guard => Some(Refusal::Foreign),
            code => ends_by_limit_or_cancel(code).then_some(Refusal::Ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::data::postgres::{Tag, commit, seal};

    #[test]
    fn the_guards_codes_count_at_the_guard_only() {
        let sql = seal(false) + &commit(None, &Tag::of(&Context::none()));
        let mut answers = Answers::to(&sql);
        assert_eq!(answers.refusal("22012"), None);
        assert_eq!(answers.refusal("57014"), Some(Refusal::Ended));
        answers.through();
        assert_eq!(answers.refusal("22012"), Some(Refusal::Late));
        assert_eq!(answers.refusal("2201E"), Some(Refusal::Foreign));
        assert_eq!(answers.refusal("40001"), None);
        answers.through();
        assert_eq!(answers.refusal("22012"), None);
    }

    #[test]
    fn only_the_answers_of_this_text_say_that_it_is_committed() {
        let mut answers = Answers::to("SELECT 'x';COMMIT");
        answers.through();
        answers.through();
        assert!(!answers.committed());
        answers.row(false);
        assert!(!answers.committed());
        answers.row(true);
        assert!(answers.committed());
        answers.through();
        assert!(!answers.committed());
    }
}
