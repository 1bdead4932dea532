//! What the receiving layer costs in an axum service that is called in process.
//!
//! `cargo bench --bench http_layer --features http -- <kind> <count>` makes so many calls and says nothing: it is to be run
//! under callgrind, twice with different counts, and the difference divided by that of the counts. `BENCHMARKS.md` has
//! the figures. Without arguments it makes a few calls of every kind, so that it is known to work.
#![allow(missing_docs, clippy::pedantic)]

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use deadline_runtime::http::{DeadlineLayer, Policy, Trust};
use http::Request;
use http_body_util::BodyExt;
use tower::ServiceExt;

const KINDS: [&str; 5] = ["none", "noop", "layer", "header", "refused"];

fn request(kind: &str) -> Request<Body> {
    let request = Request::builder()
        .uri("/")
        .header("x-request-id", "8f14e45f");
    let request = match kind {
        "header" => request.header("x-request-timeout-ms", "1500"),
        "refused" => request.header("x-request-timeout-ms", "0"),
        _ => request,
    };
    request.body(Body::empty()).unwrap()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let runs: Vec<(&str, usize)> = match args.as_slice() {
        [kind, count] => vec![(kind.as_str(), count.parse().unwrap())],
        _ => KINDS.map(|kind| (kind, 10)).to_vec(),
    };
    for (kind, count) in runs {
        let plain = Router::new().route("/", get(async || "ok"));
        let policy = Policy::new()
            .max(Duration::from_secs(10))
            .trust(Trust::Full)
            .report(false);
        let layered = plain
            .clone()
            .layer(DeadlineLayer::new("bench", policy).outermost(true));
        let service = match kind {
            "none" => plain,
            "noop" => plain.layer(tower::layer::util::Identity::new()),
            _ => layered,
        };
        runtime.block_on(async {
            for _ in 0..count {
                let response = service.clone().oneshot(request(kind)).await.unwrap();
                let status = if kind == "refused" { 504 } else { 200 };
                assert_eq!(response.status().as_u16(), status);
                response.into_body().collect().await.unwrap();
            }
        });
    }
}
