//! [`Attached`]: what hangs on a scope besides its body.
//!
//! It lies in the scope's node and is made when the first task or hook comes: a scope that has none does not pay for it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use super::crew::Crew;
use super::error::Payload;
use super::hooks::Hook;
use crate::context::node::Node;

#[derive(Default)]
pub(crate) struct Attached(Mutex<Parts>);

/// [`Attached`] as a node knows it. Behind a trait object, because what it is made of would count against rustc's
/// recursion limit wherever a future is proved `Send`.
pub(crate) trait HasParts: Send + Sync {
    fn parts(&self) -> MutexGuard<'_, Parts>;
}

impl HasParts for Attached {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn none() -> Box<dyn HasParts> {
    Box::<Attached>::default()
}

/// Several crews only when threads spawn at the same instant.
#[derive(Default)]
pub(crate) struct Parts {
    pub(super) crews: Vec<Crew>,
    /// They end tasks of scopes and groups inside this one that were dropped.
    pub(super) reapers: Vec<JoinHandle<()>>,
    pub(super) hooks: Vec<Hook>,
    pub(super) last_hook: u64,
    /// Of a task whose handle was dropped before anybody looked.
    pub(super) panic: Option<Payload>,
}

impl Parts {
    /// Whether the scope's end has to wait for something.
    fn is_waited_for(&self) -> bool {
        !self.crews.is_empty() || !self.reapers.is_empty() || self.panic.is_some()
    }
}

impl Node {
    /// Whether a scope runs that will see to what is attached here.
    pub(super) fn is_attended(&self) -> bool {
        if self.of_scope {
            !self.over.load(Ordering::SeqCst)
        } else {
            self.runs.load(Ordering::SeqCst) > 0
        }
    }

    /// The nearest node, this one or above, that is attended.
    pub(super) fn attendant(self: &Arc<Self>) -> Option<&Arc<Self>> {
        let mut node = self;
        while !node.is_attended() {
            node = node.parent()?;
        }
        Some(node)
    }

    /// Changes what is attached. `change` must not run anything of the user's.
    pub(super) fn attach<R>(&self, change: impl FnOnce(&mut Parts) -> R) -> R {
        change(&mut self.attached.get_or_init(none).parts())
    }

    /// The same if a scope is there to see to it. Tested under the lock: a scope that ends says so first and looks then.
    pub(super) fn attach_if_attended<R>(&self, change: impl FnOnce(&mut Parts) -> R) -> Option<R> {
        let mut parts = self.attached.get_or_init(none).parts();
        std::sync::atomic::fence(Ordering::SeqCst);
        self.is_attended().then(|| change(&mut parts))
    }

    /// What is attached, if anything ever was.
    pub(super) fn attached<R>(&self, read: impl FnOnce(&mut Parts) -> R) -> Option<R> {
        self.attached
            .get()
            .map(|attached| read(&mut attached.parts()))
    }

    /// Whether the end of its scope has to wait for something.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.attached(|parts| parts.is_waited_for()) == Some(true)
    }

    pub(crate) fn has_hooks(&self) -> bool {
        self.attached(|parts| !parts.hooks.is_empty()) == Some(true)
    }

    /// Lets the nearest scope around wait for a reaper.
    pub(super) fn keep_reaper(self: &Arc<Self>, reaper: JoinHandle<()>) {
        let mut reaper = Some(reaper);
        let mut next = self.attendant();
        while let Some(node) = next {
            let kept = node.attach_if_attended(|parts| {
                parts.reapers.retain(|reaper| !reaper.is_finished());
                parts.reapers.extend(reaper.take());
            });
            if kept.is_some() {
                return;
            }
            next = node.parent().and_then(Self::attendant);
        }
    }
}
