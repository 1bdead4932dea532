//! One scene: what happened when, and whether that was promised.

use std::fmt::{Display, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadline_runtime::AttemptRecord;

/// Notes from anywhere in a scene, in the order in which they were made. Clones are the same scene.
#[derive(Clone)]
pub struct Scene {
    begun: Instant,
    lines: Arc<Mutex<Vec<String>>>,
    promises: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Scene {
    pub fn begin() -> Self {
        Self {
            begun: Instant::now(),
            lines: Arc::default(),
            promises: Arc::default(),
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn say(&self, text: impl Display) {
        let line = format!("{:>5} ms  {text}", self.elapsed().as_millis());
        push(&self.lines, line);
    }

    pub fn ended(&self, record: &AttemptRecord) {
        let lag = record.stop_lag.map_or(String::new(), |lag| {
            format!(", gone {} us after it was told", lag.as_micros())
        });
        self.say(format_args!(
            "attempt {} {} after {} ms{lag}",
            record.number,
            record.outcome,
            record.elapsed.as_millis()
        ));
    }

    pub fn promise(&self, text: impl Into<String>, kept: bool) {
        push(&self.promises, (text.into(), kept));
    }

    /// The rows of the scene, and whether every promise was kept.
    pub fn end(&self, title: &str) -> (String, bool) {
        let mut rows = format!("{title}\n");
        for line in take(&self.lines) {
            rows.push_str(&line);
            rows.push('\n');
        }
        let promises = take(&self.promises);
        for (text, kept) in &promises {
            let word = if *kept { "kept" } else { "BROKEN" };
            let _ = writeln!(rows, "{word:>8}  {text}");
        }
        let kept = !promises.is_empty() && promises.iter().all(|(_, kept)| *kept);
        (rows, kept)
    }
}

/// At `expected` ms, or somewhat later: the machine may be busy.
pub fn about(elapsed: Duration, expected: u64) -> bool {
    let millis = elapsed.as_millis();
    millis >= u128::from(expected) && millis < u128::from(expected) + 150
}

fn push<T>(list: &Mutex<Vec<T>>, item: T) {
    list.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(item);
}

fn take<T>(list: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner))
}
