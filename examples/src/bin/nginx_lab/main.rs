//! nginx in front of an API in front of a slow dependency: one deadline, from the edge on.
//!
//! `cargo run -p deadline-examples --bin nginx_lab` starts nginx with the `nginx.conf` beside this file, the API and its dependency on
//! loopback, sends requests and prints what happened in each. It ends with status 1 if a promise is broken.

mod api;
mod client;
mod nginx;
mod row;
mod scenes;

use std::io::Write as _;
use std::process::ExitCode;

use crate::api::Api;
use crate::nginx::Nginx;
use crate::scenes::Lab;

const USAGE: &str = "\
usage: nginx_lab

  Sends requests through nginx to an API with a deadline, and prints what happened. Needs nginx:
  on Debian and Ubuntu `apt-get install nginx`, on macOS `brew install nginx`.";

#[tokio::main]
async fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(other) => {
            eprintln!("unknown argument `{other}`\n\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("nginx_lab: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every promise was kept.
async fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let api = Api::start().await?;
    let nginx = Nginx::start(api.address)?;
    let rows = Lab::new(&api, &nginx)?.all().await?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}", row::table(&rows))?;
    let broken = rows.iter().filter(|row| !row.kept()).count();
    writeln!(
        out,
        "\n{} scenes, {broken} with a broken promise",
        rows.len()
    )?;
    Ok(broken == 0)
}
