//! What the server layer costs a request of an axum service that is called in process.
//!
//! `cargo bench -p deadline-benches --bench layer` prints time; `-- --only LAYER N` runs N requests and nothing else, for
//! callgrind: the difference of two runs is exact.
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
use deadline_runtime::http::{DeadlineLayer, Policy};
use tower::{Service as _, ServiceBuilder};
use tower_http::timeout::TimeoutLayer;

const LONG: Duration = Duration::from_secs(5);
const LAYERS: [&str; 5] = ["none", "no-op", "tower-http", "tower", "deadline"];

fn service(layer: &str) -> Router {
    let router = Router::new().route("/", get(async || "answer"));
    match layer {
        "none" => router,
        "no-op" => router.layer(tower::layer::util::Identity::new()),
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
        "deadline" => router.layer(DeadlineLayer::new(
            "GET /",
            Policy::new().max(LONG).report(false),
        )),
        _ => panic!("no layer {layer}, there are {LAYERS:?}"),
    }
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
    let mut services = LAYERS.map(service);
    let mut silent = service("deadline");
    let [none, no_op, tower_http, tower, deadline] = &mut services;
    let run = |cx: &mut Context<'_>, service: &mut Router, timeout| {
        drop(black_box(drive(cx, call(service, request(timeout)))));
    };
    let all: [Operation<'_>; 6] = [
        &mut |cx| run(cx, none, true),
        &mut |cx| run(cx, no_op, true),
        &mut |cx| run(cx, tower_http, true),
        &mut |cx| run(cx, tower, true),
        &mut |cx| run(cx, &mut silent, false),
        &mut |cx| run(cx, deadline, true),
    ];
    let names = [
        "none",
        "a layer that does nothing",
        "tower-http `TimeoutLayer`",
        "tower `timeout` + `load_shed` + `concurrency_limit`",
        "`DeadlineLayer`, no header",
        "`DeadlineLayer`, header",
    ];
    let took = fastest(cx, 100, 500, all);
    for (name, nanos) in names.iter().zip(took) {
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
        return in_task(move |cx| {
            for _ in 0..times {
                drop(black_box(drive(cx, call(&mut service, request(true)))));
            }
        });
    }
    in_task(rows);
}
