//! The events of a whole process.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, Subscriber, span};

/// One event of the target `deadline`.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its level.
    pub level: Level,
    /// Its fields as text.
    pub fields: BTreeMap<&'static str, String>,
}

impl Event {
    /// A field, empty if it is absent.
    #[must_use]
    pub fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

/// Collects what every thread says.
#[derive(Debug, Clone, Default)]
pub struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    /// Listens for the rest of the process: one test per process, or tests that tell their requests apart.
    ///
    /// # Panics
    /// If somebody else listens already.
    #[must_use]
    pub fn listen() -> Self {
        let events = Self::default();
        tracing::subscriber::set_global_default(events.clone()).expect("the only listener");
        events
    }

    /// Everything said so far at INFO about one request; about all of them for an empty id.
    #[must_use]
    pub fn about(&self, request_id: &str) -> Vec<Event> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events
            .iter()
            .filter(|event| event.level == Level::INFO)
            .filter(|event| request_id.is_empty() || event.get("request_id") == request_id)
            .cloned()
            .collect()
    }

    /// Everything at every level, as text.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{:?}",
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        )
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "deadline"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        let event = Event {
            level: *event.metadata().level(),
            fields: fields.0,
        };
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(event);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
