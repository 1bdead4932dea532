//! Networks that are slow, silent or gone, and servers that restart, under tokio-postgres.

mod postgres_common;
mod postgres_tokio_common;

use std::time::{Duration, Instant};

use deadline_runtime::data::tokio_postgres::{Error, Pool};
use deadline_runtime::data::{CommitError, Policy};
use deadline_runtime::{Cause, Context, Phase};
use deadline_tests::postgres::Server;
use deadline_tests::proxy::Proxy;
use postgres_common::{Db, ms, request, stop_of};
use postgres_tokio_common::{IN_TRANSACTION, SLEEPING, deadpool, pool, pool_at};
use tokio_postgres::types::Type;

const SLACK: Duration = Duration::from_secs(1);

async fn still_works(pool: &Pool) {
    let done = request(5_000).run(pool.execute("SELECT 1", &[])).await;
    done.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_begin_that_is_cut_never_leaves_the_next_one_in_a_transaction() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int)").await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new());
    still_works(&pool).await;
    let first = async || {
        let mut tx = pool.begin().await?;
        tx.execute("SELECT 1", &[]).await
    };
    for turn in 0..10 {
        proxy.delay_replies(ms(60));
        let cut = request(40).run(first()).await;
        assert!(!matches!(cut, Ok(Ok(_))), "turn {turn}");
        // By somebody else's limit as well.
        let cut = tokio::time::timeout(ms(40), first()).await;
        assert!(cut.is_err(), "turn {turn}");
        proxy.delay_replies(Duration::ZERO);
        // The next borrower is a plain one of deadpool's pool, whose writes must not vanish.
        let client = pool.deadpool().get().await.unwrap();
        let sql = "SELECT pg_current_xact_id_if_assigned()::text";
        let id: Option<String> = client.query_one(sql, &[]).await.unwrap().get(0);
        assert_eq!(id, None);
        client
            .execute("INSERT INTO t VALUES (1)", &[])
            .await
            .unwrap();
        assert_eq!(db.number("SELECT count(*) FROM t").await, turn + 1);
    }
    db.until(IN_TRANSACTION, 0, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_beginning_and_the_first_statement_are_one_round_trip() {
    let db = Db::new().await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new().resolvable(false));
    still_works(&pool).await;
    // Long against what a busy machine adds.
    let trip = ms(150);
    proxy.delay_replies(trip);
    let trips = |since: Instant| since.elapsed().as_millis() / trip.as_millis();
    request(60_000)
        .run(async {
            let since = Instant::now();
            let mut tx = pool.begin().await.unwrap();
            assert_eq!(trips(since), 0, "begin");
            tx.query_typed("SELECT $1", &[(&1, Type::INT4)])
                .await
                .unwrap();
            assert_eq!(trips(since), 1, "with the first statement");
            let since = Instant::now();
            tx.query_typed("SELECT $1", &[(&1, Type::INT4)])
                .await
                .unwrap();
            assert_eq!(trips(since), 1, "told again");
            let since = Instant::now();
            let prepared = tx.prepare_cached("SELECT 1").await.unwrap();
            assert_eq!(trips(since), 1, "prepared");
            let since = Instant::now();
            tx.query(&prepared, &[]).await.unwrap();
            assert_eq!(trips(since), 1, "executed");
            let since = Instant::now();
            tx.query("SELECT 1", &[]).await.unwrap();
            assert_eq!(
                trips(since),
                2,
                "a text is prepared first, as by the driver"
            );
            let since = Instant::now();
            let mut part = tx.begin().await.unwrap();
            part.batch_execute("SELECT 1").await.unwrap();
            drop(part);
            assert_eq!(trips(since), 2, "a savepoint and a statement");
            let since = Instant::now();
            tx.batch_execute("SELECT 1").await.unwrap();
            assert_eq!(trips(since), 1, "with the savepoint taken back before it");
            let since = Instant::now();
            tx.commit().await.unwrap();
            assert_eq!(trips(since), 1, "commit");
            let since = Instant::now();
            pool.query_typed("SELECT $1", &[(&1, Type::INT4)])
                .await
                .unwrap();
            assert_eq!(trips(since), 2, "a transaction of its own");
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_before_a_statement_that_is_dropped_is_neither_lost_nor_sent_twice() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int)").await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new());
    still_works(&pool).await;
    proxy.delay_replies(ms(60));
    request(60_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            for _ in 0..2 {
                // By a limit that we know nothing of, before any answer; and not even polled.
                let query = tx.execute("SELECT 1", &[]);
                assert!(tokio::time::timeout(ms(20), query).await.is_err());
                drop(tx.execute("INSERT INTO t VALUES (1000)", &[]));
            }
            tx.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
            // It is in the transaction, and not committed by itself.
            assert_eq!(db.number("SELECT count(*) FROM t").await, 0);
            // A savepoint cannot be taken back twice.
            let mut part = tx.begin().await.unwrap();
            part.execute("INSERT INTO t VALUES (10)", &[])
                .await
                .unwrap();
            drop(part);
            let query = tx.execute("SELECT 1", &[]);
            assert!(tokio::time::timeout(ms(20), query).await.is_err());
            tx.execute("INSERT INTO t VALUES (100)", &[]).await.unwrap();
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT sum(v) FROM t").await, 101);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_behind_a_beginning_that_failed_is_not_called_a_failure() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int)").await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new());
    still_works(&pool).await;
    let insert = async || {
        let mut tx = pool.begin().await?;
        tx.execute_typed("INSERT INTO t VALUES ($1)", &[(&1, Type::INT4)])
            .await?;
        tx.commit().await
    };
    // As an operator's cancel in that very moment would do it.
    proxy.replace_in_request("BEGIN;", "BEGUN;");
    let error = request(5_000).run(insert()).await.unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Commit(CommitError::Unknown(_))),
        "{error:?}"
    );
    assert_eq!(stop_of(&error), (Cause::DependencyFailed, Phase::Database));
    // Indeed.
    db.until("SELECT count(*) FROM t", 1, SLACK).await;
    // One that takes more than one message has not been sent beyond the first.
    proxy.replace_in_request("BEGIN;", "BEGUN;");
    let insert_text = async || {
        let mut tx = pool.begin().await?;
        tx.execute("INSERT INTO t VALUES ($1)", &[&1]).await?;
        tx.commit().await
    };
    assert!(request(5_000).run(insert_text()).await.unwrap().is_err());
    tokio::time::sleep(ms(50)).await;
    assert_eq!(db.number("SELECT count(*) FROM t").await, 1);
    // What only prepares has not done anything, and its transaction can still begin.
    proxy.replace_in_request("BEGIN;", "BEGUN;");
    request(5_000)
        .run(async {
            let mut tx = pool.begin().await.unwrap();
            let error = tx.prepare("SELECT 1").await.unwrap_err();
            assert!(matches!(error, Error::Postgres(_)), "{error:?}");
            tx.execute("INSERT INTO t VALUES (2)", &[]).await.unwrap();
            assert_eq!(db.number("SELECT count(*) FROM t").await, 1);
            tx.commit().await.unwrap();
        })
        .await
        .unwrap();
    assert_eq!(db.number("SELECT count(*) FROM t").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_that_is_not_answered_is_bounded() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 1, Policy::new().cleanup(ms(300)));
    let cx = request(10_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    let update = cx.run(tx.execute("UPDATE t SET v = 2", &[])).await;
    update.unwrap().unwrap();
    proxy.swallow_reply_to("ROLLBACK");
    let since = Instant::now();
    cx.run(tx.rollback()).await.unwrap().unwrap();
    assert!(since.elapsed() < ms(300) + SLACK, "{:?}", since.elapsed());
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    still_works(&pool).await;
    assert!(pool.status().size <= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_network_is_bounded_and_its_backend_is_ended_from_elsewhere() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let proxy = Proxy::start(db.server.address()).await;
    let policy = Policy::new().cleanup(ms(300)).connect(ms(500));
    let pool = pool_at(&db, proxy.address(), 1, policy);
    let cx = request(200);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    let update = cx.run(tx.execute("UPDATE t SET v = 2", &[])).await;
    update.unwrap().unwrap();
    proxy.stall(true);
    let since = Instant::now();
    let stalled = cx.enter(|| tx.execute("UPDATE t SET v = 3", &[]));
    let error = stalled.await.unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DeadlineExceeded, Phase::Database));
    assert!(since.elapsed() < ms(200) + SLACK, "{:?}", since.elapsed());
    // Nobody can be told through this network, but the server was told in time: it ends the idle transaction by itself.
    let freed = db.until(IN_TRANSACTION, 0, Duration::from_secs(3)).await;
    println!("freed after {freed:?}");
    assert_eq!(db.number("SELECT v::bigint FROM t").await, 1);
    // Callers meanwhile have their answers in time.
    let since = Instant::now();
    let error = request(100).run(pool.execute("SELECT 1", &[])).await;
    assert!(!matches!(error, Ok(Ok(_))));
    assert!(since.elapsed() < ms(100) + SLACK);
    proxy.stall(false);
    tokio::time::sleep(ms(50)).await;
    still_works(&pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_killed_are_replaced_the_control_connection_too() {
    let db = Db::new().await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = pool_at(&db, proxy.address(), 2, Policy::new());
    for _ in 0..3 {
        // The control connection is open by this.
        let slow = pool.execute("SELECT pg_sleep(5)", &[]);
        assert!(!matches!(request(60).run(slow).await, Ok(Ok(_))));
        db.until(IN_TRANSACTION, 0, SLACK).await;
        // In the middle of a query.
        let running = tokio::spawn({
            let pool = pool.clone();
            async move {
                let slow = pool.execute("SELECT pg_sleep(2)", &[]);
                request(5_000).run(slow).await.unwrap()
            }
        });
        db.until(SLEEPING, 1, Duration::from_secs(2)).await;
        proxy.kill();
        let error = running.await.unwrap().unwrap_err();
        assert!(
            matches!(&error, Error::Postgres(error) if error.is_closed()),
            "{error:?}"
        );
        // And the backend does not work on for nobody.
        db.until(IN_TRANSACTION, 0, SLACK).await;
        still_works(&pool).await;
    }
    assert!(db.backends().await <= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_is_survived() {
    let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    let pool = Pool::new(deadpool(&server.url(), 2));
    let created = pool.batch_execute("CREATE TABLE t (v int)");
    request(5_000).run(created).await.unwrap().unwrap();
    let cx = request(30_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    let insert = cx.run(tx.execute("INSERT INTO t VALUES (1)", &[])).await;
    insert.unwrap().unwrap();
    let slow = pool.execute("SELECT pg_sleep(5)", &[]);
    assert!(!matches!(request(60).run(slow).await, Ok(Ok(_))));
    let server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    })
    .await
    .unwrap();
    let outcome = cx.run(tx.commit_outcome()).await.unwrap();
    assert!(!outcome.is_committed(), "{outcome:?}");
    let count = cx.run(pool.query_one("SELECT count(*) FROM t", &[])).await;
    assert_eq!(count.unwrap().unwrap().get::<_, i64>(0), 0);
    // Cancelling works again as well.
    let since = Instant::now();
    let slow = pool.execute("SELECT pg_sleep(5)", &[]);
    assert!(!matches!(request(60).run(slow).await, Ok(Ok(_))));
    assert!(since.elapsed() < ms(60) + SLACK);
    still_works(&pool).await;
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let mut sleeping = 1;
    while sleeping > 0 && since.elapsed() < ms(60) + SLACK {
        sleeping = pool.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);
    }
    assert_eq!(sleeping, 0);
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_an_error_in_time() {
    let proxy = Proxy::start(([127, 0, 0, 1], 9).into()).await;
    let pool = Pool::new(deadpool(&format!("postgres://x@{}/x", proxy.address()), 1));
    let since = Instant::now();
    match request(200).run(pool.begin()).await {
        Ok(error) => drop(error.unwrap_err()),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
    }
    assert!(since.elapsed() < ms(200) + SLACK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_is_closed_says_so() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    still_works(&pool).await;
    let cx = request(5_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("SELECT 1", &[])).await.unwrap().unwrap();
    pool.close().await;
    assert!(pool.is_closed());
    let error = cx.run(pool.begin()).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Pool(_)), "{error:?}");
    // What was under way ends well.
    assert!(cx.run(tx.commit_outcome()).await.unwrap().is_committed());
    let backends = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    db.until(backends, 0, SLACK).await;
}

#[test]
fn a_transaction_may_be_dropped_where_there_is_no_runtime() {
    let (db, pool, tx) = postgres_common::block_on(async {
        let db = Db::new().await;
        let pool = pool(&db, 1);
        let cx = request(5_000);
        let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
        cx.run(tx.execute("SELECT 1", &[])).await.unwrap().unwrap();
        (db, pool, tx)
    });
    // Its runtime is gone, too.
    drop(tx);
    drop(pool);
    drop(db);
}

#[tokio::test]
async fn it_works_on_a_single_thread() {
    let db = Db::new().await;
    let pool = pool(&db, 1);
    let slow = pool.execute("SELECT pg_sleep(5)", &[]);
    assert!(!matches!(request(60).run(slow).await, Ok(Ok(_))));
    db.until(IN_TRANSACTION, 0, SLACK).await;
    let one = Context::none().run(pool.query_one("SELECT 1", &[])).await;
    assert_eq!(one.unwrap().unwrap().get::<_, i32>(0), 1);
}
