//! Payments that are made once: idempotency keys and an outbox under deadlines.
//!
//! `cargo run -p deadline-examples --bin ledger` breaks a payment service at every step (the deadline passes there, or the process is
//! killed there), lets it recover, and compares what the client saw, what the service says and what the payment provider has
//! taken. It ends with status 1 if a payment was made twice, got lost, or was called paid and was not.
//!
//! How it is built:
//!
//! * [`service`] takes an order and its outbox entry in one transaction, so that nothing it ever promised can be forgotten;
//!   then it asks the provider, inside the deadline of the request, and settles.
//! * [`outbox`] does the same for whatever a request did not bring to its end: its deadline passed, its process was killed.
//! * [`provider`] is somebody else's service: slow, failing, losing its answers. It takes one key only once.
//! * A client that does not know what happened asks `GET /payments/{key}`, or sends the same again: it gets the stored
//!   answer (the first one's, marked `idempotent-replayed`), 409 while the first is at work, 422 for another order
//!   under the same key.

mod args;
mod error;
mod fault;
mod http;
mod order;
mod outbox;
mod process;
mod provider;
mod row;
mod service;
mod store;
mod story;

use std::io::Write as _;
use std::process::ExitCode;

use crate::args::Args;
use crate::error::BoxError;
use crate::row::Row;

#[tokio::main]
async fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    if args.help {
        let _ = writeln!(std::io::stdout(), "{}", args::USAGE);
        return ExitCode::SUCCESS;
    }
    match run(&args).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ledger: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every promise was kept.
async fn run(args: &Args) -> Result<bool, BoxError> {
    let rows = story::all(&args.database).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", row::HEAD)?;
    for row in &rows {
        writeln!(out, "{row}")?;
    }
    let broken = rows.iter().filter(|row| !row.problems.is_empty()).count();
    let charges: usize = rows.iter().map(Row::charged).sum();
    writeln!(
        out,
        "{} stories, {charges} payments made, {broken} with a broken promise",
        rows.len()
    )?;
    Ok(broken == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Database;

    async fn no_promise_is_broken(database: Database) {
        let rows = story::all(&database).await.expect("the story runs");
        let broken: Vec<_> = rows.iter().filter(|row| !row.problems.is_empty()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
        assert!(rows.len() >= 20, "{} stories", rows.len());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nor_on_a_server() {
        no_promise_is_broken(Database::OwnPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_is_paid_twice_lost_or_falsely_called_paid() {
        no_promise_is_broken(Database::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_cannot_be_an_order_is_refused_and_leaves_nothing() {
        let dir = std::env::temp_dir().join(format!("deadline-ledger-bad-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let place = process::Place::File(dir.join("ledger.db"));
        let faults = fault::Faults::default();
        let process = process::Process::start(&place, "http://127.0.0.1:9/charges", faults).await;
        let process = process.expect("it starts");
        let client = reqwest::Client::builder().no_proxy().build();
        let client = client.expect("a client");
        let url = format!("http://{}/payments", process.address);
        let good = r#"{"account":"ada","cents":500}"#;
        for (key, body, timeout) in [
            (None, good, None),
            (Some(""), good, None),
            (Some("two words"), good, None),
            (Some("k"), r#"{"account":"ada","cents":0}"#, None),
            (Some("k"), r#"{"account":"ada","cents":-5}"#, None),
            (Some("k"), r#"{"account":"ada","cents":1.5}"#, None),
            (Some("k"), r#"{"account":"ada","cents":5,"to":"eve"}"#, None),
            (Some("k"), "", None),
            (Some("k"), good, Some("+100")),
        ] {
            let mut request = client.post(&url).header("content-type", "application/json");
            for (name, value) in [("idempotency-key", key), ("x-request-timeout-ms", timeout)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let answer = request.body(body).send().await.expect("an answer");
            assert_eq!(answer.status(), 400, "{key:?} {body} {timeout:?}");
        }
        let known = client.get(format!("{url}/k")).send().await;
        assert_eq!(known.expect("an answer").status(), 404);
        process.kill();
        let _ = std::fs::remove_dir_all(dir);
    }
}
