//! Listening to the events of this crate, and building requests.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::pedantic)]

#[path = "../common/silent.rs"]
mod silent;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Level, Metadata, Subscriber, span};

/// One event: its level and its fields as text.
#[derive(Debug, Clone)]
pub struct Event {
    pub level: Level,
    pub fields: BTreeMap<&'static str, String>,
}

impl Event {
    pub fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    /// Everything on this thread, at every level and target, until the guard is dropped.
    pub fn listen() -> (Self, DefaultGuard) {
        silent::somebody_listens();
        let events = Self::default();
        let guard = tracing::subscriber::set_default(events.clone());
        (events, guard)
    }

    pub fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub fn info(&self) -> Vec<Event> {
        let mut events = self.all();
        events.retain(|event| event.level == Level::INFO);
        events
    }

    /// The only event at INFO.
    #[track_caller]
    pub fn one(&self) -> Event {
        let events = self.info();
        assert_eq!(events.len(), 1, "{events:#?}");
        events.into_iter().next().unwrap()
    }

    pub fn text(&self) -> String {
        format!("{:?}", self.all())
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
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        let event = Event {
            level,
            fields: fields.0,
        };
        self.0.lock().unwrap().push(event);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
