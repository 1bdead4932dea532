//! A repository over sqlx works with only its pool and transaction types changed, the checked macros included.

mod postgres_common;

use deadline_runtime::Cause;
use postgres_common::{Db, request, stop_of};

#[allow(unreachable_pub)]
mod plain {
    // Only here: `begin` of a transaction is sqlx's trait there, and a method of ours.
    use sqlx::Acquire as _;
    use sqlx::{PgPool as Pool, PgTransaction as Transaction};

    include!("postgres_common/repository.rs");
}

#[allow(unreachable_pub)]
mod bounded {
    use deadline_runtime::data::sqlx_postgres::{Pool, Transaction};

    include!("postgres_common/repository.rs");
}

macro_rules! exercise {
    ($accounts:expr, $repository:ident) => {{
        use $repository::{Account, Accounts, AppError};
        let accounts: &Accounts = $accounts;
        let ada = accounts.open("Ada", 500).await.unwrap();
        let bob = accounts.open("Bob", 100).await.unwrap();
        accounts.transfer(ada, bob, 200).await.unwrap();
        let poor = accounts.transfer(ada, bob, 1_000).await;
        assert!(matches!(poor, Err(AppError::NotEnough)), "{poor:?}");
        accounts.try_note("kept once").await.unwrap();
        accounts.forget().await.unwrap();
        assert_eq!(accounts.insert_many(&["Cy", "Di"]).await.unwrap(), 2);
        assert_eq!(accounts.total().await.unwrap(), 600);
        let wanted = Account {
            id: ada,
            owner: "Ada".to_owned(),
            cents: 300,
        };
        assert_eq!(accounts.get(ada).await.unwrap().as_ref(), Some(&wanted));
        assert_eq!(accounts.get(-1).await.unwrap(), None);
        assert_eq!(accounts.all().await.unwrap()[0], wanted);
    }};
}

async fn database() -> Db {
    let db = Db::new().await;
    db.execute(include_str!("postgres_common/schema.sql")).await;
    db
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_the_same_with_either_pool() {
    let db = database().await;
    let pool = db.pool(3);
    exercise!(&plain::Accounts::new(pool.sqlx().clone()), plain);
    assert_eq!(db.number("SELECT count(*) FROM notes").await, 2);

    let db = database().await;
    exercise!(&bounded::Accounts::new(db.pool(3)), bounded);
    assert_eq!(db.number("SELECT count(*) FROM notes").await, 2);

    // In a request, as a handler does it.
    let db = database().await;
    let accounts = bounded::Accounts::new(db.pool(3));
    let handler = tokio::spawn(async move {
        request(20_000)
            .run(async { exercise!(&accounts, bounded) })
            .await
    });
    handler.await.unwrap().unwrap();
    assert_eq!(db.number("SELECT count(*) FROM notes").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn and_it_keeps_to_the_deadline() {
    let db = database().await;
    let accounts = bounded::Accounts::new(db.pool(3));
    let ada = accounts.open("Ada", 500).await.unwrap();
    let bob = accounts.open("Bob", 100).await.unwrap();
    db.execute("BEGIN; SELECT 1 FROM accounts FOR UPDATE").await;
    let cx = request(150);
    let error = cx.enter(|| accounts.transfer(ada, bob, 200));
    let error = cx.run(error).await;
    if let Ok(error) = error {
        let bounded::AppError::Database(error) = error.unwrap_err() else {
            panic!("there was enough");
        };
        assert_eq!(stop_of(&error).0, Cause::DeadlineExceeded);
    }
    db.execute("COMMIT").await;
    assert_eq!(accounts.get(ada).await.unwrap().unwrap().cents, 500);
    accounts.transfer(ada, bob, 200).await.unwrap();
}

/// A service: the layer, an error type that makes a 500 of everything, the repository, the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_the_database_is_too_slow_for_is_answered_as_such() {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use deadline_runtime::http::{DeadlineLayer, Policy};

    let db = database().await;
    let accounts = bounded::Accounts::new(db.pool(2));
    let ada = accounts.open("Ada", 500).await.unwrap();
    let bob = accounts.open("Bob", 100).await.unwrap();
    let handler = {
        let accounts = accounts.clone();
        move || async move {
            let moved = accounts.transfer(ada, bob, 200).await;
            moved
                .map(|()| "moved")
                .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
        }
    };
    let policy = Policy::new().default(std::time::Duration::from_secs(20));
    let app = Router::new()
        .route("/", post(handler))
        .layer(DeadlineLayer::new("POST /", policy));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let client = reqwest::Client::new();

    db.execute("BEGIN; SELECT 1 FROM accounts FOR UPDATE").await;
    let answer = client
        .post(&url)
        .header("x-request-timeout-ms", "300")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 504);
    assert_eq!(answer.headers()["x-deadline-cause"], "deadline_exceeded");
    db.execute("COMMIT").await;
    assert_eq!(accounts.get(ada).await.unwrap().unwrap().cents, 500);

    let answer = client.post(&url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(accounts.get(ada).await.unwrap().unwrap().cents, 300);

    // A client that leaves.
    db.execute("BEGIN; SELECT 1 FROM accounts FOR UPDATE").await;
    let impatient = client
        .post(&url)
        .timeout(postgres_common::ms(150))
        .send()
        .await;
    assert!(impatient.unwrap_err().is_timeout());
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    db.until(waiting, 0, std::time::Duration::from_secs(3))
        .await;
    db.execute("COMMIT").await;
    assert_eq!(accounts.get(ada).await.unwrap().unwrap().cents, 300);
}
