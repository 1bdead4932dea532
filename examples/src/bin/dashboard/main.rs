//! One request, from a gateway over its services to a database: ten scenes and what was promised in each.
//!
//! `cargo run -p deadline-examples --bin dashboard` needs nothing but loopback: the servers are real, the database is an
//! embedded `SQLite`. It ends with status 1 if a promise is broken.

mod args;
mod client;
mod database;
mod error;
mod journal;
mod row;
mod scenes;
mod services;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use crate::args::Args;
use crate::scenes::Stage;
use crate::services::World;

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
        // Whoever reads the rows has seen enough.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dashboard: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every promise was kept.
async fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    let world = World::new().await?;
    let gateway = args.serve.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let addresses = world.start(gateway).await?;
    if args.serve.is_some() {
        println!(
            "the gateway listens at http://{}/?ms=50 (ctrl-c ends it)",
            addresses.gateway
        );
        tokio::signal::ctrl_c().await?;
        return Ok(true);
    }
    let rows = Stage::new(&world, addresses).all().await?;
    let mut out = std::io::stdout().lock();
    for row in &rows {
        if args.json {
            writeln!(out, "{}", row.to_json())?;
        } else {
            writeln!(out, "{row}")?;
        }
    }
    let broken = rows.iter().filter(|row| !row.kept()).count();
    if !args.json {
        if let Some(report) = world.report("d") {
            writeln!(out, "the waterfall of scene d, as the gateway saw it")?;
            writeln!(out, "{report}")?;
        }
        writeln!(out, "{} scenes, {broken} with a broken promise", rows.len())?;
    }
    Ok(broken == 0)
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
