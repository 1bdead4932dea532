//! Statements and transactions over sqlx inside the deadline, against a real server.

mod postgres_common;

use std::time::{Duration, Instant};

use deadline_runtime::data::Policy;
use deadline_runtime::{Budget, Cause, Context, Mode, Phase, Stopped, deadline};
use futures::TryStreamExt as _;
use postgres_common::{Db, ms, request, stop_of};
use sqlx::{Error, Executor as _};

/// What is late on a machine that is busy with other things.
const SLACK: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_context_it_is_sqlx() {
    let db = Db::new().await;
    let pool = db.pool(2);
    pool.execute("CREATE TABLE t (v int)").await.unwrap();
    // What cannot run in a transaction runs, because there is none around it.
    pool.execute("VACUUM t").await.unwrap();
    sqlx::query("INSERT INTO t VALUES ($1)")
        .bind(7)
        .execute(&pool)
        .await
        .unwrap();
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("INSERT INTO t VALUES ($1)")
        .bind(8)
        .execute(&mut *tx)
        .await
        .unwrap();
    let limit: String = sqlx::query_scalar("SHOW statement_timeout")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    assert_eq!(limit, "0");
    tx.commit().await.unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_comes_back_at_its_deadline_and_is_gone_from_the_server() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let since = Instant::now();
    let done = request(100)
        .run(sqlx::query("SELECT pg_sleep(5)").execute(&pool))
        .await;
    // The request's own scope ends at the same instant as the query.
    match done {
        Ok(error) => assert_eq!(
            stop_of(&error.unwrap_err()),
            (Cause::DeadlineExceeded, Phase::Database)
        ),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
    }
    assert!(
        since.elapsed() >= ms(100) && since.elapsed() < ms(100) + SLACK,
        "{:?}",
        since.elapsed()
    );
    let gone = db.until(ACTIVE, 0, ms(100) + SLACK).await;
    println!("gone from the server after {gone:?}");
    // A pool of one serves the next caller at once.
    let since = Instant::now();
    let one: i32 = sqlx::query_scalar("SELECT 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(one, 1);
    println!("next caller served after {:?}", since.elapsed());
    assert!(since.elapsed() < ms(50) + SLACK, "{:?}", since.elapsed());
    assert_eq!(pool.size(), 1);
}

const ACTIVE: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND pid <> pg_backend_pid() AND state = 'active'";

/// What is inside `pg_sleep`: preparing a statement makes a backend active as well, and shows its text.
const SLEEPING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND wait_event = 'PgSleep'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_narrower_budget_is_a_dependency_that_was_slow() {
    #[deadline(budget = "50ms")]
    async fn slow(pool: &deadline_runtime::data::sqlx_postgres::Pool) -> Result<(), Error> {
        pool.execute("SELECT pg_sleep(5)").await?;
        Ok(())
    }
    let db = Db::new().await;
    let pool = db.pool(1);
    let error = request(5_000)
        .run(async { slow(&pool).await })
        .await
        .unwrap()
        .unwrap_err();
    let stopped = Stopped::find(&error).unwrap();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(stopped.limited_by().operation(), "slow");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_statements_do_not_have_the_whole_time_each() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let since = Instant::now();
    let outcome = request(100)
        .run(async {
            let mut tx = pool.begin().await?;
            for _ in 0..4 {
                tx.execute("SELECT pg_sleep(0.08)").await?;
            }
            tx.commit().await
        })
        .await;
    assert!(!matches!(outcome, Ok(Ok(()))), "{outcome:?}");
    assert!(since.elapsed() < ms(100) + SLACK, "{:?}", since.elapsed());
    db.until(ACTIVE, 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_is_told_what_is_left_and_told_again() {
    let db = Db::new().await;
    let pool = db.pool(1);
    request(10_000)
        .run(async {
            let limit =
                async |tx: &mut deadline_runtime::data::sqlx_postgres::Transaction<'_>| -> i64 {
                    sqlx::query_scalar("SELECT setting::bigint FROM pg_settings WHERE name = $1")
                        .bind("statement_timeout")
                        .fetch_one(&mut **tx)
                        .await
                        .unwrap()
                };
            let mut tx = pool.begin().await.unwrap();
            let first = limit(&mut tx).await;
            assert!((9_000..=10_000).contains(&first), "{first}");
            // A narrower context: less than the server knows.
            let narrow = Context::current().child(Budget::new(ms(2_000)));
            let second = narrow.run(limit(&mut tx)).await.unwrap();
            assert!((1_500..=2_000).contains(&second), "{second}");
            // Back in the wider one the server must not cut at the narrower limit.
            let third = limit(&mut tx).await;
            assert!((8_000..=10_000).contains(&third), "{third}");
            let name: String = sqlx::query_scalar("SHOW application_name")
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            assert!(name.starts_with("deadline#") && name.len() <= 63, "{name}");
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    // Nothing of it stays on the connection.
    for setting in [
        "statement_timeout",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
    ] {
        let left: String = sqlx::query_scalar("SELECT setting FROM pg_settings WHERE name = $1")
            .bind(setting)
            .fetch_one(pool.sqlx())
            .await
            .unwrap();
        assert_eq!(left, "0", "{setting}");
    }
    assert_eq!(pool.size(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_budget_is_clamped_to_what_the_server_takes() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let fifty_days = Context::root("request", Budget::new(Duration::from_secs(50 * 24 * 3600)));
    let limit: i64 = fifty_days
        .run(
            sqlx::query_scalar(
                "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'",
            )
            .fetch_one(&pool),
        )
        .await
        .unwrap()
        .unwrap();
    assert_eq!(limit, 2_147_483_647);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_less_than_the_minimum_left_nothing_is_sent() {
    let db = Db::new().await;
    let policy = Policy::new().begin_min(ms(30));
    let pool = db.pool_at(db.server.address(), 1, policy);
    let error = request(20).run(pool.begin()).await.unwrap().unwrap_err();
    let stopped = Stopped::find(&error).unwrap();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::LocalBudgetRejected, Phase::Start)
    );
    assert_eq!(stopped.needed().map(|(needs, _)| needs), Some(ms(30)));
    assert_eq!(pool.size(), 0, "not even a connection was opened");

    let pool = db.pool(1);
    let expired = Context::root("request", Budget::new(ms(1)));
    tokio::time::sleep(ms(3)).await;
    // Whoever polls it: it was made in the request.
    let error = expired
        .enter(|| pool.execute("SELECT 1"))
        .await
        .unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DeadlineExceeded, Phase::Start));
    assert_eq!(pool.size(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remainder_below_a_millisecond_sends_nothing() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int)").await;
    let mut refused = 0;
    for _ in 0..5 {
        let cx = request(300);
        let error = cx
            .run(async {
                let mut tx = pool.begin().await?;
                // To within a millisecond of the end, without an await that could end.
                while cx.remaining() > Some(Duration::from_micros(900)) {
                    std::hint::spin_loop();
                }
                let sent = tx.execute("INSERT INTO t VALUES (1)").await;
                if let Err(error) = &sent {
                    let stopped = Stopped::find(error).unwrap();
                    refused += usize::from(stopped.phase() == Phase::Start);
                }
                sent?;
                tx.commit().await
            })
            .await;
        assert!(!matches!(error, Ok(Ok(()))), "{error:?}");
    }
    assert_eq!(refused, 5);
    assert_eq!(db.number("SELECT count(*) FROM t").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_free_soon_after_the_deadline() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    // The transaction is still in the caller's hands when its time is over.
    let cx = request(150);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap();
    let held = cx.run(tx.execute("SELECT pg_sleep(5)"));
    assert!(!matches!(held.await, Ok(Ok(_))));
    let since = Instant::now();
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    println!("locks free after {:?}", since.elapsed());
    assert!(since.elapsed() < ms(50) + SLACK, "{:?}", since.elapsed());
    // Every later use says why.
    let error = tx.execute("SELECT 1").await.unwrap_err();
    assert_eq!(stop_of(&error).0, Cause::DeadlineExceeded);
    let outcome = tx.commit_outcome().await;
    assert_eq!(outcome.cause(), Some(Cause::DeadlineExceeded));
    assert!(!outcome.is_committed());
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_of_the_request_is_a_cancel_on_the_server() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let cx = Context::builder("request").build();
    let running = tokio::spawn({
        let (cx, pool) = (cx.clone(), pool.clone());
        async move { cx.run(pool.execute("SELECT pg_sleep(5)")).await }
    });
    db.until(SLEEPING, 1, Duration::from_secs(5)).await;
    cx.cancel(Cause::ClientCancelled);
    match running.await.unwrap() {
        Ok(error) => assert_eq!(
            stop_of(&error.unwrap_err()),
            (Cause::ClientCancelled, Phase::Database)
        ),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::ClientCancelled),
    }
    db.until(ACTIVE, 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_future_that_is_dropped_is_cancelled_as_well() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let query = pool.execute("SELECT pg_sleep(5)");
    // By a limit that we know nothing of.
    let cx = request(10_000);
    assert!(tokio::time::timeout(ms(50), cx.run(query)).await.is_err());
    let _ = cx
        .run(tokio::time::timeout(
            ms(50),
            pool.execute("SELECT pg_sleep(5)"),
        ))
        .await;
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    assert!(
        tokio::time::timeout(ms(50), cx.run(tx.execute("SELECT pg_sleep(5)")))
            .await
            .is_err()
    );
    drop(tx);
    let gone = db.until(ACTIVE, 0, SLACK).await;
    println!("gone after {gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_dropped_with_its_request_frees_the_locks_of_its_transaction() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let cx = request(20_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap();
    let leaves = async {
        tokio::time::sleep(ms(50)).await;
        cx.cancel(Cause::ClientCancelled);
    };
    // Dropped in the very poll that cancels it, so that it never sees the cancel itself.
    tokio::select! {
        biased;
        () = leaves => {}
        done = cx.run(tx.execute("SELECT pg_sleep(10)")) => panic!("{done:?}"),
    }
    // The transaction is still in somebody's hands.
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    assert_eq!(tx.check().unwrap_err().cause(), Cause::ClientCancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cancelled_is_known_from_our_own_state() {
    let db = Db::new().await;
    let pool = db.pool(1);
    // An operator: neither our limit nor a cancel of ours.
    let running = tokio::spawn({
        let pool = pool.clone();
        async move {
            request(10_000)
                .run(pool.execute("SELECT pg_sleep(5)"))
                .await
                .unwrap()
        }
    });
    db.until(SLEEPING, 1, Duration::from_secs(5)).await;
    db.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(5)%' AND pid <> pg_backend_pid()").await;
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DependencyFailed, Phase::Database));
    let source = std::error::Error::source(Stopped::find(&error).unwrap()).unwrap();
    let driver = source
        .downcast_ref::<Error>()
        .unwrap()
        .as_database_error()
        .unwrap();
    assert_eq!(driver.code().as_deref(), Some("57014"));
    // The business's own errors stay what they are.
    let error = request(10_000)
        .run(pool.execute("SELECT 1/0"))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(
        error.as_database_error().unwrap().code().as_deref(),
        Some("22012")
    );
    // So do lock waits that the statement itself gave up.
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let mut holder = pool.sqlx().begin().await.unwrap();
    sqlx::query("SELECT v FROM t FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    let other = db.pool(1);
    let error = request(10_000)
        .run(other.execute("SELECT v FROM t FOR UPDATE NOWAIT"))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(
        error.as_database_error().unwrap().code().as_deref(),
        Some("55P03")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_a_lock_ends_with_the_deadline_or_with_its_own_limit() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    db.execute("BEGIN; SELECT v FROM t FOR UPDATE").await;
    let pool = db.pool(1);
    let waits = request(80).run(pool.execute("UPDATE t SET v = 2")).await;
    if let Ok(waited) = waits {
        assert_eq!(stop_of(&waited.unwrap_err()).0, Cause::DeadlineExceeded);
    }
    let pool = db.pool_at(db.server.address(), 1, Policy::new().lock_wait(ms(50)));
    let since = Instant::now();
    let error = request(20_000)
        .run(pool.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(
        error.as_database_error().unwrap().code().as_deref(),
        Some("55P03")
    );
    assert!(since.elapsed() < Duration::from_secs(10));
    db.execute("COMMIT").await;
    request(20_000)
        .run(pool.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(db.number("SELECT v::bigint FROM t").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_the_pool_is_not_a_slow_query() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let cx = request(5_000);
    let held = cx.run(pool.begin()).await.unwrap().unwrap();
    let waiting = Context::root("waiting", Budget::new(ms(60)));
    let error = waiting.run(pool.begin()).await;
    let stopped = match error {
        Ok(error) => {
            let error = error.unwrap_err();
            assert_eq!(stop_of(&error), (Cause::DeadlineExceeded, Phase::Pool));
            true
        }
        Err(stopped) => stopped.cause() == Cause::DeadlineExceeded,
    };
    assert!(stopped);
    drop(held);
    // Who left has left the queue.
    request(2_000)
        .run(pool.execute("SELECT 1"))
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_pool_does_not_keep_anybody_from_being_cancelled() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let waiters: Vec<_> = (0..10)
        .map(|n| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let since = Instant::now();
                let _ = request(100 + n)
                    .run(pool.execute("SELECT pg_sleep(30)"))
                    .await;
                since.elapsed()
            })
        })
        .collect();
    for waiter in waiters {
        assert!(waiter.await.unwrap() < ms(110) + SLACK);
    }
    db.until(ACTIVE, 0, SLACK).await;
    request(2_000)
        .run(pool.execute("SELECT 1"))
        .await
        .unwrap()
        .unwrap();
    assert!(
        db.backends().await <= 2,
        "the pool's one and the control connection"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_pressure_connections_are_kept_instead_of_built_over_and_over() {
    let db = Db::new().await;
    let pool = db.pool(2);
    for _ in 0..5 {
        request(5_000)
            .run(pool.execute("SELECT 1"))
            .await
            .unwrap()
            .unwrap();
    }
    let served = futures::future::join_all((0..200_u64).map(|n| {
        let pool = pool.clone();
        async move {
            let cx = request(20 + n % 40);
            matches!(
                cx.run(pool.execute("SELECT pg_sleep(0.005)")).await,
                Ok(Ok(_))
            )
        }
    }))
    .await;
    let served = served.into_iter().filter(|served| *served).count();
    println!("{served} of 200 served");
    request(5_000)
        .run(pool.execute("SELECT 1"))
        .await
        .unwrap()
        .unwrap();
    let sessions = db
        .number("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        .await;
    assert!(sessions <= 8, "{sessions} connections were opened");
    assert!(pool.size() <= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_nobody_reads_on_leave_the_transaction_usable() {
    let db = Db::new().await;
    let pool = db.pool(1);
    request(5_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            {
                let mut rows = sqlx::query_scalar::<_, i32>("SELECT generate_series(1, 100000)")
                    .fetch(&mut *tx);
                assert_eq!(rows.try_next().await.unwrap(), Some(1));
                assert_eq!(rows.try_next().await.unwrap(), Some(2));
            }
            let rows: Vec<i32> = sqlx::query_scalar("SELECT generate_series(1, 3)")
                .fetch_all(&mut *tx)
                .await
                .unwrap();
            assert_eq!(rows, [1, 2, 3]);
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_savepoint_takes_back_its_part_and_the_limits_hold_on() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int)").await;
    request(3_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("INSERT INTO t VALUES (1)").await.unwrap();
            {
                let mut part = tx.begin().await.unwrap();
                part.execute("INSERT INTO t VALUES (10)").await.unwrap();
                assert!(part.execute("SELECT 1/0").await.is_err());
                part.rollback().await.unwrap();
            }
            {
                let mut part = tx.begin().await.unwrap();
                part.execute("INSERT INTO t VALUES (100)").await.unwrap();
                let mut inner = part.begin().await.unwrap();
                inner.execute("INSERT INTO t VALUES (1000)").await.unwrap();
                // Dropped: taken back before anything else.
                drop(inner);
                part.commit().await.unwrap();
            }
            {
                // A narrower limit inside the part, taken back with it.
                let mut part = tx.begin().await.unwrap();
                let narrow = Context::current().child(Budget::new(ms(200)));
                narrow.run(part.execute("SELECT 1")).await.unwrap().unwrap();
            }
            let limit: i64 = sqlx::query_scalar(
                "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'",
            )
            .fetch_one(&mut *tx)
            .await
            .unwrap();
            assert!((1_000..=3_000).contains(&limit), "{limit}");
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 101);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_optional_may_miss_its_budget_inside_a_savepoint() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int)").await;
    request(20_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("INSERT INTO t VALUES (1)").await.unwrap();
            let narrow = Context::current().child(Budget::new(ms(60)));
            let since = Instant::now();
            let mut part = tx.begin().await.unwrap();
            part.execute("INSERT INTO t VALUES (10)").await.unwrap();
            let error = narrow
                .run(part.execute("SELECT pg_sleep(10)"))
                .await
                .unwrap()
                .unwrap_err();
            assert_eq!(stop_of(&error).0, Cause::DependencyTimeout);
            assert!(since.elapsed() < ms(60) + SLACK);
            drop(part);
            tx.execute("INSERT INTO t VALUES (100)").await.unwrap();
            assert!(tx.commit_outcome().await.is_committed());
            // Without one the whole is over, whatever is left.
            let mut tx = pool.begin().await.unwrap();
            let narrow = Context::current().child(Budget::new(ms(60)));
            assert!(
                narrow
                    .run(tx.execute("SELECT pg_sleep(10)"))
                    .await
                    .unwrap()
                    .is_err()
            );
            let error = tx.execute("INSERT INTO t VALUES (1000)").await.unwrap_err();
            assert_eq!(stop_of(&error).0, Cause::DependencyTimeout);
            assert!(!tx.commit_outcome().await.is_committed());
            // One that is rolled back while its statement is being cancelled.
            let mut tx = pool.begin().await.unwrap();
            let narrow = Context::current().child(Budget::new(ms(60)));
            let mut part = tx.begin().await.unwrap();
            assert!(
                narrow
                    .run(part.execute("SELECT pg_sleep(10)"))
                    .await
                    .unwrap()
                    .is_err()
            );
            drop(part);
            tx.rollback().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(
        (db.number("SELECT sum(v) FROM t").await, pool.size()),
        (101, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_is_dropped_before_the_commit_is_not_committed() {
    let db = Db::new().await;
    let pool = db.pool(1);
    db.execute("CREATE TABLE t (v int)").await;
    request(3_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("INSERT INTO t VALUES (1)").await.unwrap();
            let mut part = tx.begin().await.unwrap();
            part.execute("INSERT INTO t VALUES (10)").await.unwrap();
            drop(part);
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_cancel_never_meets_the_next_query() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let race = async |cx: Context| {
        cx.run(async {
            let mut tx = pool.begin().await?;
            tx.execute("SELECT pg_sleep(0.006)").await
        })
        .await
    };
    // It is to end about when it is cancelled, however fast this machine is just now, and then becomes.
    let mut usual = Vec::new();
    for _ in 0..21 {
        let since = Instant::now();
        race(request(5_000)).await.unwrap().unwrap();
        usual.push(since.elapsed());
    }
    usual.sort_unstable();
    let mut usual = usual[10];
    let (mut cut, mut done) = (0, 0);
    for turn in 0..1_000_u32 {
        let budget = usual * (85 + turn % 40) / 100;
        let raced = race(Context::root("racer", Budget::new(budget))).await;
        if matches!(raced, Ok(Ok(_))) {
            done += 1;
            usual = usual * 99 / 100;
        } else {
            cut += 1;
            usual = usual * 101 / 100;
        }
        let innocent: Result<i32, Error> = sqlx::query_scalar("SELECT 1 FROM pg_sleep(0.001)")
            .fetch_one(&pool)
            .await;
        assert!(innocent.is_ok(), "turn {turn}: {innocent:?}");
    }
    println!("{cut} cut, {done} done, 0 innocents hurt");
    assert!(cut > 50 && done > 50, "{cut} cut, {done} done: no race");
    let sessions = db
        .number("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        .await;
    assert!(
        sessions < 20,
        "{sessions} connections were opened: the clean-up closes instead of cleaning up"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_is_enforced_nothing_is_cut() {
    let db = Db::new().await;
    let pool = db.pool(1);
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let cx = Context::builder("request")
            .budget(Budget::new(ms(20)))
            .mode(mode)
            .build();
        cx.run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("SELECT pg_sleep(0.05)").await.unwrap();
            let limit: String = sqlx::query_scalar("SHOW statement_timeout")
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            assert_eq!(limit, "0");
            tx.commit().await.unwrap();
            pool.execute("SELECT pg_sleep(0.03)").await.unwrap();
        })
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_known_by_its_name_on_the_server() {
    let db = Db::new().await;
    let pool = db.pool(1);
    let cx = Context::builder("request")
        .budget(Budget::new(ms(5_000)))
        .request_id("8f14e45f")
        .build();
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("SELECT 1")).await.unwrap().unwrap();
    let named = db
        .number("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '8f14e45f#%'")
        .await;
    assert_eq!(named, 1);
    cx.run(tx.rollback()).await.unwrap().unwrap();
    db.until(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '8f14e45f#%'",
        0,
        SLACK,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_isolation_levels_can_be_begun_and_set() {
    let db = Db::new().await;
    let pool = db.pool(1);
    request(5_000)
        .run(async {
            let mut tx = pool
                .begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY")
                .await
                .unwrap();
            let level: String = sqlx::query_scalar("SHOW transaction_isolation")
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            assert_eq!(level, "serializable");
            tx.commit().await.unwrap();
            let mut tx = pool.begin().await.unwrap();
            // Only possible before the first query: the beginning must not contain one.
            tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                .await
                .unwrap();
            let level: String = sqlx::query_scalar("SHOW transaction_isolation")
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            assert_eq!(level, "repeatable read");
            tx.commit().await.unwrap();
            for not_one in ["SELECT 1", "BEGIN; COMMIT"] {
                assert!(matches!(
                    pool.begin_with(not_one).await,
                    Err(Error::BeginFailed)
                ));
            }
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_role_is_limited_to_is_only_shortened() {
    let db = Db::new().await;
    let (role, name) = (format!("role_{}", db.name), &db.name);
    db.execute(&format!("CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET statement_timeout = '150ms'; GRANT ALL ON DATABASE {name} TO {role}")).await;
    let options = sqlx::postgres::PgConnectOptions::new()
        .host("127.0.0.1")
        .port(db.server.address().port())
        .username(&role)
        .database(name);
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options);
    let pool = deadline_runtime::data::sqlx_postgres::Pool::new(pool);
    request(20_000)
        .run(async {
            for _ in 0..2 {
                let mut tx = pool.begin().await.unwrap();
                let limit: String = sqlx::query_scalar("SHOW statement_timeout")
                    .fetch_one(&mut *tx)
                    .await
                    .unwrap();
                assert_eq!(limit, "150ms");
                let error = tx.execute("SELECT pg_sleep(5)").await.unwrap_err();
                // Not our limit: the request has time left.
                assert_eq!(stop_of(&error), (Cause::DependencyFailed, Phase::Database));
            }
        })
        .await
        .unwrap();
    // A role that may see no others' queries cancels its own all the same.
    let cut = request(60).run(pool.execute("SELECT pg_sleep(0.14)")).await;
    assert!(!matches!(cut, Ok(Ok(_))));
    db.until(ACTIVE, 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_long_between_statements_is_the_requests_own_affair() {
    let db = Db::new().await;
    let pool = db.pool_at(db.server.address(), 1, Policy::new().cleanup(ms(100)));
    request(10_000)
        .run(async {
            // Begun by a helper that had little time itself.
            let narrow = Context::current().child(Budget::new(ms(150)));
            let mut tx = narrow.run(pool.begin()).await.unwrap().unwrap();
            narrow.run(tx.execute("SELECT 1")).await.unwrap().unwrap();
            // Longer than that and the cleanup.
            tokio::time::sleep(ms(600)).await;
            tx.execute("SELECT 1").await.unwrap();
            assert!(tx.commit_outcome().await.is_committed());
        })
        .await
        .unwrap();
}
