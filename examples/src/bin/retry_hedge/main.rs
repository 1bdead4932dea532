//! Trying again and trying beside, inside one deadline: what happened when.
//!
//! `cargo run -p deadline-examples --bin retry_hedge` needs nothing and takes a second or two. It ends with status 1 if a promise is
//! broken.

mod error;
mod hedges;
mod retries;
mod scene;

use std::io::Write as _;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let scenes = [
        retries::a_slow_server().await,
        retries::no_room_for_another().await,
        retries::each_gets_what_is_left().await,
        retries::an_outage().await,
        retries::a_charge().await,
        hedges::the_second_wins().await,
        hedges::none_that_does_not_fit().await,
        hedges::a_percentile().await,
    ];
    let broken = scenes.iter().filter(|(_, kept)| !kept).count();
    let mut out = std::io::stdout().lock();
    for (rows, _) in &scenes {
        // Whoever reads the rows may have seen enough.
        let _ = writeln!(out, "{rows}");
    }
    let _ = writeln!(
        out,
        "{} scenes, {broken} with a broken promise",
        scenes.len()
    );
    if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
