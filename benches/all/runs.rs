//! Running the others, one after the other, printing what they print.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::markdown::Tables;
use crate::options::{FAST_CLOCK, Options};

const BENCHES: [&str; 5] = ["overhead", "fan_out", "combinators", "growth", "layer"];

pub(crate) fn all(options: &Options, tables: &mut Tables) {
    // Built before anything is measured, in a build of their own.
    if !succeeds(cargo().arg("--no-run")) {
        eprintln!("the benchmarks do not build");
        std::process::exit(1);
    }
    for bench in BENCHES {
        let mut command = cargo();
        command.args(["--bench", bench]);
        if let (Some(most), "growth") = (options.most, bench) {
            command.args(["--", "--most", &most.to_string()]);
        }
        run(
            &format!("cargo bench -p deadline-benches --bench {bench}"),
            &mut command,
            tables,
        );
    }
    if options.quick {
        println!("\nSKIPPED (--quick): benches/instructions, ui-tests/cost --depth, benches/go");
        return;
    }
    instructions(tables);
    depth(options, tables);
    go(tables);
}

fn instructions(tables: &mut Tables) {
    let mut command = script("benches/instructions");
    if FAST_CLOCK {
        command.env("BENCH_FEATURES", "fast-clock");
    }
    run("benches/instructions", &mut command, tables);
}

fn depth(options: &Options, tables: &mut Tables) {
    let mut command = script("ui-tests/cost");
    if options.compiler {
        run("ui-tests/cost", &mut command, tables);
    } else {
        run("ui-tests/cost --depth", command.arg("--depth"), tables);
    }
}

fn go(tables: &mut Tables) {
    if !succeeds(Command::new("go").arg("version").stdout(Stdio::null())) {
        println!("\nSKIPPED: go is not installed, so nothing stands beside its `context`");
        return;
    }
    let mut command = Command::new("go");
    command
        .args(["run", "."])
        .current_dir(root().join("benches/go"));
    run("cd benches/go && go run .", &mut command, tables);
}

/// `cargo bench` of the measuring package alone: with the whole workspace selected, features of its tests would be in it.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["bench", "-q", "-p", "deadline-benches"]);
    if FAST_CLOCK {
        command.args(["--features", "fast-clock"]);
    }
    command.current_dir(root());
    command
}

fn script(path: &str) -> Command {
    let mut command = Command::new("bash");
    command.arg(path).current_dir(root());
    command
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Prints what it prints, and reads its tables. What fails is said, and leaves gaps in the summary.
fn run(name: &str, command: &mut Command, tables: &mut Tables) {
    println!("\n## `{name}`\n");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let ended = child.and_then(|mut child| {
        for line in child
            .stdout
            .take()
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines())
        {
            let line = line?;
            println!("{line}");
            tables.read(&line);
        }
        tables.read("");
        child.wait()
    });
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => println!("FAILED: {name}: {status}"),
        Err(fault) => println!("FAILED: {name} could not be run: {fault}"),
    }
}
