//! Statements and transactions over tokio-postgres inside the deadline, against a real server.

mod postgres_common;
mod postgres_tokio_common;

use std::time::{Duration, Instant};

use deadline_runtime::data::Policy;
use deadline_runtime::data::tokio_postgres::{Connection, Error, Pool, TransactionOptions};
use deadline_runtime::{Budget, Cause, Context, Mode, Phase, Stopped, deadline};
use futures::TryStreamExt as _;
use postgres_common::{Db, ms, request, stop_of};
use postgres_tokio_common::{ACTIVE, SLEEPING, pool, pool_at};
use tokio_postgres::IsolationLevel;
use tokio_postgres::error::SqlState;

/// What is late on a machine that is busy with other things.
const SLACK: Duration = Duration::from_secs(1);

async fn shown(tx: &mut Connection, setting: &str) -> String {
    let row = tx.query_one(&format!("SHOW {setting}"), &[]).await.unwrap();
    row.get(0)
}

/// In milliseconds.
async fn limit(tx: &mut Connection, setting: &str) -> i64 {
    let sql = "SELECT setting::bigint FROM pg_settings WHERE name = $1";
    tx.query_one(sql, &[&setting]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_context_it_is_the_driver() {
    let db = Db::new().await;
    let pool = pool(&db, 2);
    pool.batch_execute("CREATE TABLE t (v int)").await.unwrap();
    // What cannot run in a transaction runs, because there is none around it.
    pool.execute("VACUUM t", &[]).await.unwrap();
    let inserted = pool.execute("INSERT INTO t VALUES ($1)", &[&7]).await;
    assert_eq!(inserted.unwrap(), 1);
    let mut tx = pool.begin().await.unwrap();
    tx.execute("INSERT INTO t VALUES ($1)", &[&8])
        .await
        .unwrap();
    assert_eq!(shown(&mut tx, "statement_timeout").await, "0");
    tx.commit().await.unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_form_of_a_statement_does_what_the_drivers_does() {
    use tokio_postgres::types::Type;
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1), (2)")
        .await;
    request(10_000)
        .run(async {
            let all = "SELECT v FROM t WHERE v >= $1 ORDER BY v";
            assert_eq!(pool.query(all, &[&1]).await.unwrap().len(), 2);
            assert_eq!(
                pool.query_one(all, &[&2]).await.unwrap().get::<_, i32>(0),
                2
            );
            assert!(pool.query_opt(all, &[&3]).await.unwrap().is_none());
            let typed = pool.query_typed(all, &[(&2, Type::INT4)]).await.unwrap();
            assert_eq!(typed[0].get::<_, i32>(0), 2);
            let typed = pool.execute_typed(all, &[(&1, Type::INT4)]).await.unwrap();
            assert_eq!(typed, 2);
            assert_eq!(pool.simple_query("SELECT 1").await.unwrap().len(), 3);
            pool.batch_execute("INSERT INTO t VALUES (3); INSERT INTO t VALUES (4)")
                .await
                .unwrap();
            // Faults that the driver finds by itself leave everything as it was.
            let mut tx = pool.begin().await.unwrap();
            let error = tx.query_one(all, &[&1]).await.unwrap_err();
            assert!(matches!(error, Error::Postgres(_)), "{error:?}");
            assert!(Stopped::find(&error).is_none());
            assert!(tx.query(all, &[]).await.is_err());
            let prepared = tx.prepare(all).await.unwrap();
            assert_eq!(tx.query(&prepared, &[&1]).await.unwrap().len(), 4);
            let prepared = tx.prepare_typed(all, &[Type::INT4]).await.unwrap();
            assert_eq!(tx.query(&prepared, &[&4]).await.unwrap().len(), 1);
            let prepared = tx.prepare_cached(all).await.unwrap();
            assert_eq!(
                tx.query_one(&prepared, &[&4])
                    .await
                    .unwrap()
                    .get::<_, i32>(0),
                4
            );
            assert!(tx.query_opt(&prepared, &[&5]).await.unwrap().is_none());
            assert_eq!(tx.execute(&prepared, &[&1]).await.unwrap(), 4);
            assert_eq!(tx.simple_query("SELECT 1").await.unwrap().len(), 3);
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(pool.status().size, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_comes_back_at_its_deadline_and_is_gone_from_the_server() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let since = Instant::now();
    let cx = request(100);
    let done = cx.run(pool.execute("SELECT pg_sleep(5)", &[])).await;
    // The request's own scope ends at the same instant as the query.
    match done {
        Ok(error) => assert_eq!(
            stop_of(&error.unwrap_err()),
            (Cause::DeadlineExceeded, Phase::Database)
        ),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
    }
    let took = since.elapsed();
    assert!(took >= ms(100) && took < ms(100) + SLACK, "{took:?}");
    let gone = db.until(ACTIVE, 0, ms(100) + SLACK).await;
    println!("gone from the server after {gone:?}");
    // A pool of one serves the next caller at once.
    let since = Instant::now();
    let one = pool.query_one("SELECT 1", &[]).await.unwrap();
    assert_eq!(one.get::<_, i32>(0), 1);
    println!("next caller served after {:?}", since.elapsed());
    assert!(since.elapsed() < ms(50) + SLACK, "{:?}", since.elapsed());
    assert_eq!(pool.status().size, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_a_hundred_milliseconds_after_its_deadline() {
    let db = Db::new().await;
    let pool = pool(&db, 2);
    pool.execute("SELECT 1", &[]).await.unwrap();
    let mut late = Vec::new();
    for turn in 0..20 {
        let cx = request(20 + turn);
        let cut = cx.run(pool.execute("SELECT pg_sleep(5)", &[])).await;
        assert!(!matches!(cut, Ok(Ok(_))));
        late.push(db.until(ACTIVE, 0, SLACK).await);
    }
    late.sort_unstable();
    println!("gone after: median {:?}, worst {:?}", late[10], late[19]);
    assert!(late[10] < ms(100), "{:?}", late[10]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_narrower_budget_is_a_dependency_that_was_slow() {
    #[deadline(budget = "50ms")]
    async fn slow(pool: &Pool) -> Result<(), Error> {
        pool.batch_execute("SELECT pg_sleep(5)").await
    }
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let slow = request(5_000).run(async { slow(&pool).await }).await;
    let error = slow.unwrap().unwrap_err();
    let stopped = Stopped::find(&error).unwrap();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(stopped.limited_by().operation(), "slow");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_statements_do_not_have_the_whole_time_each() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let since = Instant::now();
    let outcome = request(100)
        .run(async {
            let mut tx = pool.begin().await?;
            for _ in 0..4 {
                tx.execute("SELECT pg_sleep(0.08)", &[]).await?;
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
    let pool = pool(&db, 1);
    request(10_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            let first = limit(&mut tx, "statement_timeout").await;
            assert!((9_000..=10_000).contains(&first), "{first}");
            tokio::time::sleep(ms(20)).await;
            // By whatever has passed: it costs no round trip.
            let again = limit(&mut tx, "statement_timeout").await;
            assert!(again <= first - 20, "{again} after {first}");
            // A narrower context: less than the server knows.
            let narrow = Context::current().child(Budget::new(ms(2_000)));
            let second = narrow
                .run(limit(&mut tx, "statement_timeout"))
                .await
                .unwrap();
            assert!((1_500..=2_000).contains(&second), "{second}");
            // Back in the wider one the server must not cut at the narrower limit.
            let third = limit(&mut tx, "statement_timeout").await;
            assert!((8_000..=10_000).contains(&third), "{third}");
            let name = shown(&mut tx, "application_name").await;
            assert!(name.starts_with("deadline#") && name.len() <= 63, "{name}");
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    // Nothing of it stays on the connection.
    let client = pool.deadpool().get().await.unwrap();
    for setting in [
        "statement_timeout",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
    ] {
        let row = client
            .query_one(&format!("SHOW {setting}"), &[])
            .await
            .unwrap();
        assert_eq!(row.get::<_, String>(0), "0", "{setting}");
    }
    assert_eq!(pool.status().size, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_budget_is_clamped_to_what_the_server_takes() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let fifty_days = Context::root("request", Budget::new(Duration::from_secs(50 * 24 * 3600)));
    let sql = "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'";
    let row = fifty_days
        .run(pool.query_one(sql, &[]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 2_147_483_647);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_less_than_the_minimum_left_nothing_is_sent() {
    let db = Db::new().await;
    let policy = Policy::new().begin_min(ms(30));
    let strict = pool_at(&db, db.server.address(), 1, policy);
    let error = request(20).run(strict.begin()).await.unwrap().unwrap_err();
    let stopped = Stopped::find(&error).unwrap();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::LocalBudgetRejected, Phase::Start)
    );
    assert_eq!(stopped.needed().map(|(needs, _)| needs), Some(ms(30)));
    assert_eq!(strict.status().size, 0, "not even a connection was opened");

    let pool = pool(&db, 1);
    let expired = Context::root("request", Budget::new(ms(1)));
    tokio::time::sleep(ms(3)).await;
    // Whoever polls it: it was made in the request.
    let late = expired.enter(|| pool.execute("SELECT 1", &[]));
    let error = late.await.unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DeadlineExceeded, Phase::Start));
    assert_eq!(pool.status().size, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remainder_below_a_millisecond_sends_nothing() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int)").await;
    let mut refused = 0;
    for turn in 0..6 {
        let cx = request(300);
        let error = cx
            .run(async {
                let mut tx = pool.begin().await?;
                // The first statement, which brings the beginning, as well as a later one.
                if turn % 2 == 0 {
                    tx.execute("SELECT 1", &[]).await?;
                }
                // To within a millisecond of the end, without an await that could end.
                while cx.remaining() > Some(Duration::from_micros(900)) {
                    std::hint::spin_loop();
                }
                let sent = tx.execute("INSERT INTO t VALUES (1)", &[]).await;
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
    assert_eq!(refused, 6);
    assert_eq!(db.number("SELECT count(*) FROM t").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_free_soon_after_the_deadline() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    // The transaction is still in the caller's hands when its time is over.
    let cx = request(150);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2", &[]))
        .await
        .unwrap()
        .unwrap();
    let held = cx.run(tx.execute("SELECT pg_sleep(5)", &[]));
    assert!(!matches!(held.await, Ok(Ok(_))));
    let since = Instant::now();
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    println!("locks free after {:?}", since.elapsed());
    assert!(since.elapsed() < ms(50) + SLACK, "{:?}", since.elapsed());
    // Every later use says why.
    let error = tx.execute("SELECT 1", &[]).await.unwrap_err();
    assert_eq!(stop_of(&error).0, Cause::DeadlineExceeded);
    let outcome = tx.commit_outcome().await;
    assert_eq!(outcome.cause(), Some(Cause::DeadlineExceeded));
    assert!(!outcome.is_committed());
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_of_the_request_is_a_cancel_on_the_server() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let cx = Context::builder("request").build();
    let running = tokio::spawn({
        let (cx, pool) = (cx.clone(), pool.clone());
        async move { cx.run(pool.execute("SELECT pg_sleep(5)", &[])).await }
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
    let pool = pool(&db, 1);
    // By a limit that we know nothing of.
    let cx = request(10_000);
    let query = pool.execute("SELECT pg_sleep(5)", &[]);
    assert!(tokio::time::timeout(ms(50), cx.run(query)).await.is_err());
    let query = pool.execute("SELECT pg_sleep(5)", &[]);
    let _ = cx.run(tokio::time::timeout(ms(50), query)).await;
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    let query = cx.run(tx.execute("SELECT pg_sleep(5)", &[]));
    assert!(tokio::time::timeout(ms(50), query).await.is_err());
    drop(tx);
    let gone = db.until(ACTIVE, 0, SLACK).await;
    println!("gone after {gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_dropped_with_its_request_frees_the_locks_of_its_transaction() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let cx = request(20_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2", &[]))
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
        done = cx.run(tx.execute("SELECT pg_sleep(10)", &[])) => panic!("{done:?}"),
    }
    // The transaction is still in somebody's hands.
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    assert_eq!(tx.check().unwrap_err().cause(), Cause::ClientCancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cancelled_is_known_from_our_own_state() {
    let db = Db::new().await;
    let first = pool(&db, 1);
    // An operator: neither our limit nor a cancel of ours.
    let running = tokio::spawn({
        let pool = first.clone();
        async move {
            let query = pool.execute("SELECT pg_sleep(5)", &[]);
            request(10_000).run(query).await.unwrap()
        }
    });
    db.until(SLEEPING, 1, Duration::from_secs(5)).await;
    db.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(5)%' AND pid <> pg_backend_pid()").await;
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DependencyFailed, Phase::Database));
    let source = std::error::Error::source(Stopped::find(&error).unwrap()).unwrap();
    let driver = source.downcast_ref::<tokio_postgres::Error>().unwrap();
    assert_eq!(driver.code(), Some(&SqlState::QUERY_CANCELED));
    // The business's own errors stay what they are.
    let error = request(10_000).run(first.execute("SELECT 1/0", &[])).await;
    let error = error.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    // So do lock waits that the statement itself gave up.
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let mut holder = first.deadpool().get().await.unwrap();
    let holder = holder.transaction().await.unwrap();
    holder
        .execute("SELECT v FROM t FOR UPDATE", &[])
        .await
        .unwrap();
    let other = pool(&db, 1);
    let nowait = other.execute("SELECT v FROM t FOR UPDATE NOWAIT", &[]);
    let error = request(10_000).run(nowait).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_the_pool_is_not_a_slow_query() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let cx = request(5_000);
    let held = cx.run(pool.begin()).await.unwrap().unwrap();
    let waiting = Context::root("waiting", Budget::new(ms(60)));
    match waiting.run(pool.begin()).await {
        Ok(error) => assert_eq!(
            stop_of(&error.unwrap_err()),
            (Cause::DeadlineExceeded, Phase::Pool)
        ),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
    }
    // As a dependency's limit it is reported by the dependency.
    let narrow = cx.child(Budget::new(ms(40)));
    let error = cx.run(narrow.enter(|| pool.execute("SELECT 1", &[]))).await;
    let error = error.unwrap().unwrap_err();
    assert_eq!(stop_of(&error).1, Phase::Pool);
    drop(held);
    // Who left has left the queue.
    let served = request(2_000).run(pool.execute("SELECT 1", &[])).await;
    served.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_pool_does_not_keep_anybody_from_being_cancelled() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let waiters: Vec<_> = (0..10)
        .map(|n| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let since = Instant::now();
                let query = pool.execute("SELECT pg_sleep(30)", &[]);
                let _ = request(100 + n).run(query).await;
                since.elapsed()
            })
        })
        .collect();
    for waiter in waiters {
        assert!(waiter.await.unwrap() < ms(110) + SLACK);
    }
    db.until(ACTIVE, 0, SLACK).await;
    let served = request(2_000).run(pool.execute("SELECT 1", &[])).await;
    served.unwrap().unwrap();
    let backends = db.backends().await;
    assert!(
        backends <= 2,
        "{backends}: the pool's one and the control connection"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_pressure_connections_are_kept_instead_of_built_over_and_over() {
    let db = Db::new().await;
    let pool = pool(&db, 2);
    for _ in 0..5 {
        let served = request(5_000).run(pool.execute("SELECT 1", &[])).await;
        served.unwrap().unwrap();
    }
    let served = futures::future::join_all((0..200_u64).map(|n| {
        let pool = pool.clone();
        async move {
            let cx = request(20 + n % 40);
            let query = pool.execute("SELECT pg_sleep(0.005)", &[]);
            matches!(cx.run(query).await, Ok(Ok(_)))
        }
    }))
    .await;
    let served = served.into_iter().filter(|served| *served).count();
    println!("{served} of 200 served");
    let last = request(5_000).run(pool.execute("SELECT 1", &[])).await;
    last.unwrap().unwrap();
    let sessions = db
        .number("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        .await;
    assert!(sessions <= 8, "{sessions} connections were opened");
    assert!(pool.status().size <= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_savepoint_takes_back_its_part_and_the_limits_hold_on() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int)").await;
    request(3_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
            {
                let mut part = tx.begin().await.unwrap();
                part.execute("INSERT INTO t VALUES (10)", &[])
                    .await
                    .unwrap();
                assert!(part.execute("SELECT 1/0", &[]).await.is_err());
                part.rollback().await.unwrap();
            }
            {
                let mut part = tx.begin().await.unwrap();
                part.execute("INSERT INTO t VALUES (100)", &[])
                    .await
                    .unwrap();
                let mut inner = part.begin().await.unwrap();
                inner
                    .execute("INSERT INTO t VALUES (1000)", &[])
                    .await
                    .unwrap();
                // Dropped: taken back before anything else.
                drop(inner);
                part.commit().await.unwrap();
            }
            {
                // A narrower limit inside the part, taken back with it.
                let mut part = tx.begin().await.unwrap();
                let narrow = Context::current().child(Budget::new(ms(200)));
                let done = narrow.run(part.execute("SELECT 1", &[])).await;
                done.unwrap().unwrap();
            }
            let limit = limit(&mut tx, "statement_timeout").await;
            assert!((1_000..=3_000).contains(&limit), "{limit}");
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 101);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_is_dropped_before_the_commit_is_not_committed() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int)").await;
    for (turn, resolvable) in [true, false].into_iter().enumerate() {
        let policy = Policy::new().resolvable(resolvable);
        let pool = pool_at(&db, db.server.address(), 1, policy);
        request(3_000)
            .run(async {
                let mut tx = pool.begin().await.unwrap();
                tx.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
                let mut part = tx.begin().await.unwrap();
                part.execute("INSERT INTO t VALUES (10)", &[])
                    .await
                    .unwrap();
                drop(part);
                tx.commit().await.unwrap();
            })
            .await
            .unwrap();
        let sum = i64::try_from(turn).unwrap() + 1;
        assert_eq!(db.number("SELECT sum(v) FROM t").await, sum);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_optional_may_miss_its_budget_inside_a_savepoint() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int)").await;
    let slow = async |tx: &mut Connection| {
        let narrow = Context::current().child(Budget::new(ms(60)));
        let slow = narrow.run(tx.execute("SELECT pg_sleep(10)", &[])).await;
        slow.unwrap().unwrap_err()
    };
    let insert = async |tx: &mut Connection, v: i32| {
        let inserted = tx.execute("INSERT INTO t VALUES ($1)", &[&v]).await;
        inserted.map(drop)
    };
    request(20_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            insert(&mut tx, 1).await.unwrap();
            let since = Instant::now();
            let mut part = tx.begin().await.unwrap();
            insert(&mut part, 10).await.unwrap();
            let error = slow(&mut part).await;
            assert_eq!(stop_of(&error).0, Cause::DependencyTimeout);
            assert!(since.elapsed() < ms(60) + SLACK);
            // Inside the savepoint the transaction has failed.
            let failed = insert(&mut part, 10).await.unwrap_err();
            assert_eq!(failed.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
            drop(part);
            insert(&mut tx, 100).await.unwrap();
            assert!(tx.commit_outcome().await.is_committed());
            // Without one the whole is over, whatever is left.
            let mut tx = pool.begin().await.unwrap();
            slow(&mut tx).await;
            let error = insert(&mut tx, 1000).await.unwrap_err();
            assert_eq!(stop_of(&error).0, Cause::DependencyTimeout);
            assert!(!tx.commit_outcome().await.is_committed());
            // One that is rolled back while its statement is being cancelled.
            let mut tx = pool.begin().await.unwrap();
            let mut part = tx.begin().await.unwrap();
            slow(&mut part).await;
            drop(part);
            tx.rollback().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 101);
    assert_eq!(pool.status().size, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_nobody_reads_on_leave_the_transaction_usable() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let many = "SELECT generate_series(1, $1::int)";
    request(20_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            {
                let mut rows = tx.query_stream(many, &[&100_000]);
                for n in 1..=2 {
                    let row = rows.try_next().await.unwrap().unwrap();
                    assert_eq!(row.get::<_, i32>(0), n);
                }
            }
            let rows: Vec<_> = tx.query_stream(many, &[&3]).try_collect().await.unwrap();
            assert_eq!(rows.len(), 3);
            tx.commit().await.unwrap();
            // On the pool, to the end and not to the end.
            let rows: Vec<_> = pool.query_stream(many, &[&3]).try_collect().await.unwrap();
            assert_eq!(rows.len(), 3);
            let mut rows = pool.query_stream(many, &[&100_000]);
            rows.try_next().await.unwrap().unwrap();
        })
        .await
        .unwrap();
    // A statement that fails after some rows, and one that is too slow.
    let fails = "SELECT 1 / (3 - n) FROM generate_series(1, 5) n";
    request(20_000)
        .run(async {
            let mut rows = pool.query_stream(fails, &[]);
            assert!(rows.try_next().await.unwrap().is_some());
            assert!(rows.try_next().await.unwrap().is_some());
            let error = rows.try_next().await.unwrap_err();
            assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
            assert!(rows.try_next().await.unwrap().is_none());
            let slow = "SELECT n, pg_sleep(0.005 * n) FROM generate_series(1, 1000) n";
            let narrow = Context::current().child(Budget::new(ms(200)));
            let read = narrow.run(pool.query_stream(slow, &[]).try_collect::<Vec<_>>());
            let error = read.await.unwrap().unwrap_err();
            assert_eq!(stop_of(&error), (Cause::DependencyTimeout, Phase::Database));
        })
        .await
        .unwrap();
    db.until(ACTIVE, 0, SLACK).await;
    let rows: Vec<_> = pool.query_stream(many, &[&3]).try_collect().await.unwrap();
    assert_eq!((rows.len(), pool.status().size), (3, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_a_lock_ends_with_the_deadline_or_with_its_own_limit() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    db.execute("BEGIN; SELECT v FROM t FOR UPDATE").await;
    let update = "UPDATE t SET v = 2";
    let unlimited = pool(&db, 1);
    let waits = request(80).run(unlimited.execute(update, &[])).await;
    if let Ok(waited) = waits {
        assert_eq!(stop_of(&waited.unwrap_err()).0, Cause::DeadlineExceeded);
    }
    let policy = Policy::new().lock_wait(ms(50));
    let pool = pool_at(&db, db.server.address(), 1, policy);
    let since = Instant::now();
    let waits = request(20_000).run(pool.execute(update, &[])).await;
    let error = waits.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE));
    assert!(since.elapsed() < Duration::from_secs(10));
    db.execute("COMMIT").await;
    let served = request(20_000).run(pool.execute(update, &[])).await;
    served.unwrap().unwrap();
    assert_eq!(db.number("SELECT v::bigint FROM t").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_cancel_never_meets_the_next_query() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let race = async |cx: Context| {
        cx.run(async {
            let mut tx = pool.begin().await?;
            tx.execute("SELECT pg_sleep(0.006)", &[]).await
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
        let innocent = pool.query_one("SELECT 1 FROM pg_sleep(0.001)", &[]).await;
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
    let pool = pool(&db, 1);
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let cx = Context::builder("request")
            .budget(Budget::new(ms(20)))
            .mode(mode)
            .build();
        cx.run(async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("SELECT pg_sleep(0.05)", &[]).await.unwrap();
            assert_eq!(shown(&mut tx, "statement_timeout").await, "0");
            tx.commit().await.unwrap();
            pool.execute("SELECT pg_sleep(0.03)", &[]).await.unwrap();
        })
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_known_by_its_name_on_the_server() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let cx = Context::builder("request")
        .budget(Budget::new(ms(5_000)))
        .request_id("8f14e45f")
        .build();
    let named = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '8f14e45f#%'";
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    // Nothing is begun on the server before there is something to do.
    assert_eq!(db.number(named).await, 0);
    cx.run(tx.execute("SELECT 1", &[])).await.unwrap().unwrap();
    assert_eq!(db.number(named).await, 1);
    cx.run(tx.rollback()).await.unwrap().unwrap();
    db.until(named, 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_isolation_levels_can_be_begun_and_set() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    db.execute("CREATE TABLE t (v int)").await;
    request(5_000)
        .run(async {
            let reading = TransactionOptions::new()
                .isolation_level(IsolationLevel::Serializable)
                .read_only(true)
                .deferrable(true);
            let mut tx = pool.begin_with(reading).await.unwrap();
            let error = tx
                .execute("INSERT INTO t VALUES (1)", &[])
                .await
                .unwrap_err();
            assert_eq!(error.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
            drop(tx);
            let mut tx = pool.begin_with(reading).await.unwrap();
            assert_eq!(
                shown(&mut tx, "transaction_isolation").await,
                "serializable"
            );
            assert_eq!(shown(&mut tx, "transaction_deferrable").await, "on");
            tx.commit().await.unwrap();
            let mut tx = pool.begin().await.unwrap();
            // Only possible before the first query: the beginning must not contain one.
            tx.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                .await
                .unwrap();
            assert_eq!(
                shown(&mut tx, "transaction_isolation").await,
                "repeatable read"
            );
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_role_is_limited_to_is_only_shortened() {
    let db = Db::new().await;
    let (role, name) = (format!("role_{}", db.name), &db.name);
    db.execute(&format!("CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET statement_timeout = '150ms'; GRANT ALL ON DATABASE {name} TO {role}")).await;
    let url = format!("postgres://{role}@{}/{name}", db.server.address());
    let pool = Pool::new(postgres_tokio_common::deadpool(&url, 1));
    request(20_000)
        .run(async {
            for _ in 0..2 {
                let mut tx = pool.begin().await.unwrap();
                assert_eq!(shown(&mut tx, "statement_timeout").await, "150ms");
                let error = tx.execute("SELECT pg_sleep(5)", &[]).await.unwrap_err();
                // Not our limit: the request has time left.
                assert_eq!(stop_of(&error), (Cause::DependencyFailed, Phase::Database));
            }
        })
        .await
        .unwrap();
    // A role that may see no others' queries cancels its own all the same.
    let cut = request(60)
        .run(pool.execute("SELECT pg_sleep(0.14)", &[]))
        .await;
    assert!(!matches!(cut, Ok(Ok(_))));
    db.until(ACTIVE, 0, SLACK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_long_between_statements_is_the_requests_own_affair() {
    let db = Db::new().await;
    let pool = pool_at(&db, db.server.address(), 1, Policy::new().cleanup(ms(100)));
    request(10_000)
        .run(async {
            // Begun by a helper that had little time itself.
            let narrow = Context::current().child(Budget::new(ms(150)));
            let mut tx = narrow.run(pool.begin()).await.unwrap().unwrap();
            let first = narrow.run(tx.execute("SELECT 1", &[])).await;
            first.unwrap().unwrap();
            // Longer than that and the cleanup.
            tokio::time::sleep(ms(600)).await;
            tx.execute("SELECT 1", &[]).await.unwrap();
            assert!(tx.commit_outcome().await.is_committed());
        })
        .await
        .unwrap();
}
