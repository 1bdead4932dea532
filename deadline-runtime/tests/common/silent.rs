//! Somebody who listens on every thread.

use tracing::{Metadata, Subscriber, span};

/// Wants everything and keeps nothing, for all threads: a callsite that is first reached where nobody listens would be taken for
/// one that nobody wants, also by the test beside it that does.
struct Silent;

pub(crate) fn somebody_listens() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| drop(tracing::subscriber::set_global_default(Silent)));
}

impl Subscriber for Silent {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
