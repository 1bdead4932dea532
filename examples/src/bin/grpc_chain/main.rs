//! Three services that speak gRPC by tonic alone, A → B → C, under one deadline.
//!
//! `cargo run -p deadline-examples --bin grpc_chain` needs nothing but loopback, and no `protoc`. It prints what each
//! hop had left when it was entered and when it ended, in milliseconds, and ends with status 1 if a promise is broken.

mod chain;
mod scenes;
mod text;

use std::process::ExitCode;

use crate::chain::{BoxError, Journal};
use crate::scenes::{HEAD, Scenes};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("grpc_chain: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every promise was kept.
async fn run() -> Result<bool, BoxError> {
    let journal = Journal::default();
    let (client, a) = chain::start(&journal).await?;
    let scenes = Scenes { journal, client, a };
    let rows = scenes.all().await?;
    println!("{HEAD}");
    for row in &rows {
        println!("{row}");
    }
    let broken = rows.iter().filter(|row| !row.kept()).count();
    println!("\n{} scenes, {broken} with a broken promise", rows.len());
    Ok(broken == 0)
}
