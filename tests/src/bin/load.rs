//! A server under clients of every kind: `cargo run -p deadline-tests --bin load -- --seconds 60`.
//!
//! Everything is in this process and on loopback. It prints the accounts, and ends with status 1 if they do not balance.

use std::alloc::System;
use std::process::ExitCode;
use std::time::Duration;

use cap::Cap;
use deadline_tests::load::run::{Plan, load};
use deadline_tests::load::watch::Watch;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const USAGE: &str = "usage: load [--seconds N] [--clients N]\n\n  60 seconds and 64 clients unless said otherwise; at most 3600 and 1000";

#[tokio::main]
async fn main() -> ExitCode {
    let (seconds, clients) = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let plan = Plan {
        time: Duration::from_secs(seconds),
        clients,
        live: || ALLOCATOR.allocated(),
    };
    match load(plan, &Watch::listen()).await {
        Ok(accounts) => {
            for table in accounts.tables() {
                table.print();
            }
            let faults = accounts.faults();
            for fault in &faults {
                eprintln!("load: {fault}");
            }
            if faults.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut arguments: impl Iterator<Item = String>) -> Result<(u64, u64), String> {
    let (mut seconds, mut clients) = (60, 64);
    while let Some(argument) = arguments.next() {
        let (figure, most) = match argument.as_str() {
            "--seconds" => (&mut seconds, 3_600),
            "--clients" => (&mut clients, 1_000),
            other => return Err(format!("unknown argument `{other}`")),
        };
        let value = arguments.next().and_then(|value| value.parse().ok());
        *figure = value
            .filter(|value| (1..=most).contains(value))
            .ok_or_else(|| format!("{argument} needs a whole number from 1 to {most}"))?;
    }
    Ok((seconds, clients))
}
