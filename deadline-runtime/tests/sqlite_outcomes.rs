//! What was committed, and what is known of it: every outcome is compared with the rows that are there afterwards.
#![cfg(feature = "sqlite")]

mod sqlite_support;

use std::time::{Duration, Instant};

use deadline_runtime::data::sqlite::rusqlite::{self, Connection};
use deadline_runtime::data::sqlite::{Error, PoolOptions};
use deadline_runtime::data::{CommitError, CommitOutcome, Policy};
use deadline_runtime::{Budget, Cause, Phase, Stopped, deadline};
use sqlite_support::{FOR_EVER, File, about, insert, ms, request, settled};

fn not_committed(outcome: CommitOutcome) -> Stopped {
    match outcome {
        CommitOutcome::NotCommitted(stopped) => stopped,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_commit_is_refused_after_expiry_and_below_its_minimum() {
    let file = File::new("refused");
    let options = PoolOptions::new()
        .max_connections(1)
        .policy(Policy::new().commit_min(ms(5_000)));
    let pool = options.open(file.path()).await.unwrap();
    for (left, cause) in [
        (0, Cause::DeadlineExceeded),
        (4_999, Cause::LocalBudgetRejected),
    ] {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
            .await
            .unwrap();
        let cx = request(left);
        let stopped = not_committed(cx.enter(|| tx.commit_outcome()).await);
        assert_eq!((stopped.cause(), stopped.phase()), (cause, Phase::Start));
        settled(&pool).await;
        assert_eq!(file.rows(), 0);
    }
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
        .await
        .unwrap();
    assert!(
        request(60_000)
            .enter(|| tx.commit_outcome())
            .await
            .is_committed()
    );
    assert_eq!(file.rows(), 1);
}

#[tokio::test]
async fn a_commit_that_waits_for_a_reader_gives_up_at_the_deadline() {
    let file = File::new("reader");
    let pool = file.pool(1).await;
    let reader = file.connection();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM rows")
        .unwrap();
    // The shared lock is held while the query is open.
    let mut open = reader
        .prepare("SELECT 1 FROM rows UNION ALL SELECT 2")
        .unwrap();
    let mut rows = open.query(()).unwrap();
    rows.next().unwrap();

    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
        .await
        .unwrap();
    let start = Instant::now();
    let cx = request(100);
    let outcome = cx.enter(|| tx.commit_outcome()).await;
    about(start, 100);
    let stopped = not_committed(outcome);
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Commit)
    );
    settled(&pool).await;
    drop(rows);
    drop(open);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(file.rows(), 0);
    assert_eq!(insert(&pool).await.unwrap(), 1);
}

#[tokio::test]
async fn what_sqlite_refuses_at_the_commit_is_not_committed_and_its_error_is_the_source() {
    let file = File::new("deferred");
    let pool = file.pool(1).await;
    let schema = "CREATE TABLE parts (row INTEGER NOT NULL REFERENCES rows (id) DEFERRABLE INITIALLY DEFERRED)";
    pool.execute(schema, ()).await.unwrap();
    pool.run(|connection| connection.execute_batch("PRAGMA foreign_keys = ON"))
        .await
        .unwrap();
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
        .await
        .unwrap();
    tx.execute("INSERT INTO parts VALUES (99)", ())
        .await
        .unwrap();
    let outcome = tx.commit_outcome().await;
    assert_eq!(outcome.cause(), Some(Cause::DependencyFailed));
    let error = Error::from(outcome.into_result().unwrap_err());
    assert!(matches!(
        CommitError::find(&error),
        Some(CommitError::NotCommitted(_))
    ));
    let stopped = Stopped::find(&error).unwrap();
    let source = std::error::Error::source(stopped).map(ToString::to_string);
    assert_eq!(
        source.as_deref(),
        Some("sqlite: FOREIGN KEY constraint failed")
    );
    settled(&pool).await;
    assert_eq!(file.rows(), 0);
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO parts VALUES (99)", ())
        .await
        .unwrap();
    assert!(matches!(tx.commit().await, Err(Error::Sqlite(_))));
    assert_eq!(insert(&pool).await.unwrap(), 1);
}

/// Whatever the moment: committed means that the row is there, not committed that it is not and never will be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_true_whenever_the_cancel_comes() {
    let file = File::new("outcomes");
    let pool = file.pool(1).await;
    // What a commit takes here, so that the cancels fall around its end.
    let mut usual = Duration::ZERO;
    for _ in 0..10 {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
            .await
            .unwrap();
        let start = Instant::now();
        tx.commit().await.unwrap();
        usual += start.elapsed() / 10;
    }
    let (mut committed, mut not, mut unknown) = (0, 0, 0);
    for round in 0..200u32 {
        let before = file.rows();
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
            .await
            .unwrap();
        let cx = request(60_000);
        let start = Instant::now();
        let at = start + usual * (round % 20) / 8;
        let cancel = tokio::task::spawn_blocking({
            let cx = cx.clone();
            move || {
                while Instant::now() < at {
                    std::hint::spin_loop();
                }
                cx.cancel(Cause::UserCancelled);
            }
        });
        let commit = cx.enter(|| tx.commit_outcome());
        let outcome = commit.await;
        cancel.await.unwrap();
        settled(&pool).await;
        let written = file.rows() - before;
        match outcome {
            CommitOutcome::Committed => {
                assert_eq!(written, 1, "round {round}");
                committed += 1;
            }
            CommitOutcome::NotCommitted(stopped) => {
                assert_eq!(written, 0, "round {round}");
                assert_eq!(stopped.cause(), Cause::UserCancelled);
                not += 1;
            }
            CommitOutcome::Unknown(doubt) => {
                assert_eq!(doubt.stopped().cause(), Cause::UserCancelled);
                unknown += 1;
            }
        }
    }
    assert!(
        committed > 0 && not + unknown > 0,
        "{committed}, {not}, {unknown}: nothing raced"
    );
}

/// The hook of the log runs when the commit is durable and before it returns.
fn slow_commits(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA journal_mode = WAL")?;
    connection.wal_hook(Some(|_, _| {
        std::thread::sleep(ms(1_200));
        Ok(())
    }));
    Ok(())
}

#[tokio::test]
async fn a_commit_that_is_under_way_at_the_deadline_is_unknown_and_goes_on() {
    let file = File::new("under-way");
    let options = PoolOptions::new().max_connections(1).on_open(slow_commits);
    let pool = options.open(file.path()).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
        .await
        .unwrap();
    let start = Instant::now();
    let cx = request(500);
    let outcome = cx.enter(|| tx.commit_outcome()).await;
    about(start, 500);
    let CommitOutcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(unknown.stopped().cause(), Cause::DeadlineExceeded);
    assert_eq!(unknown.stopped().phase(), Phase::Commit);
    assert_eq!(unknown.transaction(), None);
    settled(&pool).await;
    about(start, 1_200);
    assert_eq!((file.rows(), pool.num_idle()), (1, 1));

    // A statement outside a transaction commits as well.
    let written = request(500).run(async { insert(&pool).await }).await;
    let error = written.unwrap().unwrap_err();
    let unknown = CommitError::find(&error);
    assert!(matches!(unknown, Some(CommitError::Unknown(_))), "{error}");
    settled(&pool).await;
    assert_eq!(file.rows(), 2);
}

#[tokio::test]
async fn a_dropped_commit_ends_by_itself_and_frees_everything() {
    let file = File::new("dropped-commit");
    let pool = file.pool(1).await;
    for wait in 0..50 {
        let before = file.rows();
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
            .await
            .unwrap();
        let commit = tokio::time::timeout(Duration::from_micros(wait * 50), tx.commit_outcome());
        let known = commit.await.is_ok_and(|outcome| outcome.is_committed());
        settled(&pool).await;
        assert!(!known || file.rows() == before + 1);
        assert!(
            !pool
                .run(|connection| Ok(!connection.is_autocommit()))
                .await
                .unwrap()
        );
    }
}

#[tokio::test]
async fn a_write_outside_a_transaction_is_not_committed_after_expiry() {
    let file = File::new("plain");
    let pool = file.pool(1).await;
    // Prepared in time, executed too late: only the commit itself can refuse it.
    let late = request(50).run(async {
        pool.run(|connection| {
            let mut insert = connection.prepare("INSERT INTO rows (text) VALUES ('late')")?;
            std::thread::sleep(ms(100));
            insert.execute(())
        })
        .await
    });
    let error = late.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Stopped(stopped) if stopped.cause() == Cause::DeadlineExceeded),
        "{error:?}"
    );
    settled(&pool).await;
    assert_eq!(file.rows(), 0);
}

/// The one who waits cannot leave in time, because its thread is busy: the clock decides all the same.
#[tokio::test]
async fn a_write_is_not_committed_after_expiry_either_when_its_waiter_sees_nothing() {
    let file = File::new("blind");
    let pool = file.pool(1).await;
    let late = request(50).run(async {
        pool.run(|connection| {
            let mut insert = connection.prepare("INSERT INTO rows (text) VALUES ('late')")?;
            std::thread::sleep(ms(100));
            insert.execute(())
        })
        .await
    });
    let busy = async { std::thread::sleep(ms(300)) };
    let (late, ()) = tokio::join!(late, busy);
    let error = late.unwrap().unwrap_err();
    assert_eq!(error.cause(), Some(Cause::DeadlineExceeded));
    assert_eq!(file.rows(), 0);
}

#[tokio::test]
async fn a_closure_that_was_stopped_after_a_write_says_so() {
    let file = File::new("half");
    let pool = file.pool(1).await;
    let half = request(500).run(async {
        pool.run(|connection| {
            connection.execute("INSERT INTO rows (text) VALUES ('kept')", ())?;
            connection.query_row(FOR_EVER, (), |row| row.get::<_, i64>(0))
        })
        .await
    });
    let error = half.await.unwrap().unwrap_err();
    assert!(
        matches!(CommitError::find(&error), Some(CommitError::Unknown(_))),
        "{error:?}"
    );
    assert_eq!(error.cause(), Some(Cause::DeadlineExceeded));
    assert_eq!(file.rows(), 1);
}

#[deadline(budget = "60s")]
async fn add(pool: &deadline_runtime::data::sqlite::Pool, text: &'static str) -> Result<(), Error> {
    pool.transaction(async |tx| {
        tx.execute("INSERT INTO rows (text) VALUES (?1)", (text,))
            .await?;
        if text == "bad" {
            return Err(Error::from(
                deadline_runtime::data::sqlite::rusqlite::Error::QueryReturnedNoRows,
            ));
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_as_a_closure_commits_or_rolls_back() {
    let file = File::new("closure");
    let pool = file.pool(2).await;
    let good = tokio::spawn({
        let pool = pool.clone();
        async move { add(&pool, "good").await }
    });
    good.await.unwrap().unwrap();
    assert!(matches!(add(&pool, "bad").await, Err(Error::Sqlite(_))));
    assert_eq!(file.rows(), 1);
    drop(file.locked());
}

/// A process that ends in the middle, as far as that can be had within one: everything of it is gone at once.
#[test]
fn a_runtime_that_ends_in_the_middle_leaves_nothing_behind() {
    let file = File::new("runtime");
    let pool = {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let pool = runtime.block_on(file.pool(2));
        let inside = pool.clone();
        runtime.spawn(async move {
            let mut tx = inside.begin().await.unwrap();
            tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
                .await
                .unwrap();
            let _ = tx.execute(sqlite_support::WRITE_FOR_EVER, ()).await;
        });
        std::thread::sleep(ms(100));
        drop(runtime);
        pool
    };
    assert_eq!(file.rows(), 0);
    drop(file.locked());
    // The pool belongs to no runtime.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(insert(&pool)).unwrap(), 1);
    assert_eq!(pool.in_use(), 0);

    // And a transaction that outlives its runtime is rolled back where it is dropped.
    let tx = runtime.block_on(pool.begin()).unwrap();
    drop(runtime);
    drop(tx);
    drop(file.locked());
    assert_eq!(pool.in_use(), 0);
}

#[tokio::test]
async fn messages_say_what_happened_and_whose_limit_it_was() {
    let file = File::new("messages");
    let pool = file.pool(1).await;
    let cx = request(60_000).child(Budget::new(ms(30)));
    let mut tx = pool.begin().await.unwrap();
    let error = cx.run(async { tx.query_row(FOR_EVER, (), |row| row.get::<_, i64>(0)).await });
    let text = error.await.unwrap().unwrap_err().to_string();
    assert!(
        text.starts_with("child stopped: dependency_timeout in database after "),
        "{text}"
    );
    assert!(text.contains("limited by child ("), "{text}");
    let text = tx.execute("SELECT 1", ()).await.unwrap_err().to_string();
    assert!(
        text.starts_with("the transaction is over and nothing of it is kept: child stopped: "),
        "{text}"
    );
    let text = pool.execute("SELEC 1", ()).await.unwrap_err().to_string();
    assert_eq!(
        text,
        "sqlite: near \"SELEC\": syntax error in SELEC 1 at offset 0"
    );
}
