//! What becomes of a commit over tokio-postgres, and who is told what about it.

mod postgres_common;
mod postgres_tokio_common;

use std::time::{Duration, Instant};

use deadline_runtime::data::tokio_postgres::{
    Connection, Error, Pool, Transaction, TransactionOptions,
};
use deadline_runtime::data::{CommitError, CommitOutcome, Policy, Resolution};
use deadline_runtime::{Budget, Cause, Context, Phase, Stopped};
use deadline_tests::events::Events;
use deadline_tests::proxy::Proxy;
use futures::SinkExt as _;
use postgres_common::{Db, ms, request, stop_of};
use postgres_tokio_common::{IDLE_IN_TRANSACTION, pool, pool_at};
use tokio_postgres::IsolationLevel;
use tokio_postgres::error::SqlState;

const SLACK: Duration = Duration::from_secs(1);

async fn table(db: &Db) {
    db.execute("CREATE TABLE t (v int)").await;
}

async fn rows(db: &Db) -> i64 {
    db.number("SELECT count(*) FROM t").await
}

/// A transaction of this request that has written one row.
async fn written(cx: &Context, pool: &Pool) -> Transaction<'static> {
    cx.run(async {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
        tx
    })
    .await
    .unwrap()
}

async fn still_works(cx: &Context, pool: &Pool) {
    let done = cx.run(pool.execute("SELECT 1", &[])).await;
    done.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_is_committed() {
    let db = Db::new().await;
    table(&db).await;
    let pool = pool(&db, 1);
    let cx = request(5_000);
    let tx = written(&cx, &pool).await;
    let outcome = cx.run(tx.commit_outcome()).await.unwrap();
    assert!(outcome.is_committed() && outcome.cause().is_none());
    assert_eq!(rows(&db).await, 1);
    // The connection is in the pool again, and not in a transaction.
    let second = cx.run(pool.execute("INSERT INTO t VALUES (2)", &[])).await;
    second.unwrap().unwrap();
    assert_eq!(rows(&db).await, 2);
    // One in which nothing was done has not even begun.
    let tx = cx.run(pool.begin()).await.unwrap().unwrap();
    assert!(cx.run(tx.commit_outcome()).await.unwrap().is_committed());
    assert_eq!((pool.status().size, db.in_transaction().await), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_transaction_is_never_reported_as_committed() {
    let db = Db::new().await;
    table(&db).await;
    let pool = pool(&db, 1);
    for with_deadline in [true, false] {
        let cx = if with_deadline {
            request(5_000)
        } else {
            Context::none()
        };
        let mut tx = written(&cx, &pool).await;
        // The error is ignored, as code does.
        let _ = cx.run(tx.execute("SELECT 1/0", &[])).await.unwrap();
        let outcome = cx.run(tx.commit_outcome()).await.unwrap();
        let CommitOutcome::NotCommitted(stopped) = &outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(
            (stopped.cause(), stopped.phase()),
            (Cause::DependencyFailed, Phase::Commit)
        );
        // Savepoints as well.
        let mut tx = written(&cx, &pool).await;
        cx.run(async {
            let mut part = tx.begin().await.unwrap();
            let _ = part.execute("SELECT 1/0", &[]).await;
            assert!(part.commit().await.is_err());
        })
        .await
        .unwrap();
        drop(tx);
    }
    // The statement's own limit has failed it, and nobody looked.
    let cx = request(5_000);
    let mut tx = written(&cx, &pool).await;
    let slow = tx.batch_execute("SET LOCAL statement_timeout = 20; SELECT pg_sleep(1)");
    let _ = cx.run(slow).await.unwrap();
    let error = cx.run(tx.commit()).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    // As the whole of a transaction that is committed in one step, too.
    let lean = pool_at(&db, db.server.address(), 1, Policy::new().resolvable(false));
    let mut tx = written(&cx, &lean).await;
    let _ = cx.run(tx.execute("SELECT 1/0", &[])).await.unwrap();
    let error = cx.run(tx.commit()).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    db.until("SELECT count(*) FROM t", 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_a_statement_has_ended_is_not_reported_as_committed() {
    let db = Db::new().await;
    table(&db).await;
    let pool = pool(&db, 1);
    for cx in [request(5_000), Context::none()] {
        let mut tx = written(&cx, &pool).await;
        cx.run(tx.batch_execute("ROLLBACK")).await.unwrap().unwrap();
        let outcome = cx.run(tx.commit_outcome()).await.unwrap();
        let CommitOutcome::NotCommitted(stopped) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(stopped.cause(), Cause::DependencyFailed);
        let why = std::error::Error::source(&stopped).unwrap().to_string();
        assert!(why.contains("has ended the transaction"), "{why}");
    }
    assert_eq!(rows(&db).await, 0);
    still_works(&request(5_000), &pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_deadline_a_commit_takes_its_time() {
    let db = Db::new().await;
    table(&db).await;
    slow_trigger(&db, "PERFORM pg_sleep(0.4)").await;
    let policy = Policy::new().connect(ms(100)).cleanup(ms(100));
    let policy = policy.resolvable(false);
    let pool = pool_at(&db, db.server.address(), 1, policy);
    let tx = written(&Context::none(), &pool).await;
    assert!(tx.commit_outcome().await.is_committed());
    assert_eq!(rows(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_deferred_trigger_is_not_taken_for_the_guards() {
    let db = Db::new().await;
    table(&db).await;
    slow_trigger(&db, "PERFORM 1/0").await;
    for resolvable in [true, false] {
        let policy = Policy::new().resolvable(resolvable);
        let pool = pool_at(&db, db.server.address(), 1, policy);
        let cx = request(20_000);
        let tx = written(&cx, &pool).await;
        let error = cx.run(tx.commit()).await.unwrap().unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    }
    assert_eq!(rows(&db).await, 0);
}

async fn slow_trigger(db: &Db, does: &str) {
    db.execute(&format!(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does}; RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()",
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_not_started_late() {
    let db = Db::new().await;
    table(&db).await;
    let policy = Policy::new().commit_min(ms(100));
    let pool = pool_at(&db, db.server.address(), 1, policy);
    let cx = request(5_000);
    let tx = written(&cx, &pool).await;
    let late = cx.child(Budget::new(ms(60)));
    let outcome = late.run(tx.commit_outcome()).await.unwrap();
    let CommitOutcome::NotCommitted(stopped) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::LocalBudgetRejected, Phase::Commit)
    );
    assert_eq!(stopped.needed().map(|(needs, _)| needs), Some(ms(100)));
    db.until(IDLE_IN_TRANSACTION, 0, SLACK).await;
    assert_eq!(rows(&db).await, 0);

    let cx = request(80);
    let tx = written(&cx, &pool).await;
    tokio::time::sleep(ms(100)).await;
    let outcome = tx.commit_outcome().await;
    assert_eq!(
        outcome.cause(),
        Some(Cause::DeadlineExceeded),
        "the transaction's own context counts where there is none"
    );
    assert!(matches!(outcome, CommitOutcome::NotCommitted(_)));
    assert_eq!(rows(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_deferred_trigger_is_never_a_false_commit() {
    let db = Db::new().await;
    table(&db).await;
    slow_trigger(&db, "PERFORM pg_sleep(0.4)").await;
    let pool = pool(&db, 1);
    let cx = request(100);
    let tx = written(&cx, &pool).await;
    let since = Instant::now();
    let outcome = tx.commit_outcome().await;
    assert!(since.elapsed() < ms(100) + SLACK, "{:?}", since.elapsed());
    assert!(
        matches!(outcome, CommitOutcome::NotCommitted(_)),
        "{outcome:?}"
    );
    assert_eq!(
        outcome.cause(),
        Some(Cause::DeadlineExceeded),
        "{outcome:?}"
    );
    tokio::time::sleep(ms(600)).await;
    assert_eq!(rows(&db).await, 0);
    // With the time for it, it is committed.
    let cx = request(10_000);
    let tx = written(&cx, &pool).await;
    assert!(cx.run(tx.commit_outcome()).await.unwrap().is_committed());
    assert_eq!(rows(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deferred_constraint_is_the_servers_own_error() {
    let db = Db::new().await;
    db.execute(
        "CREATE TABLE t (v int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES (1)",
    )
    .await;
    let pool = pool(&db, 1);
    let cx = request(5_000);
    let tx = written(&cx, &pool).await;
    let error = cx.run(tx.commit()).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    let tx = written(&cx, &pool).await;
    let outcome = cx.run(tx.commit_outcome()).await.unwrap();
    let CommitOutcome::NotCommitted(stopped) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(stopped.cause(), Cause::DependencyFailed);
    let source = std::error::Error::source(&stopped).unwrap();
    let source = source.downcast_ref::<Error>().unwrap();
    assert_eq!(source.code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(rows(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_clock_refuses_a_commit_that_arrives_late() {
    let db = Db::new().await;
    table(&db).await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new().resolvable(false));
    let cx = request(400);
    let mut tx = written(&cx, &pool).await;
    cx.run(tx.execute("SELECT 1", &[])).await.unwrap().unwrap();
    proxy.hold_request("COMMIT");
    let outcome = cx.enter(|| tx.commit_outcome()).await;
    let CommitOutcome::Unknown(unknown) = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (unknown.stopped().cause(), unknown.stopped().phase()),
        (Cause::DeadlineExceeded, Phase::Commit)
    );
    assert_eq!(unknown.transaction(), None);
    proxy.release();
    db.until(IDLE_IN_TRANSACTION, 0, Duration::from_secs(3))
        .await;
    assert_eq!(rows(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_resolved_rightly_both_ways() {
    let db = Db::new().await;
    table(&db).await;
    let proxy = Proxy::start(db.server.address()).await;
    // The transaction goes through the proxy; so does the control connection, which the cut does not meet.
    let pool = pool_at(&db, proxy.address(), 1, Policy::new());
    for happened in [true, false] {
        let before = rows(&db).await;
        let cx = request(5_000);
        let tx = written(&cx, &pool).await;
        if happened {
            proxy.lose_reply_to("COMMIT");
        } else {
            proxy.lose_request("COMMIT");
        }
        // With time left the server is asked at once.
        let outcome = cx.run(tx.commit_outcome()).await.unwrap();
        if happened {
            assert!(outcome.is_committed(), "{outcome:?}");
        } else {
            let CommitOutcome::NotCommitted(stopped) = outcome else {
                panic!("{outcome:?}");
            };
            assert_eq!(stopped.cause(), Cause::DependencyFailed);
        }
        assert_eq!(rows(&db).await, before + i64::from(happened));
        // And the pool is healthy.
        still_works(&cx, &pool).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_come_is_unknown_until_somebody_asks() {
    let db = Db::new().await;
    table(&db).await;
    for happened in [true, false] {
        let proxy = Proxy::start(db.server.address()).await;
        let pool = pool_at(&db, proxy.address(), 1, Policy::new());
        let before = rows(&db).await;
        let cx = request(300);
        let tx = written(&cx, &pool).await;
        if happened {
            proxy.swallow_reply_to("COMMIT");
        } else {
            proxy.hold_request("COMMIT");
        }
        let since = Instant::now();
        let outcome = tx.commit_outcome().await;
        assert!(since.elapsed() < ms(300) + SLACK, "{:?}", since.elapsed());
        let CommitOutcome::Unknown(unknown) = &outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(unknown.stopped().cause(), Cause::DeadlineExceeded);
        assert!(unknown.transaction().is_some());
        // As an error it says so, and is found.
        let resolved = pool.resolve(unknown).await.unwrap();
        let error = Error::from(outcome.into_result().unwrap_err());
        assert!(matches!(
            CommitError::find(&error),
            Some(CommitError::Unknown(_))
        ));
        assert_eq!(stop_of(&error).0, Cause::DeadlineExceeded);
        assert!(
            error
                .to_string()
                .contains("outcome of the commit unknown (transaction "),
            "{error}"
        );
        if happened {
            assert_eq!(resolved, Resolution::Committed);
        } else {
            // It sits before the server, whose clock refuses it when it comes.
            assert_ne!(resolved, Resolution::Committed);
            proxy.release();
        }
        db.until(IDLE_IN_TRANSACTION, 0, Duration::from_secs(5))
            .await;
        assert_eq!(rows(&db).await, before + i64::from(happened));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_not_dropped_with_whoever_waits_for_it() {
    let db = Db::new().await;
    table(&db).await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new().resolvable(false));
    let events = Events::listen();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(5_000)))
        .request_id("leaves")
        .build();
    let tx = written(&cx, &pool).await;
    proxy.delay_replies(ms(100));
    let commit = cx.run(tx.commit_outcome());
    assert!(tokio::time::timeout(ms(50), commit).await.is_err());
    db.until("SELECT count(*) FROM t", 1, Duration::from_secs(2))
        .await;
    proxy.delay_replies(Duration::ZERO);
    // Somebody may want to know all the same.
    let told = || {
        let all = events.about("");
        let told = all
            .iter()
            .find(|event| event.get("transaction").starts_with("leaves#"));
        told.map(|event| event.get("outcome").to_owned())
    };
    let since = Instant::now();
    while told().is_none() && since.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(ms(5)).await;
    }
    assert_eq!(told().as_deref(), Some("committed"));
    let one = pool.query_one("SELECT 1", &[]).await.unwrap();
    assert_eq!((one.get::<_, i32>(0), db.in_transaction().await), (1, 0));
    assert_eq!(pool.status().size, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_down_with_a_commit_is_no_guess() {
    let db = Db::new().await;
    table(&db).await;
    let pool = pool(&db, 1);
    let cx = request(5_000);
    let tx = written(&cx, &pool).await;
    db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'deadline#%'").await;
    let outcome = cx.run(tx.commit_outcome()).await.unwrap();
    // Before the commit was sent.
    assert!(
        matches!(outcome, CommitOutcome::NotCommitted(_)),
        "{outcome:?}"
    );
    assert_eq!(rows(&db).await, 0);
    still_works(&cx, &pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commit_of_a_single_query_has_an_outcome_too() {
    let db = Db::new().await;
    table(&db).await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new());
    let cx = request(5_000);
    proxy.lose_reply_to("COMMIT");
    let inserted = cx.run(pool.execute("INSERT INTO t VALUES (1)", &[])).await;
    let error = inserted.unwrap().unwrap_err();
    assert!(
        matches!(CommitError::find(&error), Some(CommitError::Unknown(_))),
        "{error:?}"
    );
    assert!(Stopped::find(&error).is_some());
    assert_eq!(rows(&db).await, 1);
}

/// A charge with the key its client chose: once, whatever becomes of the answers.
async fn charge(pool: &Pool, key: &str, cents: i64) -> Result<i64, Error> {
    let mut tx = pool.begin().await?;
    let first = tx
        .execute(
            "INSERT INTO charges (key, cents) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
            &[&key, &cents],
        )
        .await?;
    if first == 1 {
        tx.execute("UPDATE balance SET cents = cents - 100", &[])
            .await?;
    }
    let charged = tx
        .query_one("SELECT cents FROM charges WHERE key = $1", &[&key])
        .await?;
    tx.commit().await?;
    Ok(charged.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_after_an_unknown_commit_has_one_effect() {
    let db = Db::new().await;
    db.execute("CREATE TABLE charges (key text PRIMARY KEY, cents bigint); CREATE TABLE balance (cents bigint); INSERT INTO balance VALUES (1000)").await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new().resolvable(false));
    for lost_answer in [true, false] {
        let key = format!("key {lost_answer}");
        if lost_answer {
            proxy.lose_reply_to("COMMIT");
        } else {
            proxy.lose_request("COMMIT");
        }
        let before = db.number("SELECT cents FROM balance").await;
        let charged = request(5_000).run(charge(&pool, &key, 100)).await;
        let error = charged.unwrap().unwrap_err();
        assert!(matches!(
            CommitError::find(&error),
            Some(CommitError::Unknown(_))
        ));
        // The client repeats it with the same key.
        for _ in 0..2 {
            let charged = request(5_000).run(charge(&pool, &key, 100)).await;
            assert_eq!(charged.unwrap().unwrap(), 100);
        }
        assert_eq!(db.number("SELECT cents FROM balance").await, before - 100);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_other_way_runs_on_the_drivers_client() {
    let db = Db::new().await;
    table(&db).await;
    let pool = pool(&db, 1);
    let cx = request(5_000);
    cx.run(async {
        let mut tx = pool.begin().await.unwrap();
        let copy = tx.client().await.unwrap().copy_in("COPY t FROM STDIN");
        let mut copy = Box::pin(copy.await.unwrap());
        copy.send(bytes::Bytes::from_static(b"1\n2\n3\n"))
            .await
            .unwrap();
        assert_eq!(copy.as_mut().finish().await.unwrap(), 3);
        assert!(tx.commit_outcome().await.is_committed());
        // One that is left in the middle.
        let mut tx = pool.begin().await.unwrap();
        let copy = tx.client().await.unwrap().copy_in("COPY t FROM STDIN");
        let mut copy = Box::pin(copy.await.unwrap());
        copy.send(bytes::Bytes::from_static(b"4\n")).await.unwrap();
    })
    .await
    .unwrap();
    still_works(&cx, &pool).await;
    assert_eq!(rows(&db).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_serialized_is_tried_again_within_the_budget() {
    let db = Db::new().await;
    db.execute("CREATE TABLE n (id int PRIMARY KEY, v int); INSERT INTO n VALUES (1, 0)")
        .await;
    let pool = pool_at(&db, db.server.address(), 8, Policy::new().attempts(100));
    let increments = (0..8).map(|_| {
        let pool = pool.clone();
        // In tasks, as handlers run.
        tokio::spawn(async move {
            let cx = request(20_000);
            cx.run(async {
                let add = async |tx: &mut Connection| {
                    let row = tx.query_one("SELECT v FROM n WHERE id = 1", &[]).await?;
                    tx.execute("SELECT pg_sleep(0.002)", &[]).await?;
                    let v: i32 = row.get(0);
                    tx.execute("UPDATE n SET v = $1 WHERE id = 1", &[&(v + 1)])
                        .await
                };
                let options = TransactionOptions::new();
                let options = options.isolation_level(IsolationLevel::Serializable);
                pool.transaction_with(options, add).await
            })
            .await
        })
    });
    for done in futures::future::join_all(increments).await {
        assert_eq!(done.unwrap().unwrap().unwrap(), 1);
    }
    assert_eq!(db.number("SELECT v::bigint FROM n").await, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_would_not_fit_is_not_made() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let mut attempts = 0;
    let since = Instant::now();
    let tried = request(2_000)
        .run(pool.transaction(async |tx: &mut Connection| {
            attempts += 1;
            tx.execute("SELECT pg_sleep(0.8)", &[]).await?;
            tx.batch_execute("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$")
                .await
        }))
        .await;
    let error = tried.unwrap().unwrap_err();
    assert_eq!(attempts, 2);
    assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
    assert!(since.elapsed() < ms(2_000), "it did not wait for the end");
    // Other errors are not tried again.
    let mut attempts = 0;
    let failed = pool
        .transaction(async |tx: &mut Connection| {
            attempts += 1;
            tx.execute("SELECT 1/0", &[]).await
        })
        .await;
    assert_eq!((failed.is_err(), attempts), (true, 1));
}
