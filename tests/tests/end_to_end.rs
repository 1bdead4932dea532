//! What the whole promises, over real sockets: a client, a gateway, a service behind it, a database.
#![allow(missing_docs, clippy::pedantic)]

mod postgres_common;

use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use deadline_runtime::data::sqlx_postgres::Pool;
use deadline_runtime::data::{CommitOutcome, Policy as DataPolicy, Resolution, UnknownCommit};
use deadline_runtime::fan_out::{fan_out_all, required};
use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _, Trust};
use deadline_runtime::{Context, Stopped, Tracker, deadline};
use deadline_tests::proxy::Proxy;
use deadline_tests::raw;
use postgres_common::{Db, ms};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use sqlx::Executor as _;
use tokio::net::TcpListener;

const SLACK: Duration = Duration::from_secs(5);

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

/// A layer that believes its callers, keeps 50 ms, tells them what it was, and counts.
fn layer(operation: &'static str, tracker: &Tracker) -> DeadlineLayer {
    let policy = Policy::new()
        .max(Duration::from_secs(30))
        .reserve(ms(50))
        .detail(true)
        .trust(Trust::Full);
    DeadlineLayer::new(operation, policy)
        .outermost(true)
        .tracker(tracker)
}

/// What an answer says: status, cause, and the phase in its detail.
#[derive(Debug, PartialEq)]
struct Told(u16, String, String);

fn told(status: u16, cause: &str, phase: &str) -> Told {
    Told(status, cause.to_owned(), phase.to_owned())
}

async fn ask(to: SocketAddr, path: &str, timeout_ms: u64) -> (Told, String) {
    let answer = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .get(format!("http://{to}{path}"))
        .header("x-request-timeout-ms", timeout_ms)
        .timeout(Duration::from_secs(20))
        .send()
        .await
        .unwrap();
    let text = |name| {
        let value = answer.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    let detail = text("x-deadline-detail");
    let phase = detail.split("phase=").nth(1).unwrap_or("").to_owned();
    let told = Told(answer.status().as_u16(), text("x-deadline-cause"), phase);
    (told, answer.text().await.unwrap())
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn idle(tracker: &Tracker) {
    if let Err(left) = tracker.wait(SLACK).await {
        panic!("{left}");
    }
}

/// A service that keeps what it was told and answers when it likes.
#[derive(Clone, Default)]
struct Seen {
    calls: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<u64>>>,
    finished: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    causes: Arc<Mutex<Vec<&'static str>>>,
}

/// Counts the end of a call, however it comes.
struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

async fn dependency(seen: &Seen, tracker: &Tracker) -> SocketAddr {
    let handler = |State(seen): State<Seen>,
                   Path(takes): Path<u64>,
                   headers: HeaderMap,
                   cx: Context| async move {
        seen.calls.fetch_add(1, SeqCst);
        let _ended = Ended(seen.ended.clone());
        if let Some(value) = headers.get("x-request-timeout-ms") {
            let millis = value.to_str().unwrap().parse().unwrap();
            seen.told.lock().unwrap().push(millis);
        }
        let (causes, request) = (seen.causes.clone(), cx.clone());
        cx.after_stop("cause", move |_| async move {
            let cause = request.cause().map_or("", |cause| cause.as_str());
            causes.lock().unwrap().push(cause);
        });
        tokio::time::sleep(ms(takes)).await;
        seen.finished.fetch_add(1, SeqCst);
        "done"
    };
    let router = Router::new()
        .route("/{takes}", get(handler))
        .with_state(seen.clone())
        .layer(layer("dependency", tracker));
    serve(router).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_fails_at_once_and_calls_nobody() {
    let (tracker, seen) = (Tracker::new(), Seen::default());
    let behind = dependency(&seen, &tracker).await;
    let entered = Arc::new(AtomicUsize::new(0));
    let handler = {
        let entered = entered.clone();
        move |Path(waits): Path<u64>| async move {
            entered.fetch_add(1, SeqCst);
            // Uses its time up before it calls, without looking.
            std::thread::sleep(ms(waits));
            let call = client().get(format!("http://{behind}/0"));
            let answer = call.send_within_deadline().await?;
            Ok::<_, Stopped>(answer.status().to_string())
        }
    };
    let router = Router::new().route("/{waits}", get(handler));
    let at = serve(router.layer(layer("gateway", &tracker))).await;

    // Expired when it arrives, or with nothing left beside the reserve: the handler is not entered.
    for timeout in [0, 1] {
        let (told, _) = ask(at, "/0", timeout).await;
        assert_eq!(told.0, 504, "{told:?}");
    }
    assert_eq!(entered.load(SeqCst), 0);
    // Expired before the call: the dependency hears nothing.
    let start = Instant::now();
    let (late, _) = ask(at, "/300", 200).await;
    assert_eq!((late.0, late.1.as_str()), (504, "deadline_exceeded"));
    assert!(start.elapsed() < SLACK);
    assert_eq!((entered.load(SeqCst), seen.calls.load(SeqCst)), (1, 0));
    // The same with time.
    let (fine, text) = ask(at, "/0", 10_000).await;
    assert_eq!((fine, text.as_str()), (told(200, "", ""), "200 OK"));
    assert_eq!(seen.calls.load(SeqCst), 1);
    idle(&tracker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_callee_gets_what_is_left() {
    let (tracker, seen) = (Tracker::new(), Seen::default());
    let behind = dependency(&seen, &tracker).await;
    let handler = move || async move {
        let mut left = Vec::new();
        for _ in 0..2 {
            tokio::time::sleep(ms(400)).await;
            let call = client().get(format!("http://{behind}/0"));
            call.send_within_deadline().await?;
            left.push(Context::current().remaining().unwrap().as_millis());
        }
        Ok::<_, Stopped>(format!("{left:?}"))
    };
    let router = Router::new().route("/", get(handler));
    let at = serve(router.layer(layer("gateway", &tracker))).await;
    let (answer, text) = ask(at, "/", 8_000).await;
    assert_eq!(answer, told(200, "", ""), "{text}");
    // 8,000 less 50 of reserve, 400 used each time, less what a cold connection may take; the machine may be slow.
    let heard = seen.told.lock().unwrap().clone();
    assert_eq!(heard.len(), 2);
    assert!((3_000..=8_000 - 50 - 400).contains(&heard[0]), "{heard:?}");
    assert!(heard[1] <= heard[0] - 400, "{heard:?}");
    idle(&tracker).await;
}

/// A branch that tidies up when it is stopped.
#[deadline(budget = "20s", cleanup = "2s")]
async fn careful(at: SocketAddr, tidied: Arc<AtomicUsize>) -> Result<u16, Stopped> {
    let call = client().get(format!("http://{at}/15000"));
    match call.send_within_deadline().await {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(stopped) => {
            tidied.fetch_add(1, SeqCst);
            Err(stopped)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_during_a_fan_out_ends_every_branch() {
    let (tracker, behind_tracker) = (Tracker::new(), Tracker::new());
    let seen = Seen::default();
    let behind = dependency(&seen, &behind_tracker).await;
    let (tidied, journal) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let handler = {
        let (tidied, journal) = (tidied.clone(), journal.clone());
        move |cx: Context| async move {
            // What must come to its end all the same.
            let entry = cx.critical("journal", ms(10_000), move |_| async move {
                tokio::time::sleep(ms(300)).await;
                journal.fetch_add(1, SeqCst);
            });
            drop(entry);
            let branches = (0..4).map(|_| required("part", careful(behind, tidied.clone())));
            let page = fan_out_all(branches).await?;
            Ok::<_, Stopped>(page.values.len().to_string())
        }
    };
    let router = Router::new().route("/", get(handler));
    let at = serve(router.layer(layer("gateway", &tracker))).await;

    let client = raw::send(at, &raw::get("/", &[b"x-request-timeout-ms: 20000"])).await;
    let start = Instant::now();
    while seen.calls.load(SeqCst) < 4 {
        assert!(start.elapsed() < SLACK, "{:?}", seen.calls);
        tokio::time::sleep(ms(5)).await;
    }
    assert_eq!(tracker.stats().requests, 1);
    drop(client);

    // Nothing of it is left, here or behind, long before anything would have ended by itself.
    idle(&tracker).await;
    idle(&behind_tracker).await;
    assert!(tracker.stats().is_idle() && behind_tracker.stats().is_idle());
    assert!(start.elapsed() < ms(10_000), "{:?}", start.elapsed());
    assert_eq!(seen.calls.load(SeqCst), 4);
    assert_eq!(
        (seen.ended.load(SeqCst), seen.finished.load(SeqCst)),
        (4, 0)
    );
    let causes = seen.causes.lock().unwrap().clone();
    assert_eq!(causes, ["client_cancelled"; 4]);
    assert_eq!(journal.load(SeqCst), 1);
}

/// A shop whose payments are asked about afterwards.
#[derive(Clone)]
struct Shop {
    pool: Pool,
    unknown: Arc<Mutex<Option<UnknownCommit>>>,
}

async fn pay(State(shop): State<Shop>, Path(waits): Path<u64>) -> Result<Response, AppError> {
    let mut tx = shop.pool.begin().await?;
    tx.execute("INSERT INTO payments VALUES (1)").await?;
    // Computes over the deadline without looking at it.
    std::thread::sleep(ms(waits));
    Ok(match tx.commit_outcome().await {
        CommitOutcome::Committed => StatusCode::CREATED.into_response(),
        CommitOutcome::NotCommitted(stopped) => {
            (StatusCode::SERVICE_UNAVAILABLE, stopped.cause().as_str()).into_response()
        }
        CommitOutcome::Unknown(unknown) => {
            let id = unknown.transaction().map(|id| id.to_string());
            *shop.unknown.lock().unwrap() = Some(unknown);
            (StatusCode::ACCEPTED, id.unwrap_or_default()).into_response()
        }
    })
}

async fn outcome(State(shop): State<Shop>) -> Result<&'static str, AppError> {
    let Some(unknown) = shop.unknown.lock().unwrap().take() else {
        return Ok("nothing to ask about");
    };
    Ok(match shop.pool.resolve(&unknown).await? {
        Resolution::Committed => "committed",
        Resolution::NotCommitted => "not committed",
        Resolution::Unknown => "unknown",
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_side_effect_near_the_deadline_has_an_outcome_that_can_be_asked_for() {
    let db = Db::new().await;
    db.execute("CREATE TABLE payments (v int)").await;
    let tracker = Tracker::new();
    let start = async |proxy: &Proxy| {
        let shop = Shop {
            pool: db.pool_at(proxy.address(), 2, DataPolicy::new()),
            unknown: Arc::default(),
        };
        let router = Router::new()
            .route("/pay/{waits}", get(pay))
            .route("/outcome", get(outcome))
            .with_state(shop);
        serve(router.layer(layer("shop", &tracker))).await
    };
    let rows = async || db.number("SELECT count(*) FROM payments").await;

    let proxy = Proxy::start(db.server.address()).await;
    let at = start(&proxy).await;
    // In time.
    let (paid, _) = ask(at, "/pay/0", 20_000).await;
    assert_eq!((paid.0, rows().await), (201, 1));
    // Over the deadline before the commit: it is not begun, and says so.
    let (refused, text) = ask(at, "/pay/700", 600).await;
    assert!(matches!(refused.0, 503 | 504), "{refused:?}");
    assert!(text.contains("deadline_exceeded"), "{text}");
    assert_eq!(rows().await, 1);
    // Sent, and the answer does not come in time: neither a success nor a failure, and the truth can be asked for.
    for happened in [true, false] {
        let proxy = Proxy::start(db.server.address()).await;
        let at = start(&proxy).await;
        let before = rows().await;
        if happened {
            proxy.swallow_reply_to("COMMIT");
        } else {
            proxy.hold_request("COMMIT");
        }
        let (open, id) = ask(at, "/pay/0", 1_000).await;
        assert_eq!(open.0, 202, "{open:?} {id}");
        assert!(id.parse::<u64>().is_ok(), "{id}");
        // By the time it is asked the server has ended what it still held.
        db.until(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'",
            0,
            SLACK,
        )
        .await;
        let (_, text) = ask(at, "/outcome", 20_000).await;
        let expected = if happened {
            "committed"
        } else {
            "not committed"
        };
        assert_eq!(text, expected);
        assert_eq!(rows().await, before + i64::from(happened));
    }
    idle(&tracker).await;
}

/// Errors of an application that does not care which of its parts was stopped.
#[derive(Debug)]
enum AppError {
    Stopped(Stopped),
    Database(sqlx::Error),
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Stopped(stopped) => stopped.into_response(),
            Self::Database(error) => {
                // Which of the two it is, for the test.
                let why = Stopped::find(&error).map_or_else(
                    || error.to_string(),
                    |stopped| format!("{} in {}", stopped.cause(), stopped.phase()),
                );
                (StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
            }
        }
    }
}

/// Names that are not found, and names that nobody answers about.
struct Names;

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let silent = name.as_str().starts_with("silent");
        Box::pin(async move {
            if silent {
                pending::<()>().await;
            }
            let missing = std::io::Error::other("no such host");
            Err::<Addrs, _>(missing.into())
        })
    }
}

#[deadline(budget = "300ms")]
async fn call_by_name(name: &str) -> Result<u16, Stopped> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Names))
        .build()
        .unwrap();
    let call = client.get(format!("http://{name}.internal/"));
    Ok(call.send_within_deadline().await?.status().as_u16())
}

#[deadline(budget = "300ms")]
async fn in_database(pool: &Pool, sql: &'static str) -> Result<u64, AppError> {
    Ok(pool.execute(sql).await?.rows_affected())
}

#[derive(Clone)]
struct Faulty {
    free: Pool,
    taken: Pool,
}

async fn faulty(State(pools): State<Faulty>, Path(what): Path<String>) -> Result<String, AppError> {
    Ok(match what.as_str() {
        "free" => in_database(&pools.free, "SELECT 1").await?.to_string(),
        "pool" => in_database(&pools.taken, "SELECT 1").await?.to_string(),
        "database" => in_database(&pools.free, "SELECT pg_sleep(10)")
            .await?
            .to_string(),
        name => call_by_name(name).await?.to_string(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_in_names_pool_and_database_are_told_apart() {
    let db = Db::new().await;
    let tracker = Tracker::new();
    let pools = Faulty {
        free: db.pool(2),
        taken: db.pool(1),
    };
    let held = pools.taken.begin().await.unwrap();
    let router = Router::new()
        .route("/{what}", get(faulty))
        .with_state(pools.clone());
    let at = serve(router.layer(layer("gateway", &tracker))).await;

    let start = Instant::now();
    let (fine, _) = ask(at, "/free", 10_000).await;
    assert_eq!(fine, told(200, "", ""));
    for (what, expected) in [
        // It is known at once that there is no such host.
        ("missing", told(502, "dependency_failed", "connect")),
        ("pool", told(504, "dependency_timeout", "pool")),
        ("database", told(504, "dependency_timeout", "database")),
    ] {
        let (found, text) = ask(at, &format!("/{what}"), 10_000).await;
        assert_eq!(found, expected, "{what}: {text}");
    }
    // Nobody answers about the name: the client cannot say that it never came to a connection.
    let (silent, _) = ask(at, "/silent", 10_000).await;
    assert_eq!((silent.0, silent.2.as_str()), (504, "response"));
    assert!(start.elapsed() < ms(10_000), "{:?}", start.elapsed());
    // And with the client's own limit the binding one it is the request's end.
    for (what, phase) in [("pool", "pool"), ("database", "database")] {
        let (found, _) = ask(at, &format!("/{what}"), 250).await;
        assert_eq!(found, told(504, "deadline_exceeded", phase), "{what}");
    }
    // Both are healthy afterwards: the query was ended on the server, the place in the pool's line is free.
    db.until(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND state = 'active'",
        0,
        SLACK,
    )
    .await;
    drop(held);
    let (free, _) = ask(at, "/free", 10_000).await;
    assert_eq!(free.0, 200);
    assert!(pools.taken.begin().await.is_ok());
    idle(&tracker).await;
}
