//! [`Accounts`]: what came of a load, and whether it balances.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clients::{Fate, Kind};
use super::probe::{Counts, End};
use super::process::Holdings;
use super::service::{FIRST, SECOND};
use super::watch::Seen;
use crate::table::Table;

/// What came of a load.
#[derive(Debug)]
pub struct Accounts {
    /// What the clients did.
    pub clients: BTreeMap<Kind, u64>,
    /// What came of it that should not have, the first few.
    pub wrong: Vec<String>,
    /// The requests of the first server.
    pub first: Requests,
    /// Those of the second.
    pub second: Requests,
    /// Handlers, and tasks of handlers, that have no end.
    pub working: i64,
    /// What the process said.
    pub seen: Seen,
    /// What it held before.
    pub before: Holdings,
    /// And after.
    pub after: Holdings,
    /// How long clients came.
    pub time: Duration,
}

/// The requests of one server.
#[derive(Debug)]
pub struct Requests {
    /// How many came.
    pub started: u64,
    /// How they ended.
    pub ended: BTreeMap<End, u64>,
    /// Those that have no end.
    pub running: i64,
}

impl Requests {
    pub(super) fn of(counts: &Counts) -> Self {
        Self {
            started: counts.started(),
            ended: counts.ended(),
            running: counts.running(),
        }
    }

    fn answered(&self, status: u16) -> u64 {
        let answered = self.ended.get(&End::Answered(status));
        answered.copied().unwrap_or(0)
    }
}

/// What may be held at the end that was not at the beginning. Everything that grows with the number of requests is far
/// over it in a few seconds.
const SLACK: usize = 256 * 1024;
/// The same of pages, which the allocator does not give back at once.
const PAGES: usize = 32 * 1024 * 1024;

/// Collects what is not as it must be.
#[derive(Default)]
struct Audit(Vec<String>);

impl Audit {
    fn same(&mut self, what: &str, is: u64, should: u64) {
        if is != should {
            self.0.push(format!("{what}: {is}, should be {should}"));
        }
    }

    fn most(&mut self, what: &str, is: usize, most: usize) {
        if is > most {
            self.0
                .push(format!("{what}: {is}, should be {most} at most"));
        }
    }
}

impl Accounts {
    fn all(&self, fate: Fate) -> u64 {
        let of = self.clients.iter().filter(|(kind, _)| kind.fate() == fate);
        of.map(|(_, n)| n).sum()
    }

    /// Everything that is not as it must be; nothing, if all is well.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut audit = Audit(self.wrong.clone());
        let served = self.all(Fate::Served(1)) + 3 * self.all(Fate::Served(3));
        let (late, malformed) = (self.all(Fate::Late), self.all(Fate::Malformed));
        let (broken, left) = (self.all(Fate::BrokenBody), self.all(Fate::Left));
        let stopped = |cause| self.seen.stopped(FIRST, cause);
        for (name, requests) in [(FIRST, &self.first), (SECOND, &self.second)] {
            let ended = requests.ended.values().sum();
            let running = requests.running.unsigned_abs();
            audit.same(&format!("{name}: outcomes"), ended, requests.started);
            audit.same(&format!("{name}: running"), running, 0);
            // What is not an answer of the handler is a stop, and each stop is one event.
            let broken = if name == FIRST { broken } else { 0 };
            let stops = requests.started - requests.answered(200) - broken;
            audit.same(
                &format!("{name}: events"),
                self.seen.stopped_of(name),
                stops,
            );
        }
        audit.same("answered 200", self.first.answered(200), served);
        audit.same("answered 400", self.first.answered(400), malformed + broken);
        audit.same("malformed", stopped("bad_deadline"), malformed);
        let by_time = stopped("deadline_exceeded") + stopped("dependency_timeout");
        audit.same("stopped by time", by_time, late);
        // hyper may hear of a client that has gone together with its request, and then asks no service at all.
        let gone = stopped("client_cancelled");
        audit.same("left, at most", gone.max(left), left);
        let came = served + late + malformed + broken + gone;
        audit.same("started, by the clients", self.first.started, came);
        audit.same("at work", self.working.unsigned_abs(), 0);
        let (before, after) = (&self.before, &self.after);
        audit.most("tasks", after.tasks, before.tasks);
        audit.most("descriptors", after.descriptors, before.descriptors);
        audit.most("allocated", after.live, before.live + SLACK);
        audit.most("resident", after.resident, before.resident + PAGES);
        let leaks = self.seen.leaks.iter();
        audit.0.extend(leaks.map(|line| format!("logged: {line}")));
        audit.0
    }

    /// The accounts, for people.
    #[must_use]
    pub fn tables(&self) -> [Table; 3] {
        let title = format!(
            "{} requests in {} s of mixed load",
            self.first.started,
            self.time.as_secs()
        );
        let mut clients = Table::new(title, &["client", "times", "came of it"]);
        let done = self.clients.iter();
        let done = done.map(|(kind, n)| {
            [
                kind.name().to_owned(),
                n.to_string(),
                kind.right().join(" or "),
            ]
        });
        clients.rows([done.collect()]);

        let mut ends = Table::new("ends and events", &["server", "what", "requests"]);
        for (name, requests) in [(FIRST, &self.first), (SECOND, &self.second)] {
            let row = |what: String, n: &u64| [name.to_owned(), what, n.to_string()];
            let ended = requests.ended.iter();
            let stopped = self.seen.stopped.iter();
            let stopped = stopped.filter(|((server, _), _)| *server == name);
            ends.rows([
                vec![row("started".to_owned(), &requests.started)],
                ended.map(|(end, n)| row(end.to_string(), n)).collect(),
                stopped
                    .map(|((_, cause), n)| row(format!("event: {cause}"), n))
                    .collect(),
            ]);
        }

        let mut held = Table::new("held", &["what", "before", "after"]);
        let (before, after) = (&self.before, &self.after);
        let row = |name: &str, before: usize, after: usize| {
            [name.to_owned(), before.to_string(), after.to_string()]
        };
        let after_only =
            |name: &str, after: String| [name.to_owned(), "-".to_owned(), after.to_string()];
        let running = self.first.running + self.second.running;
        held.rows([vec![
            row("tasks", before.tasks, after.tasks),
            row("descriptors", before.descriptors, after.descriptors),
            row("allocated, KiB", before.live / 1024, after.live / 1024),
            row(
                "resident, KiB",
                before.resident / 1024,
                after.resident / 1024,
            ),
            after_only("requests running", running.to_string()),
            after_only("handlers and their tasks at work", self.working.to_string()),
            after_only("events", self.seen.events.to_string()),
            after_only(
                "events that say the secret",
                self.seen.leaks.len().to_string(),
            ),
            after_only("wrong answers", self.wrong.len().to_string()),
        ]]);
        [clients, ends, held]
    }
}
