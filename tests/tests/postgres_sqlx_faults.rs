//! Networks that are slow, silent or gone, and servers that restart.

mod postgres_common;

use std::time::{Duration, Instant};

use deadline_runtime::data::Policy;
use deadline_runtime::{Cause, Context, Phase};
use deadline_tests::postgres::Server;
use deadline_tests::proxy::Proxy;
use postgres_common::{Db, ms, request, stop_of};
use sqlx::Executor as _;

const SLACK: Duration = Duration::from_secs(1);
const IN_TRANSACTION: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_begin_that_is_cut_never_leaves_the_next_one_in_a_transaction() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int)").await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = db.pool_at(proxy.address(), 1, Policy::new());
    request(5_000)
        .run(pool.execute("SELECT 1"))
        .await
        .unwrap()
        .unwrap();
    for turn in 0..10 {
        // sqlx tests an idle connection first: that is one delayed answer, the begin the second.
        proxy.delay_replies(ms(60));
        let error = request(90).run(pool.begin()).await;
        assert!(!matches!(error, Ok(Ok(_))), "turn {turn}");
        // By somebody else's limit as well.
        let cut = tokio::time::timeout(ms(90), pool.begin()).await;
        assert!(cut.is_err(), "turn {turn}");
        proxy.delay_replies(Duration::ZERO);
        // The next borrower is a plain one of sqlx's pool, whose writes must not vanish.
        let id: Option<String> =
            sqlx::query_scalar("SELECT pg_current_xact_id_if_assigned()::text")
                .fetch_one(pool.sqlx())
                .await
                .unwrap();
        assert_eq!(id, None);
        sqlx::query("INSERT INTO t VALUES (1)")
            .execute(pool.sqlx())
            .await
            .unwrap();
        assert_eq!(db.number("SELECT count(*) FROM t").await, turn + 1);
    }
    db.until(IN_TRANSACTION, 0, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_that_is_not_answered_is_bounded() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = db.pool_at(proxy.address(), 1, Policy::new().cleanup(ms(300)));
    let cx = request(10_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap();
    proxy.swallow_reply_to("ROLLBACK");
    let since = Instant::now();
    cx.run(tx.rollback()).await.unwrap().unwrap();
    assert!(since.elapsed() < ms(300) + SLACK, "{:?}", since.elapsed());
    db.execute("SET lock_timeout = '2s'; SELECT v FROM t FOR UPDATE")
        .await;
    cx.run(pool.execute("SELECT 1")).await.unwrap().unwrap();
    assert!(pool.size() <= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_network_is_bounded_and_its_backend_is_ended_from_elsewhere() {
    let db = Db::new().await;
    db.execute("CREATE TABLE t (v int); INSERT INTO t VALUES (1)")
        .await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = db.pool_at(
        proxy.address(),
        1,
        Policy::new().cleanup(ms(300)).connect(ms(500)),
    );
    let cx = request(200);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("UPDATE t SET v = 2"))
        .await
        .unwrap()
        .unwrap();
    proxy.stall(true);
    let since = Instant::now();
    let error = cx
        .enter(|| tx.execute("UPDATE t SET v = 3"))
        .await
        .unwrap_err();
    assert_eq!(stop_of(&error), (Cause::DeadlineExceeded, Phase::Database));
    assert!(since.elapsed() < ms(200) + SLACK, "{:?}", since.elapsed());
    // Nobody can be told through this network, but the server was told in time: it ends the idle transaction by itself.
    let freed = db.until(IN_TRANSACTION, 0, Duration::from_secs(3)).await;
    println!("freed after {freed:?}");
    assert_eq!(db.number("SELECT v::bigint FROM t").await, 1);
    // Callers meanwhile have their answers in time.
    let since = Instant::now();
    let error = request(100).run(pool.begin()).await;
    assert!(!matches!(error, Ok(Ok(_))));
    assert!(since.elapsed() < ms(100) + SLACK);
    proxy.stall(false);
    tokio::time::sleep(ms(50)).await;
    request(5_000)
        .run(pool.execute("SELECT 1"))
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_killed_are_replaced_the_control_connection_too() {
    let db = Db::new().await;
    let proxy = Proxy::start(db.server.address()).await;
    let pool = db.pool_at(proxy.address(), 2, Policy::new());
    for _ in 0..3 {
        // The control connection is open by this.
        let cut = request(60).run(pool.execute("SELECT pg_sleep(5)")).await;
        assert!(!matches!(cut, Ok(Ok(_))));
        db.until(IN_TRANSACTION, 0, SLACK).await;
        // In the middle of a query.
        let running = tokio::spawn({
            let pool = pool.clone();
            async move {
                request(5_000)
                    .run(pool.execute("SELECT pg_sleep(2)"))
                    .await
                    .unwrap()
            }
        });
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(2)%' AND pid <> pg_backend_pid()";
        db.until(sleeping, 1, Duration::from_secs(2)).await;
        proxy.kill();
        let error = running.await.unwrap().unwrap_err();
        assert!(matches!(error, sqlx::Error::Io(_)), "{error:?}");
        // And the backend does not work on for nobody.
        db.until(IN_TRANSACTION, 0, SLACK).await;
        request(5_000)
            .run(pool.execute("SELECT 1"))
            .await
            .unwrap()
            .unwrap();
    }
    assert!(db.backends().await <= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_is_survived() {
    let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(2)
        .connect_lazy(&server.url())
        .unwrap();
    let pool = deadline_runtime::data::sqlx_postgres::Pool::new(pool);
    request(5_000)
        .run(pool.execute("CREATE TABLE t (v int)"))
        .await
        .unwrap()
        .unwrap();
    let cx = request(30_000);
    let mut tx = cx.run(pool.begin()).await.unwrap().unwrap();
    cx.run(tx.execute("INSERT INTO t VALUES (1)"))
        .await
        .unwrap()
        .unwrap();
    let cut = request(60).run(pool.execute("SELECT pg_sleep(5)")).await;
    assert!(!matches!(cut, Ok(Ok(_))));
    let server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    })
    .await
    .unwrap();
    let outcome = cx.run(tx.commit_outcome()).await.unwrap();
    assert!(!outcome.is_committed(), "{outcome:?}");
    let count: i64 = cx
        .run(sqlx::query_scalar("SELECT count(*) FROM t").fetch_one(&pool))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(count, 0);
    // Cancelling works again as well.
    let since = Instant::now();
    let cut = request(60).run(pool.execute("SELECT pg_sleep(5)")).await;
    assert!(!matches!(cut, Ok(Ok(_))) && since.elapsed() < ms(60) + SLACK);
    cx.run(pool.execute("SELECT 1")).await.unwrap().unwrap();
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()";
    let mut active = 1_i64;
    while active > 0 && since.elapsed() < ms(60) + SLACK {
        let asked = sqlx::query_scalar(sql).fetch_one(pool.sqlx()).await;
        active = asked.unwrap();
    }
    assert_eq!(active, 0);
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_an_error_in_time() {
    let proxy = Proxy::start(([127, 0, 0, 1], 9).into()).await;
    let pool = deadline_runtime::data::sqlx_postgres::Pool::connect_lazy(&format!(
        "postgres://x@{}/x",
        proxy.address()
    ))
    .unwrap();
    let since = Instant::now();
    let error = request(200).run(pool.begin()).await;
    match error {
        Ok(error) => drop(error.unwrap_err()),
        Err(stopped) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
    }
    assert!(since.elapsed() < ms(200) + SLACK);
}

#[test]
fn a_transaction_may_be_dropped_where_there_is_no_runtime() {
    let (db, pool, tx) = postgres_common::block_on(async {
        let db = Db::new().await;
        let pool = db.pool(1);
        let tx = request(5_000).run(pool.begin()).await.unwrap().unwrap();
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
    let pool = db.pool(1);
    let error = request(60).run(pool.execute("SELECT pg_sleep(5)")).await;
    assert!(!matches!(error, Ok(Ok(_))));
    db.until(IN_TRANSACTION, 0, SLACK).await;
    let cx = Context::none();
    let one: i32 = cx
        .run(sqlx::query_scalar("SELECT 1").fetch_one(&pool))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(one, 1);
}
