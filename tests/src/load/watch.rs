//! [`Watch`]: every event of the process, counted and searched.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use super::service::server_of;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, Subscriber, span};

/// What no log may say. Clients write it into paths, queries, headers and bodies.
pub const SECRET: &str = "s3cr3t-7f1c";

/// Listens to ours at every level and to everybody else from INFO up.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Seen>>);

/// What was heard.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Stopped requests by server and cause, as the one INFO event of each says.
    pub stopped: BTreeMap<(&'static str, String), u64>,
    /// Every event.
    pub events: u64,
    /// The first events that said the secret.
    pub leaks: Vec<String>,
}

impl Seen {
    /// How many requests of a server were stopped for a cause.
    #[must_use]
    pub fn stopped(&self, server: &'static str, cause: &str) -> u64 {
        let key = (server, cause.to_owned());
        self.stopped.get(&key).copied().unwrap_or(0)
    }

    /// How many were stopped at all.
    #[must_use]
    pub fn stopped_of(&self, server: &str) -> u64 {
        let of = self.stopped.iter().filter(|((of, _), _)| *of == server);
        of.map(|(_, n)| n).sum()
    }
}

impl Watch {
    /// Listens for the rest of the process.
    ///
    /// # Panics
    /// If somebody else listens already.
    #[must_use]
    pub fn listen() -> Self {
        let watch = Self::default();
        tracing::subscriber::set_global_default(watch.clone()).expect("the only listener");
        watch
    }

    /// What was heard so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Subscriber for Watch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "deadline" || *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.events += 1;
        if fields.text.contains(SECRET) && seen.leaks.len() < 5 {
            seen.leaks.push(fields.text);
        }
        let ours = event.metadata().target() == "deadline";
        if ours && *event.metadata().level() == Level::INFO {
            let key = (server_of(&fields.op), fields.cause);
            *seen.stopped.entry(key).or_default() += 1;
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Fields {
    text: String,
    op: String,
    cause: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.text, "{}={value:?} ", field.name());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.text, "{}={value} ", field.name());
        match field.name() {
            "op" => value.clone_into(&mut self.op),
            "cause" => value.clone_into(&mut self.cause),
            _ => {}
        }
    }
}
