//! [`Path`]: the scopes that were running when something was stopped.

use crate::time::Deadline;

/// One scope of the path that `Debug` prints.
#[derive(Clone, Copy)]
pub(crate) struct PathEntry {
    pub(crate) operation: &'static str,
    pub(crate) hard: Option<Deadline>,
}

/// Outermost first. Mostly there is one, which needs no list.
#[derive(Default)]
pub(crate) struct Path {
    first: Option<PathEntry>,
    more: Vec<PathEntry>,
}

impl Path {
    pub(crate) fn push(&mut self, entry: PathEntry) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.more.push(entry);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PathEntry> {
        self.first.iter().chain(&self.more)
    }
}

impl FromIterator<PathEntry> for Path {
    fn from_iter<I: IntoIterator<Item = PathEntry>>(entries: I) -> Self {
        let mut entries = entries.into_iter();
        Self {
            first: entries.next(),
            more: entries.collect(),
        }
    }
}
