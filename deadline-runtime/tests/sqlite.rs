//! A real `SQLite`: what stops, when, and what the next one finds.
//!
//! Real time, because threads take part: the slack is wide, and what must not happen would take for ever.
#![cfg(feature = "sqlite")]

mod sqlite_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use deadline_runtime::data::sqlite::rusqlite::ErrorCode;
use deadline_runtime::data::sqlite::{Error, Pool, PoolOptions, rusqlite};
use deadline_runtime::{Budget, Cause, Context, Deadline, Mode, Phase, Stopped, deadline, timeout};
use sqlite_support::{
    FOR_EVER, File, SLACK, WRITE_FOR_EVER, about, count_for_ever, insert, ms, request, settled,
};

fn stopped(error: Error) -> Stopped {
    match error {
        Error::Stopped(stopped) => stopped,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_query_stops_with_its_deadline_and_the_next_one_runs() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    let start = Instant::now();
    let error = request(100)
        .run(async { count_for_ever(&pool).await })
        .await;
    let stopped = stopped(error.unwrap().unwrap_err());
    about(start, 100);
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Database);
    assert_eq!(stopped.limited_by().operation(), "request");
    // The thread has stopped as well: there is only one connection.
    let one: i64 = pool
        .query_row("SELECT 1", (), |row| row.get(0))
        .await
        .unwrap();
    assert_eq!(one, 1);
    about(start, 100);
}

#[tokio::test]
async fn the_cause_says_whose_limit_it_was() {
    let pool = Pool::in_memory().await.unwrap();
    let long = request(60_000);
    let own = long.child(Budget::new(ms(50)));
    let error = own
        .run(async { count_for_ever(&pool).await })
        .await
        .unwrap()
        .unwrap_err();
    let stopped_by_own = stopped(error);
    assert_eq!(stopped_by_own.cause(), Cause::DependencyTimeout);
    assert_eq!(stopped_by_own.limited_by().operation(), "child");

    let short = request(50);
    let wide = short.child(Budget::new(ms(60_000)));
    let error = wide
        .run(async { count_for_ever(&pool).await })
        .await
        .unwrap()
        .unwrap_err();
    let stopped_by_request = stopped(error);
    assert_eq!(stopped_by_request.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped_by_request.limited_by().operation(), "request");

    let cancelled = request(60_000);
    let cancel = async {
        tokio::time::sleep(ms(50)).await;
        cancelled.cancel(Cause::ClientCancelled);
    };
    let query = cancelled.run(async { count_for_ever(&pool).await });
    let (result, ()) = tokio::join!(query, cancel);
    assert_eq!(
        stopped(result.unwrap().unwrap_err()).cause(),
        Cause::ClientCancelled
    );
    settled(&pool).await;
}

#[tokio::test]
async fn waiting_for_a_lock_ends_with_the_deadline_or_a_cancel() {
    let file = File::new("locked");
    let pool = file.pool(2).await;
    let lock = file.locked();
    let start = Instant::now();
    let begun = request(100)
        .run(async { pool.begin().await.map(drop) })
        .await;
    let stop = stopped(begun.unwrap().unwrap_err());
    about(start, 100);
    assert_eq!(
        (stop.cause(), stop.phase()),
        (Cause::DeadlineExceeded, Phase::Database)
    );

    let written = request(50).run(async { insert(&pool).await }).await;
    assert_eq!(
        stopped(written.unwrap().unwrap_err()).phase(),
        Phase::Database
    );

    let long = request(60_000);
    let start = Instant::now();
    let cancel = async {
        tokio::time::sleep(ms(50)).await;
        long.cancel(Cause::Shutdown);
    };
    let (begun, ()) = tokio::join!(long.run(async { pool.begin().await.map(drop) }), cancel);
    assert_eq!(
        stopped(begun.unwrap().unwrap_err()).cause(),
        Cause::Shutdown
    );
    about(start, 50);
    // The threads do not go on waiting either.
    settled(&pool).await;
    drop(lock);
    assert_eq!(insert(&pool).await.unwrap(), 1);
    assert_eq!(file.rows(), 1);
}

#[tokio::test]
async fn a_lock_that_is_freed_in_time_is_taken() {
    let file = File::new("freed");
    let pool = file.pool(1).await;
    let lock = file.locked();
    let free = async {
        tokio::time::sleep(ms(50)).await;
        drop(lock);
    };
    let write = request(60_000).run(async { insert(&pool).await });
    let (written, ()) = tokio::join!(write, free);
    assert_eq!(written.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn a_stopped_write_ends_its_transaction() {
    let file = File::new("poisoned");
    let pool = file.pool(1).await;
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('first')", ())
        .await
        .unwrap();
    let cx = request(60_000).child(Budget::new(ms(50)));
    let error = cx
        .run(async { tx.execute(WRITE_FOR_EVER, ()).await })
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(stopped(error).cause(), Cause::DependencyTimeout);
    // Without us this one would be committed by itself.
    let error = tx
        .execute("INSERT INTO rows (text) VALUES ('late')", ())
        .await
        .unwrap_err();
    let Error::Poisoned(poison) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(poison.cause(), Cause::DependencyTimeout);
    assert_eq!(
        Stopped::find(&error).map(Stopped::cause),
        Some(Cause::DependencyTimeout)
    );
    // Its locks are free, and its connection too, while the object is still there.
    assert_eq!(insert(&pool).await.unwrap(), 1);
    assert_eq!(
        tx.commit_outcome().await.cause(),
        Some(Cause::DependencyTimeout)
    );
    assert_eq!(file.rows(), 1);
}

#[tokio::test]
async fn a_stopped_read_ends_its_transaction_too() {
    let file = File::new("poisoned-read");
    let pool = file.pool(1).await;
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('first')", ())
        .await
        .unwrap();
    let read =
        request(50).run(async { tx.query_row(FOR_EVER, (), |row| row.get::<_, i64>(0)).await });
    assert_eq!(
        stopped(read.await.unwrap().unwrap_err()).cause(),
        Cause::DeadlineExceeded
    );
    assert!(matches!(
        tx.execute("SELECT 1", ()).await,
        Err(Error::Poisoned(_))
    ));
    assert!(!tx.commit_outcome().await.is_committed());
    assert_eq!(file.rows(), 0);
}

#[tokio::test]
async fn a_dropped_query_frees_its_connection_with_and_without_a_context() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    for context in [Context::none(), request(60_000)] {
        let query = context.run(async { count_for_ever(&pool).await });
        assert!(tokio::time::timeout(ms(50), query).await.is_err());
        let start = Instant::now();
        let one: i64 = pool
            .query_row("SELECT 1", (), |row| row.get(0))
            .await
            .unwrap();
        assert_eq!(one, 1);
        assert!(start.elapsed() < SLACK);
    }
}

#[tokio::test]
async fn a_dropped_statement_ends_its_transaction() {
    let file = File::new("dropped-statement");
    let pool = file.pool(2).await;
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('first')", ())
        .await
        .unwrap();
    let statement = tx.execute(WRITE_FOR_EVER, ());
    assert!(tokio::time::timeout(ms(50), statement).await.is_err());
    let error = tx
        .execute("INSERT INTO rows (text) VALUES ('late')", ())
        .await
        .unwrap_err();
    let Error::Poisoned(poison) = error else {
        panic!("{error:?}")
    };
    assert_eq!(poison.cause(), Cause::Abandoned);
    settled(&pool).await;
    assert_eq!(tx.commit_outcome().await.cause(), Some(Cause::Abandoned));
    assert_eq!(insert(&pool).await.unwrap(), 1);
    assert_eq!(file.rows(), 1);
}

#[tokio::test]
async fn a_dropped_transaction_is_rolled_back_and_its_connection_used_again() {
    let file = File::new("dropped-transaction");
    let pool = file.pool(1).await;
    for _ in 0..20 {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('never')", ())
            .await
            .unwrap();
        drop(tx);
    }
    settled(&pool).await;
    assert_eq!(file.rows(), 0);
    // The very same connection: it was clean.
    assert_eq!(pool.num_idle(), 1);
    drop(file.locked());
}

#[tokio::test]
async fn a_dropped_begin_leaves_nobody_inside_a_transaction() {
    let file = File::new("dropped-begin");
    let pool = file.pool(1).await;
    for wait in 0..40 {
        let begin = tokio::time::timeout(std::time::Duration::from_micros(wait * 20), pool.begin());
        let _ = begin.await.map(drop);
        let inside = pool.run(|connection| Ok(!connection.is_autocommit()));
        assert!(!inside.await.unwrap());
    }
    settled(&pool).await;
    drop(file.locked());
}

#[tokio::test]
async fn waiting_for_a_connection_ends_with_the_deadline() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    let holder = pool.begin().await.unwrap();
    let start = Instant::now();
    let waited = request(50)
        .run(async { pool.execute("SELECT 1", ()).await })
        .await;
    let stop = stopped(waited.unwrap().unwrap_err());
    about(start, 50);
    assert_eq!(
        (stop.cause(), stop.phase()),
        (Cause::DeadlineExceeded, Phase::Pool)
    );
    holder.rollback().await.unwrap();
    assert_eq!((pool.num_idle(), pool.in_use()), (1, 0));
}

#[tokio::test]
async fn statements_that_fit_one_by_one_do_not_fit_together() {
    let file = File::new("four");
    let pool = file.pool(1).await;
    let mut done = 0;
    let result: Result<(), Error> = request(100)
        .run(async {
            let mut tx = pool.begin().await?;
            for _ in 0..4 {
                tx.run(|connection| {
                    std::thread::sleep(ms(80));
                    connection.execute("INSERT INTO rows (text) VALUES ('one')", ())
                })
                .await?;
                done += 1;
            }
            tx.commit().await?;
            Ok(())
        })
        .await
        .unwrap();
    let stop = stopped(result.unwrap_err());
    // Less than a millisecond may have been left for the next one.
    let right = [Cause::DeadlineExceeded, Cause::LocalBudgetRejected];
    assert!(right.contains(&stop.cause()), "{stop}");
    assert!(done < 2, "{done}");
    settled(&pool).await;
    assert_eq!(file.rows(), 0);
}

#[tokio::test]
async fn short_statements_without_end_stop_as_well() {
    let file = File::new("short");
    let pool = file.pool(1).await;
    let endless = |connection: &rusqlite::Connection| -> rusqlite::Result<()> {
        loop {
            connection.execute("INSERT INTO rows (text) VALUES ('one')", ())?;
        }
    };
    // And one that is prepared once.
    let prepared = |connection: &rusqlite::Connection| -> rusqlite::Result<()> {
        let mut insert = connection.prepare("INSERT INTO rows (text) VALUES ('one')")?;
        loop {
            insert.execute([])?;
        }
    };
    for endless in [endless, prepared] {
        let result = request(100)
            .run(async {
                let mut tx = pool.begin().await?;
                tx.run(endless).await
            })
            .await;
        let stop = stopped(result.unwrap().unwrap_err());
        assert_eq!(stop.cause(), Cause::DeadlineExceeded);
        settled(&pool).await;
        assert_eq!(file.rows(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_meets_the_end_of_a_query_never_meets_the_next_one() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) SELECT count(*) FROM n";
    // What the query takes here, so that the cancels fall around its end.
    let start = Instant::now();
    for _ in 0..10 {
        pool.query_row(sql, (), |row| row.get::<_, i64>(0))
            .await
            .unwrap();
    }
    let usual = start.elapsed() / 10;
    let (mut done, mut cut) = (0, 0);
    for round in 0..200u32 {
        let cx = request(60_000);
        let cancel = tokio::task::spawn_blocking({
            let (cx, at) = (cx.clone(), Instant::now() + usual * (round % 20) / 10);
            move || {
                while Instant::now() < at {
                    std::hint::spin_loop();
                }
                cx.cancel(Cause::UserCancelled);
            }
        });
        match cx
            .run(async { pool.query_row(sql, (), |row| row.get::<_, i64>(0)).await })
            .await
        {
            Ok(Ok(count)) => {
                assert_eq!(count, 5000);
                done += 1;
            }
            Ok(Err(error)) => {
                assert_eq!(stopped(error).cause(), Cause::UserCancelled);
                cut += 1;
            }
            Err(_) => cut += 1,
        }
        let next = pool.query_row(sql, (), |row| row.get::<_, i64>(0)).await;
        assert_eq!(next.unwrap(), 5000, "round {round}");
        cancel.await.unwrap();
    }
    assert!(done > 0 && cut > 0, "{done} done, {cut} cut: nothing raced");
}

#[tokio::test]
async fn nothing_is_begun_with_less_than_a_millisecond_left() {
    let pool = Pool::in_memory().await.unwrap();
    let begun = Arc::new(AtomicBool::new(false));
    let cx = Context::builder("request")
        .deadline(Deadline::after(std::time::Duration::from_micros(900)))
        .build();
    let seen = begun.clone();
    let work = cx.enter(|| {
        pool.run(move |_| {
            seen.store(true, Ordering::Relaxed);
            Ok(())
        })
    });
    let stop = stopped(work.await.unwrap_err());
    let refused = [Cause::LocalBudgetRejected, Cause::DeadlineExceeded];
    assert!(refused.contains(&stop.cause()), "{stop}");
    assert_eq!(stop.phase(), Phase::Start);
    assert!(!begun.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_transaction_is_not_begun_below_its_minimum() {
    let policy = deadline_runtime::data::Policy::new().begin_min(ms(10_000));
    let options = PoolOptions::new().max_connections(1).policy(policy);
    let pool = options.in_memory().await.unwrap();
    let error = request(9_999)
        .run(async { pool.begin().await.map(drop) })
        .await;
    let stop = stopped(error.unwrap().unwrap_err());
    assert_eq!(stop.cause(), Cause::LocalBudgetRejected);
    assert_eq!(stop.needed().map(|(needs, _)| needs), Some(ms(10_000)));
    let begun = request(60_000)
        .run(async { pool.begin().await.map(drop) })
        .await;
    begun.unwrap().unwrap();

    // Also when the time went by in the queue for a connection.
    settled(&pool).await;
    let holder = pool.begin().await.unwrap();
    let waiting = request(10_050);
    let free = async {
        tokio::time::sleep(ms(100)).await;
        holder.rollback().await.unwrap();
    };
    let (begun, ()) = tokio::join!(waiting.run(async { pool.begin().await.map(drop) }), free);
    assert_eq!(
        stopped(begun.unwrap().unwrap_err()).cause(),
        Cause::LocalBudgetRejected
    );
    settled(&pool).await;
}

#[tokio::test]
async fn where_nothing_is_enforced_nothing_is_stopped_but_what_is_dropped() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    let observed = Context::builder("request")
        .budget(Budget::new(ms(20)))
        .mode(Mode::Observe)
        .build();
    let late = observed.run(async {
        pool.run(|connection| {
            std::thread::sleep(ms(60));
            connection.query_row("SELECT 7", (), |row| row.get::<_, i64>(0))
        })
        .await
    });
    assert_eq!(late.await.unwrap().unwrap(), 7);
    let endless = observed.run(async { count_for_ever(&pool).await });
    assert!(tokio::time::timeout(ms(50), endless).await.is_err());
    pool.execute("CREATE TABLE rows (id INTEGER)", ())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_statement_that_fails_is_undone_alone() {
    let file = File::new("alone");
    let pool = file.pool(1).await;
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (id, text) VALUES (1, 'one')", ())
        .await
        .unwrap();
    let error = tx
        .execute("INSERT INTO rows (id, text) VALUES (1, 'two')", ())
        .await
        .unwrap_err();
    let Error::Sqlite(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        error.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation)
    );
    tx.execute("INSERT INTO rows (id, text) VALUES (2, 'two')", ())
        .await
        .unwrap();
    assert!(tx.commit_outcome().await.is_committed());
    assert_eq!(file.rows(), 2);
    // One that takes the transaction with it does end it.
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (id, text) VALUES (3, 'three')", ())
        .await
        .unwrap();
    let error = tx
        .execute(
            "INSERT OR ROLLBACK INTO rows (id, text) VALUES (1, 'x')",
            (),
        )
        .await;
    assert!(matches!(error, Err(Error::Sqlite(_))), "{error:?}");
    let error = tx
        .execute("INSERT INTO rows (id, text) VALUES (4, 'x')", ())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Poisoned(_)), "{error:?}");
    assert_eq!(error.cause(), Some(Cause::DependencyFailed));
    drop(tx);
    assert_eq!(file.rows(), 2);
}

#[tokio::test]
async fn what_a_closure_begins_it_has_to_end() {
    let file = File::new("unbalanced");
    let pool = file.pool(1).await;
    let open = pool
        .run(|connection| connection.execute_batch("BEGIN; INSERT INTO rows (text) VALUES ('x')"));
    assert!(matches!(open.await, Err(Error::Unbalanced)));
    let whole = pool.run(|connection| {
        let tx = connection.unchecked_transaction()?;
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())?;
        tx.commit()
    });
    whole.await.unwrap();
    assert_eq!(file.rows(), 1);
    for end in ["COMMIT", "ROLLBACK"] {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
            .await
            .unwrap();
        let ended = tx
            .run(move |connection| connection.execute_batch(end))
            .await;
        assert!(matches!(ended, Err(Error::Unbalanced)), "{end}: {ended:?}");
        assert!(matches!(
            tx.execute("SELECT 1", ()).await,
            Err(Error::Poisoned(_))
        ));
        drop(tx);
        assert_eq!(file.rows(), 1, "{end}");
    }
}

#[tokio::test]
async fn a_panic_costs_a_connection_and_no_place_in_the_pool() {
    let file = File::new("panic");
    let pool = file.pool(1).await;
    let lost = pool.run(|_| -> rusqlite::Result<()> { panic!("on purpose") });
    assert!(matches!(lost.await, Err(Error::Lost)));
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO rows (text) VALUES ('x')", ())
        .await
        .unwrap();
    let lost = tx.run(|_| -> rusqlite::Result<()> { panic!("on purpose") });
    assert!(matches!(lost.await, Err(Error::Lost)));
    assert!(!tx.commit_outcome().await.is_committed());
    assert_eq!(insert(&pool).await.unwrap(), 1);
    assert_eq!(file.rows(), 1);
}

#[tokio::test]
async fn all_connections_to_memory_see_the_same_database_and_no_other_pool_does() {
    let pool = Pool::in_memory().await.unwrap();
    pool.execute(
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
        (),
    )
    .await
    .unwrap();
    let at_once: Vec<_> = (0..20)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { insert(&pool).await })
        })
        .collect();
    for insert in at_once {
        assert_eq!(insert.await.unwrap().unwrap(), 1);
    }
    let count = pool.query_row("SELECT count(*) FROM rows", (), |row| row.get::<_, i64>(0));
    assert_eq!(count.await.unwrap(), 20);
    let texts = pool.query_all(
        "SELECT text FROM rows WHERE id < ?1 ORDER BY id",
        (3,),
        |row| row.get::<_, String>(0),
    );
    assert_eq!(texts.await.unwrap(), ["one", "one"]);
    assert!(insert(&Pool::in_memory().await.unwrap()).await.is_err());
}

#[tokio::test]
async fn new_connections_are_prepared_once_each() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    let pool = PoolOptions::new()
        .max_connections(3)
        .on_open(move |connection| {
            count.fetch_add(1, Ordering::Relaxed);
            connection.execute_batch("PRAGMA case_sensitive_like = ON")
        })
        .in_memory()
        .await
        .unwrap();
    let (one, two) = (
        pool.begin_read().await.unwrap(),
        pool.begin_read().await.unwrap(),
    );
    drop((one, two));
    settled(&pool).await;
    for _ in 0..5 {
        let alike = pool.query_row("SELECT 'a' LIKE 'A'", (), |row| row.get::<_, bool>(0));
        assert!(!alike.await.unwrap());
    }
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    let failing = PoolOptions::new().on_open(|connection| connection.execute_batch("nonsense"));
    assert!(matches!(failing.in_memory().await, Err(Error::Sqlite(_))));
}

#[tokio::test]
async fn a_closed_pool_begins_nothing_and_takes_nothing_back() {
    let pool = Pool::in_memory().await.unwrap();
    let tx = pool.begin().await.unwrap();
    let closing = tokio::spawn({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    while !pool.is_closed() {
        tokio::task::yield_now().await;
    }
    assert!(matches!(pool.begin().await.map(drop), Err(Error::Closed)));
    assert!(tx.commit_outcome().await.is_committed());
    assert_eq!(pool.num_idle(), 0);
    closing.await.unwrap();
    assert_eq!(pool.in_use(), 0);
}

#[tokio::test]
async fn a_closure_sees_the_context_and_can_ask_it() {
    let pool = Pool::in_memory().await.unwrap();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(60_000)))
        .request_id("r7")
        .build();
    let seen = cx.run(async {
        pool.run(|_| {
            Ok((
                Context::current().request_id(),
                Context::current().remaining(),
            ))
        })
        .await
    });
    let (id, left) = seen.await.unwrap().unwrap();
    assert_eq!(id.as_deref(), Some("r7"));
    assert!(left <= Some(ms(60_000)) && left > Some(ms(0)));
    // A bare spawn keeps the context of the call.
    let pool2 = pool.clone();
    let short = request(50);
    let work = short.enter(|| {
        let work =
            pool2.run(|connection| connection.query_row(FOR_EVER, (), |row| row.get::<_, i64>(0)));
        Box::pin(work)
    });
    assert_eq!(
        stopped(work.await.unwrap_err()).cause(),
        Cause::DeadlineExceeded
    );
}

/// A limit belongs to one statement and stays on no connection.
#[tokio::test]
async fn the_next_one_on_the_connection_has_its_own_time() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    let cut = request(50).run(async { count_for_ever(&pool).await }).await;
    assert!(cut.unwrap().is_err());
    let long = pool.run(|connection| {
        std::thread::sleep(ms(100));
        let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) SELECT count(*) FROM n";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(long.await.unwrap(), 50_000);
}

/// It goes to the next one instead of being opened again and again under pressure.
#[tokio::test]
async fn a_connection_outlives_the_one_who_waited_for_it() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    let pool = PoolOptions::new()
        .max_connections(2)
        .on_open(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) > 0 {
                std::thread::sleep(ms(150));
            }
            Ok(())
        })
        .in_memory()
        .await
        .unwrap();
    let holder = pool.begin_read().await.unwrap();
    let impatient = request(30).run(async { pool.run(|_| Ok(())).await }).await;
    assert_eq!(
        stopped(impatient.unwrap().unwrap_err()).cause(),
        Cause::DeadlineExceeded
    );
    drop(holder);
    settled(&pool).await;
    assert_eq!((opened.load(Ordering::Relaxed), pool.num_idle()), (2, 2));
}

#[deadline(budget = "10s", reserve = "5s")]
async fn or_else(pool: &Pool) -> Result<&'static str, Stopped> {
    // Of its own, so that the function has the time to answer.
    let count = timeout(ms(50), count_for_ever(pool)).await?;
    assert_eq!(count.unwrap_err().cause(), Some(Cause::DependencyTimeout));
    Ok("without the count")
}

#[deadline(budget = "600ms", reserve = "500ms")]
async fn in_the_reserve(pool: &Pool) -> Result<Cause, Stopped> {
    match count_for_ever(pool).await {
        Err(Error::Stopped(stopped)) => Ok(stopped.cause()),
        other => panic!("{other:?}"),
    }
}

#[deadline(budget = "10s")]
async fn with_a_fallback(pool: &Pool) -> Result<i64, Error> {
    #[budget("50ms", fallback = -1)]
    let count = count_for_ever(pool).await?;
    Ok(count)
}

/// The error reaches the body, which may use its reserve.
#[tokio::test]
async fn annotated_functions_get_the_error_in_their_hands() {
    let pool = PoolOptions::new()
        .max_connections(1)
        .in_memory()
        .await
        .unwrap();
    assert_eq!(or_else(&pool).await.unwrap(), "without the count");
    assert_eq!(
        in_the_reserve(&pool).await.unwrap(),
        Cause::DeadlineExceeded
    );
    assert_eq!(with_a_fallback(&pool).await.unwrap(), -1);
    settled(&pool).await;
}

#[tokio::test]
async fn a_reading_transaction_sees_one_moment_and_keeps_no_writer_waiting() {
    let file = File::new("snapshot");
    let pool = PoolOptions::new()
        .on_open(|connection| connection.execute_batch("PRAGMA journal_mode = WAL"))
        .open(file.path())
        .await
        .unwrap();
    let count = "SELECT count(*) FROM rows";
    let mut reader = pool.begin_read().await.unwrap();
    for _ in 0..2 {
        let seen = reader.query_row(count, (), |row| row.get::<_, i64>(0));
        assert_eq!(seen.await.unwrap(), 0);
        let written = request(10_000).run(async { insert(&pool).await });
        assert_eq!(written.await.unwrap().unwrap(), 1);
    }
    reader.commit().await.unwrap();
    let seen = pool.query_row(count, (), |row| row.get::<_, i64>(0));
    assert_eq!(seen.await.unwrap(), 2);
}

/// The one place where both clocks meet: that they do not is what is promised.
#[tokio::test(start_paused = true)]
async fn a_paused_clock_stands_still_while_a_statement_runs() {
    let pool = Pool::in_memory().await.unwrap();
    let cx = request(10);
    let slow = cx.run(async {
        pool.run(|connection| {
            std::thread::sleep(ms(50));
            connection.query_row("SELECT 7", (), |row| row.get::<_, i64>(0))
        })
        .await
    });
    assert_eq!(slow.await.unwrap().unwrap(), 7);
    assert_eq!(cx.remaining(), Some(ms(10)));
}
