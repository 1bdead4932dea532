//! What goes wrong in each story, and what is right then.

use std::time::Duration;

use crate::fault::{Fault, Faults, Step};
use crate::provider::Mood;

/// What a request is given by its client, in milliseconds: all the time.
pub(super) const PATIENT: u64 = 6_000;
/// Where something stalls, so that the deadline passes.
const FAULTY: u64 = 2_000;
/// Less than the provider takes when it is slow.
const HURRIED: u64 = 1_500;
/// Less than the service needs to begin.
const TOO_LITTLE: u64 = 300;
/// Longer than anybody waits.
const SLOW: Duration = Duration::from_millis(2_500);

/// One story: what goes wrong, and what the client has to see then.
pub(super) struct Plot {
    pub(super) name: String,
    pub(super) faults: Faults,
    pub(super) mood: Mood,
    pub(super) timeout_ms: u64,
    /// The status that is right; 0 is no answer.
    pub(super) right: u16,
    /// Whether the order has to be known afterwards; `None` where both are right.
    pub(super) known: Option<bool>,
}

impl Plot {
    fn new(name: impl Into<String>, right: u16) -> Self {
        Self {
            name: name.into(),
            faults: Faults::default(),
            mood: Mood::Good,
            timeout_ms: PATIENT,
            right,
            known: Some(true),
        }
    }

    /// The order never comes to be known.
    fn unknown(mut self) -> Self {
        self.known = Some(false);
        self
    }

    fn mood(mut self, mood: Mood) -> Self {
        self.mood = mood;
        self
    }

    fn timeout(mut self, millis: u64) -> Self {
        self.timeout_ms = millis;
        self
    }

    fn fault(mut self, step: Step, fault: Fault) -> Self {
        self.name = format!("{fault} {step}");
        self.faults = Faults::plan(step, fault);
        self.timeout_ms = FAULTY;
        self.known = match step {
            Step::BeforeIntent | Step::BeforeIntentCommit => Some(false),
            // Nobody can say.
            Step::DuringIntentCommit => None,
            _ => Some(true),
        };
        self
    }
}

/// All of them.
pub(super) fn plots() -> Vec<Plot> {
    let mut plots = vec![
        Plot::new("nothing goes wrong", 201),
        Plot::new("the provider declines", 402).mood(Mood::Declines),
        Plot::new("the provider fails", 202).mood(Mood::Fails),
        Plot::new("the provider is slow", 202).mood(Mood::Slow(SLOW)),
        Plot::new("the provider loses its answer", 202).mood(Mood::LosesAnswer),
        Plot::new("the provider is slow, and the client in a hurry", 504)
            .mood(Mood::Slow(SLOW))
            .timeout(HURRIED),
        Plot::new("the provider loses its answer, the client in a hurry", 504)
            .mood(Mood::LosesAnswer)
            .timeout(HURRIED),
        Plot::new("expired on arrival", 504).timeout(0).unknown(),
        Plot::new("too little left to begin", 504)
            .timeout(TOO_LITTLE)
            .unknown(),
    ];
    for step in [
        Step::BeforeIntent,
        Step::BeforeIntentCommit,
        Step::DuringIntentCommit,
        Step::AfterIntent,
        Step::BeforeResultCommit,
        Step::DuringResultCommit,
        Step::BeforeAnswer,
    ] {
        plots.push(Plot::new("", 504).fault(step, Fault::Stall));
        plots.push(Plot::new("", 0).fault(step, Fault::Kill));
    }
    plots.push(
        Plot::new("", 0)
            .fault(Step::AfterIntent, Fault::Kill)
            .mood(Mood::LosesAnswer),
    );
    if let Some(plot) = plots.last_mut() {
        plot.name.push_str(", then no answer");
    }
    plots
}
