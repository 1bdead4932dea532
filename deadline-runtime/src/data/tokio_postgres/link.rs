//! [`Link`]: a connection that goes back to its pool clean, or not at all.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::{ClientWrapper, Object};

/// A connection out of the pool. Whoever drops the last of its owners: unless somebody has said that it is clean, it
/// is closed.
pub(super) struct Link {
    /// Until it is dropped.
    object: Option<Object>,
    clean: AtomicBool,
}

impl Link {
    pub(super) const fn new(object: Object) -> Self {
        Self {
            object: Some(object),
            clean: AtomicBool::new(false),
        }
    }

    /// Nothing is outstanding, and it is in no transaction.
    pub(super) fn set_clean(&self) {
        self.clean.store(true, Ordering::Release);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !*self.clean.get_mut()
            && let Some(object) = self.object.take()
        {
            // Without a farewell, which may take as long as everything else on this connection.
            drop(Object::take(object));
        }
    }
}

impl Deref for Link {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        self.object.as_ref().expect("taken only when it is dropped")
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("clean", &self.clean)
            .finish_non_exhaustive()
    }
}
