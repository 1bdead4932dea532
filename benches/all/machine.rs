//! What was measured on, and by which clock.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Instant;

use crate::options::FAST_CLOCK;

pub(crate) fn describe() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|all| {
        let line = all.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(": ")?.1.to_owned())
    });
    let busy = fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|load| Some(load.split_once(' ')?.0.to_owned()));
    let compiler = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .arg("--version")
        .output()
        .ok()
        .map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    format!(
        "machine: {}, {} {}, {} cores, load {}  \ncompiler: {}, profile `bench`  \nclock: {}; reading \
         `std::time::Instant` takes {:.0} ns",
        processor.as_deref().unwrap_or("an unknown processor"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        available_parallelism().map_or(1, usize::from),
        busy.as_deref().unwrap_or("unknown"),
        compiler.as_deref().unwrap_or("an unknown compiler"),
        clock(),
        reading(),
    )
}

const fn clock() -> &'static str {
    if FAST_CLOCK {
        "the feature `fast-clock`"
    } else {
        "the default one"
    }
}

/// Nanoseconds, of the fastest round.
fn reading() -> f64 {
    const READINGS: u32 = 1_000;
    let round = || {
        let start = Instant::now();
        for _ in 0..READINGS {
            black_box(Instant::now());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
    };
    (0..200).map(|_| round()).fold(f64::MAX, f64::min)
}
