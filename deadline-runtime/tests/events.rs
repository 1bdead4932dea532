//! What the crate says: one INFO a stopped request, DEBUG a scope, and destructors that log see the context.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;
#[path = "common/silent.rs"]
mod silent;

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};

use common::{ms, poll_here};
use deadline_runtime::{Budget, Cause, Context, Millis, Mode, Stopped, Unbudgeted};
use tokio::time::sleep;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

type Forever = Result<(), Stopped>;

#[derive(Clone, Debug)]
struct Line {
    level: Level,
    target: String,
    fields: BTreeMap<&'static str, String>,
    /// What was left in the context in which it was logged.
    left: Option<std::time::Duration>,
}

impl Line {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Line>>>);

impl Log {
    fn lines(&self, level: Level) -> Vec<Line> {
        let all = self.0.lock().unwrap();
        all.iter()
            .filter(|line| line.level == level && line.target == "deadline")
            .cloned()
            .collect()
    }

    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        silent::somebody_listens();
        let log = Self::default();
        let guard = tracing::subscriber::set_default(Collect(log.clone()));
        (log, guard)
    }
}

struct Collect(Log);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Collect {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        // A subscriber that asks for the context, wherever it is called.
        let left = Context::current().remaining();
        let mut line = Line {
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            fields: BTreeMap::new(),
            left,
        };
        event.record(&mut line);
        self.0.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn request() -> Context {
    Context::builder("request")
        .budget(Budget::new(ms(100)))
        .request_id("r-7")
        .build()
}

#[tokio::test(start_paused = true)]
async fn a_stopped_request_is_one_info_whoever_reports_the_stop() {
    let (log, _guard) = Log::start();
    // The request's own run; what is inside knows nothing of deadlines.
    let cx = request();
    let _ = cx.run(pending::<()>()).await;
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    let expected = [
        ("cause", "deadline_exceeded"),
        ("phase", "wait"),
        ("op", "request"),
        ("limited_by", "request"),
        ("budget", "100ms"),
        ("elapsed", "100ms"),
        ("late_by", ""),
        ("request_id", "r-7"),
        ("message", "deadline_exceeded"),
    ];
    for (name, value) in expected {
        assert_eq!(line.field(name), value, "{name}");
    }
    assert!(line.field("file").ends_with("events.rs"));
    assert!(line.field("line").parse::<u32>().unwrap() > 0);

    // The innermost scope sees it first, and the outer ones hand its error on.
    let (log, _guard) = Log::start();
    let cx = request();
    let outcome: Result<Result<(), Stopped>, Stopped> = cx
        .run(scoped!(Unbudgeted, "outer", {
            await_!(scoped!(Unbudgeted, "inner", {
                await_!(pending::<Forever>())
            }))
        }))
        .await;
    assert!(outcome.unwrap().is_err());
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].field("op"), lines[0].field("limited_by")),
        ("inner", "request")
    );
    assert_eq!(lines[0].field("request_id"), "r-7");
    // And one DEBUG for each scope below.
    let ops: Vec<_> = log
        .lines(Level::DEBUG)
        .iter()
        .map(|line| (line.field("op").to_owned(), line.field("cause").to_owned()))
        .collect();
    assert_eq!(
        ops,
        [
            ("inner".to_owned(), "deadline_exceeded".to_owned()),
            ("outer".to_owned(), String::new()),
        ]
    );

    // An outermost function without any request.
    let (log, _guard) = Log::start();
    let outcome: Forever = scoped!(Millis<30>, "outer", {
        await_!(scoped!(Unbudgeted, "inner", {
            await_!(pending::<Forever>())
        }))
    })
    .await;
    assert!(outcome.is_err());
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].field("op"), "inner");

    // A cancel.
    let (log, _guard) = Log::start();
    let cx = request();
    let task = tokio::spawn(cx.run(scoped!(Unbudgeted, "inner", {
        await_!(pending::<Forever>())
    })));
    sleep(ms(10)).await;
    cx.cancel(Cause::ClientCancelled);
    assert!(task.await.unwrap().unwrap().is_err());
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].field("cause"), "client_cancelled");
}

#[tokio::test(start_paused = true)]
async fn two_outermost_scopes_of_one_request_tell_once() {
    let (log, _guard) = Log::start();
    let cx = request();
    let _ = futures::future::join(cx.run(pending::<()>()), cx.run(pending::<()>())).await;
    assert_eq!(log.lines(Level::INFO).len(), 1);
    assert_eq!(log.lines(Level::DEBUG).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_answered_is_no_info() {
    let (log, _guard) = Log::start();
    let cx = request();
    let outcome: Result<Result<(), Stopped>, Stopped> = cx
        .run(scoped!(Unbudgeted, "outer", {
            // A dependency of its own budget, handled.
            let slow = scoped!(Millis<10>, "slow", { await_!(pending::<Forever>()) });
            assert!(await_!(slow).is_err());
            // A loser of a race, cancelled by the program.
            let loser = tokio::spawn(scoped!(Unbudgeted, "loser", {
                Context::current().cancel(Cause::Superseded);
                await_!(pending::<Forever>())
            }));
            assert!(loser.await.unwrap().is_err());
            Ok(())
        }))
        .await;
    outcome.unwrap().unwrap();
    assert!(log.lines(Level::INFO).is_empty());
    assert_eq!(log.lines(Level::DEBUG).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn dropped_and_late_ones_are_told() {
    let (log, _guard) = Log::start();
    let cx = request();
    {
        let mut run = Box::pin(cx.run(scoped!(Unbudgeted, "inner", {
            await_!(pending::<Forever>())
        })));
        assert!(poll_here(run.as_mut()).await.is_pending());
        sleep(ms(20)).await;
    }
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].field("cause"), lines[0].field("elapsed")),
        ("abandoned", "20ms")
    );

    let (log, _guard) = Log::start();
    let cx = request();
    let value = cx
        .run(async {
            tokio::time::advance(ms(130)).await;
            1
        })
        .await;
    assert_eq!(value.unwrap(), 1);
    assert!(log.lines(Level::INFO).is_empty());
    let lines = log.lines(Level::DEBUG);
    assert_eq!(lines[0].field("late_by"), "30ms");
    assert_eq!(lines[0].field("message"), "late by 30ms");
}

#[tokio::test(start_paused = true)]
async fn destructors_of_a_stopped_body_log_inside_the_context() {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            tracing::warn!(target: "guard", "rolled back");
        }
    }
    let (log, _guard) = Log::start();
    let outside = Context::root("outside", Budget::new(ms(900)));
    let outcome = outside
        .run(async {
            let cx = Context::root("request", Budget::new(ms(100)));
            // Stopped, and dropped from outside: both ways.
            let stopped = cx.run(async {
                let _guard = Guard;
                pending::<()>().await
            });
            assert!(stopped.await.is_err());
            let cx = Context::root("request", Budget::new(ms(100)));
            let mut dropped = Box::pin(cx.run(async {
                let _guard = Guard;
                pending::<()>().await
            }));
            assert!(poll_here(dropped.as_mut()).await.is_pending());
            sleep(ms(60)).await;
            drop(dropped);
            tracing::warn!(target: "guard", "outside");
        })
        .await;
    outcome.unwrap();
    let lines = log.0.lock().unwrap().clone();
    let left: Vec<_> = lines
        .iter()
        .filter(|line| line.target == "guard")
        .map(|line| line.left)
        .collect();
    assert_eq!(left, [Some(ms(0)), Some(ms(40)), Some(ms(740))]);
}

#[tokio::test(start_paused = true)]
async fn observing_tells_what_would_have_been() {
    let (log, _guard) = Log::start();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .mode(Mode::Observe)
        .build();
    cx.run(sleep(ms(130))).await.unwrap();
    let lines = log.lines(Level::INFO);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(line.field("message"), "would stop, 30ms over");
    assert_eq!(
        (line.field("cause"), line.field("op"), line.field("late_by")),
        ("deadline_exceeded", "request", "30ms")
    );
    // In time: nothing to tell.
    let (log, _guard) = Log::start();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .mode(Mode::Observe)
        .build();
    cx.run(sleep(ms(30))).await.unwrap();
    assert!(log.lines(Level::INFO).is_empty());
    // Off: not a word.
    let (log, _guard) = Log::start();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .mode(Mode::Off)
        .build();
    cx.run(sleep(ms(130))).await.unwrap();
    assert!(log.0.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn work_without_any_deadline_is_told_and_counted() {
    let (log, _guard) = Log::start();
    let cx = Context::builder("job").report(true).build();
    let outcome: Result<Result<(), Stopped>, Stopped> =
        cx.run(scoped!(Unbudgeted, "work", { Ok(()) })).await;
    outcome.unwrap().unwrap();
    assert_eq!(cx.report().unwrap().unbounded, 2);
    let outside: Result<(), Stopped> = scoped!(Unbudgeted, "outside", { Ok(()) }).await;
    outside.unwrap();
    let told: Vec<_> = log
        .lines(Level::DEBUG)
        .iter()
        .filter(|line| line.field("message") == "no deadline in scope")
        .map(|line| line.field("op").to_owned())
        .collect();
    assert_eq!(told, ["job", "work", "outside"]);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_one_debug_event_and_so_is_what_follows_from_it() {
    use deadline_runtime::hedge::Hedge;
    let (log, _guard) = Log::start();
    let outcome: Result<u32, Stopped> = request()
        .run(
            Hedge::idempotent("quote", ms(10))
                .attempts(3)
                .min_attempt(ms(85))
                .run(|attempt| async move {
                    sleep(ms(20)).await;
                    Ok(attempt.number)
                }),
        )
        .await
        .unwrap();
    assert_eq!(outcome.unwrap(), 1);
    let attempts: Vec<_> = log
        .lines(Level::DEBUG)
        .into_iter()
        .filter(|line| line.fields.contains_key("attempt"))
        .map(|line| {
            let number = line.field("attempt").to_owned();
            (number, line.field("message").to_owned())
        })
        .collect();
    let expected = [
        ("1", "attempt 1 succeeded"),
        ("2", "attempt 2 cancelled: superseded"),
    ];
    assert_eq!(
        attempts,
        expected.map(|(n, m)| (n.to_owned(), m.to_owned()))
    );
    assert!(log.lines(Level::INFO).is_empty());
}

/// What a request leaves behind is told apart from its own end, which stays one event.
#[tokio::test(start_paused = true)]
async fn tasks_hooks_and_critical_work_of_a_stopped_request_are_no_second_info() {
    let (log, _guard) = Log::start();
    let cx = request();
    let inside = cx.clone();
    let outcome = cx.run(async move {
        drop(inside.spawn(|_| pending::<()>()));
        drop(inside.critical("journal", ms(150), |_| pending::<()>()));
        drop(inside.critical("note", ms(150), |_| async {}));
        inside.after_stop("unlock", |_| async {});
        inside.after_stop("undo", |_| async { Err::<(), _>("no connection") });
        pending::<()>().await
    });
    assert_eq!(outcome.await.unwrap_err().cause(), Cause::DeadlineExceeded);
    sleep(ms(200)).await;
    let infos = log.lines(Level::INFO);
    let infos: Vec<_> = infos.iter().map(|line| line.field("op")).collect();
    assert_eq!(infos, ["request"]);
    let warnings = log.lines(Level::WARN);
    let warnings: Vec<_> = warnings
        .iter()
        .map(|line| {
            (
                line.field("op"),
                line.field("request_id"),
                line.field("message"),
            )
        })
        .collect();
    assert_eq!(
        warnings,
        [
            ("undo", "r-7", "after-stop hook failed: no connection"),
            (
                "journal",
                "r-7",
                "critical work was stopped by its own budget"
            ),
        ]
    );
    let debugs = log.lines(Level::DEBUG);
    assert!(
        debugs.iter().any(|line| line.field("op") == "unlock"
            && line.field("message") == "after-stop hook completed")
    );
}
