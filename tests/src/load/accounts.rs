//! [`Accounts`]: what came of a load, and whether it balances.

use std::collections::BTreeMap;
use std::time::Duration;

use deadline_runtime::TrackerStats;
use deadline_runtime::admission::AdmissionStats;

use super::clients::{Fate, Kind};
use super::probe::{Counts, End};
use super::process::Holdings;
use super::service::{FIRST, GRPC, SECOND};
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
    /// Those of the one that speaks gRPC.
    pub calls: Requests,
    /// Handlers, and tasks of handlers, that have no end.
    pub working: i64,
    /// What runs by the runtime's own count.
    pub tracked: TrackerStats,
    /// Who was let in at the first server.
    pub admitted: AdmissionStats,
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
        for (name, requests) in self.servers() {
            let ended = requests.ended.values().sum();
            let running = requests.running.unsigned_abs();
            audit.same(&format!("{name}: outcomes"), ended, requests.started);
            audit.same(&format!("{name}: running"), running, 0);
        }
        self.audit_first(&mut audit);
        // Whatever the second does not answer is a stop, and each stop is one event.
        let stops = self.second.started - self.second.answered(200);
        audit.same("second: events", self.seen.stopped_of(SECOND), stops);
        self.audit_calls(&mut audit);
        audit.same("at work", self.working.unsigned_abs(), 0);
        if !self.tracked.is_idle() {
            audit.0.push(format!("tracked: {}", self.tracked));
        }
        let admitted = &self.admitted;
        audit.most("slots in use", admitted.in_use + admitted.waiting, 0);
        // Who is stopped or gone by the time of his turn was not refused.
        audit.same(
            "let in or left",
            admitted.admitted + admitted.left,
            admitted.came,
        );
        audit.same("refused", admitted.refused(), 0);
        let (before, after) = (&self.before, &self.after);
        audit.most("tasks", after.tasks, before.tasks);
        audit.most("descriptors", after.descriptors, before.descriptors);
        audit.most("allocated", after.live, before.live + SLACK);
        audit.most("resident", after.resident, before.resident + PAGES);
        let leaks = self.seen.leaks.iter();
        audit.0.extend(leaks.map(|line| format!("logged: {line}")));
        audit.0
    }

    fn audit_first(&self, audit: &mut Audit) {
        let stopped = |cause| self.seen.stopped(FIRST, cause);
        let served = self.all(Fate::Served(1)) + 3 * self.all(Fate::Served(3));
        let (late, malformed) = (self.all(Fate::Late), self.all(Fate::Malformed));
        let (broken, left) = (self.all(Fate::BrokenBody), self.all(Fate::Left));
        audit.same("answered 200", self.first.answered(200), served);
        audit.same("answered 400", self.first.answered(400), malformed + broken);
        audit.same("malformed", stopped("bad_deadline"), malformed);
        audit.same("stopped by time", self.stopped_by_time(FIRST), late);
        // hyper may hear of a client that has gone together with its request, and then asks no service at all.
        let gone = stopped("client_cancelled");
        audit.same("left, at most", gone.max(left), left);
        audit.same(
            "events",
            self.seen.stopped_of(FIRST),
            malformed + late + gone,
        );
        let came = served + late + malformed + broken + gone;
        audit.same("started, by the clients", self.first.started, came);
    }

    fn audit_calls(&self, audit: &mut Audit) {
        let stopped = |cause| self.seen.stopped(GRPC, cause);
        let (called, late) = (self.all(Fate::Called), self.all(Fate::CallLate));
        let (malformed, left) = (self.all(Fate::CallMalformed), self.all(Fate::CallCancelled));
        audit.same("calls: malformed", stopped("bad_deadline"), malformed);
        // On a busy machine a caller may be the first to notice; and a call that ends before it was sent is none.
        let (by_time, gone) = (self.stopped_by_time(GRPC), stopped("client_cancelled"));
        audit.same("calls: stopped by time, at most", by_time.max(late), late);
        let events = malformed + by_time + gone;
        audit.same(
            "calls: stopped, at most",
            events.max(malformed + late + left),
            malformed + late + left,
        );
        audit.same("calls: events", self.seen.stopped_of(GRPC), events);
        // One whose reset comes before its message is answered by tonic, to nobody.
        let failing = |(end, n): (&End, &u64)| matches!(end, End::Failing(_)).then_some(*n);
        let broken: u64 = self.calls.ended.iter().filter_map(failing).sum();
        audit.same(
            "calls: broken, at most",
            broken.max(late + left),
            late + left,
        );
        audit.same(
            "calls: started",
            self.calls.started,
            called + events + broken,
        );
    }

    fn stopped_by_time(&self, server: &'static str) -> u64 {
        let causes = [
            "deadline_exceeded",
            "dependency_timeout",
            "local_budget_rejected",
        ];
        causes
            .map(|cause| self.seen.stopped(server, cause))
            .iter()
            .sum()
    }

    const fn servers(&self) -> [(&'static str, &Requests); 3] {
        [
            (FIRST, &self.first),
            (SECOND, &self.second),
            (GRPC, &self.calls),
        ]
    }

    /// The accounts, for people.
    #[must_use]
    pub fn tables(&self) -> [Table; 3] {
        let title = format!(
            "{} requests and calls in {} s of mixed load",
            self.first.started + self.calls.started,
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
        for (name, requests) in self.servers() {
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
        let after_only = |name: &str, after: String| [name.to_owned(), "-".to_owned(), after];
        let running: i64 = self
            .servers()
            .iter()
            .map(|(_, requests)| requests.running)
            .sum();
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
            after_only("runs, by the tracker", self.tracked.to_string()),
            after_only("slots in use", self.admitted.in_use.to_string()),
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
