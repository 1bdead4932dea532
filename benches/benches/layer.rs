//! What the server layer costs a request of an axum service that is called in process.
//!
//! `cargo bench -p deadline-benches --bench layer` prints time and requests a second; `-- --only LAYER N` runs N requests and
//! nothing else, for callgrind: the difference of two runs is exact. `no-op-bare` and `deadline-bare` are the same layers with
//! requests that come without a header.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::error_handling::HandleErrorLayer;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use deadline_benches::{Operation, drive, fastest, runtime};
use deadline_runtime::admission::Admission;
use deadline_runtime::http::{AdmissionLayer, DeadlineLayer, Policy};
use tower::{Service as _, ServiceBuilder};
use tower_http::timeout::TimeoutLayer;

const LONG: Duration = Duration::from_secs(5);

/// The layers by the name for `--only`, whether their requests bring a timeout, and what they are called in the table.
const LAYERS: [(&str, bool, &str); 8] = [
    ("none", true, "none"),
    ("no-op", true, "a layer that does nothing"),
    ("no-op-bare", false, "the same, no header"),
    ("tower-http", true, "tower-http `TimeoutLayer`"),
    (
        "tower",
        true,
        "tower `timeout` + `load_shed` + `concurrency_limit`",
    ),
    ("deadline-bare", false, "`DeadlineLayer`, no header"),
    ("deadline", true, "`DeadlineLayer`, header"),
    (
        "admission",
        true,
        "`DeadlineLayer` and `AdmissionLayer`, header",
    ),
];

fn service(layer: &str) -> Router {
    let router = Router::new().route("/", get(async || "answer"));
    let deadline = DeadlineLayer::new("GET /", Policy::new().max(LONG).report(false));
    match layer {
        "none" => router,
        "no-op" | "no-op-bare" => router.layer(tower::layer::util::Identity::new()),
        "tower-http" => router.layer(TimeoutLayer::with_status_code(
            StatusCode::GATEWAY_TIMEOUT,
            LONG,
        )),
        "tower" => router.layer(
            ServiceBuilder::new()
                .layer(HandleErrorLayer::new(async |_: axum::BoxError| {
                    StatusCode::SERVICE_UNAVAILABLE
                }))
                .load_shed()
                .concurrency_limit(100)
                .timeout(LONG),
        ),
        "deadline" | "deadline-bare" => router.layer(deadline),
        "admission" => router.layer(
            ServiceBuilder::new()
                .layer(deadline)
                .layer(AdmissionLayer::new(admission())),
        ),
        _ => panic!("no layer {layer}, there are {LAYERS:?}"),
    }
}

/// As many slots as the limit of tower's, none of which is ever waited for.
fn admission() -> Admission {
    Admission::builder("GET /", 100)
        .build()
        .expect("an admission")
}

fn request(timeout: bool) -> Request<Body> {
    let request = Request::get("/");
    let request = if timeout {
        request.header("x-request-timeout-ms", "1500")
    } else {
        request
    };
    request.body(Body::empty()).expect("a request")
}

/// One request, its body read to the end.
async fn call(service: &mut Router, request: Request<Body>) -> Option<Bytes> {
    // A router is always ready.
    let response = service.call(request).await.ok()?;
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = std::pin::pin!(response.into_body());
    let mut last = None;
    while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        last = frame.into_data().ok().or(last);
    }
    last
}

fn rows(cx: &mut Context<'_>) {
    println!("| layer | a request | over no layer | requests a second |");
    println!("|---|---:|---:|---:|");
    let mut services = LAYERS.map(|(layer, timeout, _)| (service(layer), timeout));
    let mut all = services.each_mut().map(|(service, timeout)| {
        |cx: &mut Context<'_>| drop(black_box(drive(cx, call(service, request(*timeout)))))
    });
    let all = all.each_mut().map(|one| one as Operation<'_>);
    let took = fastest(cx, 100, 500, all);
    for ((_, _, name), nanos) in LAYERS.iter().zip(took) {
        let over = nanos - took[0];
        println!(
            "| {name} | {nanos:.0} ns | {over:.0} ns | {:.0} |",
            1e9 / nanos
        );
    }
}

fn in_task<T: Send + 'static>(work: impl FnOnce(&mut Context<'_>) -> T + Send + 'static) -> T {
    let mut work = Some(work);
    let future = poll_fn(move |cx| match work.take() {
        Some(work) => Poll::Ready(work(cx)),
        None => Poll::Pending,
    });
    let task = spawned(future);
    runtime().block_on(task)
}

async fn spawned<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    tokio::spawn(future)
        .await
        .expect("the task runs to its end")
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    if let (Some(layer), Some(times)) = (arguments.nth(1), arguments.next()) {
        let times: u32 = times.parse().expect("a number");
        let mut service = service(&layer);
        let timeout = LAYERS
            .iter()
            .any(|(name, timeout, _)| *name == layer && *timeout);
        return in_task(move |cx| {
            for _ in 0..times {
                drop(black_box(drive(cx, call(&mut service, request(timeout)))));
            }
        });
    }
    in_task(rows);
}
