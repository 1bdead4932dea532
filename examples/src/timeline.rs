//! [`Timeline`]: what happened when, and whether what was promised was kept.

use std::fmt::Display;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Prints a story as it goes on: scenes, what happened in them with the milliseconds since their start, and promises.
#[derive(Debug)]
pub struct Timeline {
    start: Mutex<Instant>,
    scenes: AtomicUsize,
    broken: AtomicUsize,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            start: Mutex::new(Instant::now()),
            scenes: AtomicUsize::new(0),
            broken: AtomicUsize::new(0),
        }
    }
}

impl Timeline {
    /// Begins a scene: times count from here.
    pub fn scene(&self, title: impl Display) {
        let scene = self.scenes.fetch_add(1, Ordering::Relaxed) + 1;
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        println!("{scene}. {title}");
    }

    /// How long the scene has lasted.
    pub fn elapsed(&self) -> Duration {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        start.elapsed()
    }

    /// Something happened now.
    pub fn note(&self, what: impl Display) {
        println!("   {:>4} ms  {what}", self.elapsed().as_millis());
    }

    /// Says whether a promise was kept.
    pub fn promise(&self, kept: bool, what: impl Display) {
        if !kept {
            self.broken.fetch_add(1, Ordering::Relaxed);
        }
        let word = if kept { "kept" } else { "BROKEN" };
        println!("   {word:>7}  {what}");
    }

    /// Ends the story: failure if a promise was broken.
    pub fn end(&self) -> ExitCode {
        let scenes = self.scenes.load(Ordering::Relaxed);
        let broken = self.broken.load(Ordering::Relaxed);
        println!("{scenes} scenes, {broken} broken promises");
        if broken == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
