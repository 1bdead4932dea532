//! One scene as one row: what was asked, what came back, when each hop stopped, and whether that was promised.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use crate::client::Answer;
use crate::journal::HopEntry;

pub struct Row {
    pub scene: &'static str,
    pub asked: String,
    pub answered: String,
    /// Header bytes worth seeing, and measured figures.
    pub notes: Vec<String>,
    pub hops: Vec<HopLine>,
    promises: Vec<(String, bool)>,
}

pub struct HopLine {
    pub name: &'static str,
    pub granted_ms: Option<String>,
    /// Counted from the start of the scene.
    pub started: Duration,
    pub ended: Option<Duration>,
    pub finished: bool,
}

impl Row {
    pub fn new(scene: &'static str, asked: impl Into<String>) -> Self {
        Self {
            scene,
            asked: asked.into(),
            answered: "the client left".into(),
            notes: Vec::new(),
            hops: Vec::new(),
            promises: Vec::new(),
        }
    }

    pub fn answer(&mut self, answer: Option<&Answer>) {
        let Some(answer) = answer else { return };
        self.answered = format!("{} after {}", answer.status, millis(answer.after));
        if let Some(cause) = answer.header("x-deadline-cause") {
            self.answered.push_str(", x-deadline-cause: ");
            self.answered.push_str(cause);
        }
    }

    pub fn hops(&mut self, from: Duration, hops: &[HopEntry]) {
        self.hops.extend(hops.iter().map(|hop| HopLine {
            name: hop.name,
            granted_ms: hop.granted_ms.clone(),
            started: hop.started.saturating_sub(from),
            ended: hop.ended.map(|ended| ended.saturating_sub(from)),
            finished: hop.finished,
        }));
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub fn promise(&mut self, text: impl Into<String>, kept: bool) {
        self.promises.push((text.into(), kept));
    }

    pub fn kept(&self) -> bool {
        !self.promises.is_empty() && self.promises.iter().all(|(_, kept)| *kept)
    }

    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "scene": self.scene,
            "asked": self.asked,
            "answered": self.answered,
            "notes": self.notes,
            "hops": self.hops.iter().map(|hop| json!({
                "name": hop.name,
                "granted_ms": hop.granted_ms,
                "started_ms": number(hop.started),
                "ended_ms": hop.ended.map(number),
                "finished": hop.finished,
            })).collect::<Vec<_>>(),
            "promises": self.promises.iter().map(|(text, kept)| json!({ "text": text, "kept": kept })).collect::<Vec<_>>(),
            "kept": self.kept(),
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.scene)?;
        writeln!(f, "   asked     {}", self.asked)?;
        writeln!(f, "   answered  {}", self.answered)?;
        for hop in &self.hops {
            let how = if hop.finished { "done" } else { "stopped" };
            let ended = hop.ended.map_or_else(
                || "STILL RUNNING".to_owned(),
                |ended| format!("{how} at {}", millis(ended)),
            );
            write!(
                f,
                "   {:<9} from {:>7}, {ended}",
                hop.name,
                millis(hop.started)
            )?;
            match &hop.granted_ms {
                Some(granted) => writeln!(f, " (received x-request-timeout-ms: {granted})")?,
                None => writeln!(f)?,
            }
        }
        for note in &self.notes {
            for (index, line) in note.lines().enumerate() {
                writeln!(f, "   {:<9} {line}", if index == 0 { "seen" } else { "" })?;
            }
        }
        for (text, kept) in &self.promises {
            writeln!(f, "   {:<9} {text}", if *kept { "kept" } else { "BROKEN" })?;
        }
        Ok(())
    }
}

pub fn millis(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

fn number(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
