//! Running the others, one after the other, printing what they print.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::markdown::Tables;
use crate::options::{FAST_CLOCK, Options};

const BENCHES: [&str; 5] = ["overhead", "fan_out", "combinators", "growth", "layer"];

/// What came of running them.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) tables: Tables,
    /// The commands, as the rows name them, that ran to their end.
    pub(crate) ran: Vec<&'static str>,
    /// Whatever was skipped or failed, to be said once more at the end.
    pub(crate) gaps: Vec<String>,
}

impl Runs {
    pub(crate) fn all(options: &Options) -> Self {
        let mut runs = Self::default();
        // Built before anything is measured, in a build of their own.
        let each = BENCHES.iter().flat_map(|bench| ["--bench", bench]);
        if !succeeds(cargo().args(each).arg("--no-run")) {
            eprintln!("the benchmarks do not build");
            std::process::exit(1);
        }
        runs.benches(options);
        if options.quick {
            runs.gap("left out (--quick): instructions, the deepest chain, Go".to_owned());
        } else {
            runs.instructions();
            runs.compiler(options);
            runs.go();
        }
        runs
    }

    fn benches(&mut self, options: &Options) {
        for bench in BENCHES {
            let mut command = cargo();
            command.args(["--bench", bench]);
            if bench == "growth" {
                command.args(["--", "--most", &options.most.to_string()]);
            }
            self.run(
                &format!("cargo bench -p deadline-benches --bench {bench}"),
                &mut command,
            );
        }
        self.ran.push("cargo bench");
    }

    fn instructions(&mut self) {
        let mut command = script("benches/instructions");
        if FAST_CLOCK {
            command.env("BENCH_FEATURES", "fast-clock");
        }
        if self.run("benches/instructions", &mut command) {
            self.ran.push("benches/instructions");
        }
    }

    fn compiler(&mut self, options: &Options) {
        let mut command = script("ui-tests/cost");
        if options.compiler {
            if self.run("ui-tests/cost", &mut command) {
                self.ran.push("ui-tests/cost");
            }
        } else if self.run("ui-tests/cost --depth", command.arg("--depth")) {
            self.ran.push("ui-tests/cost --depth");
        }
    }

    fn go(&mut self) {
        if !succeeds(Command::new("go").arg("version").stdout(Stdio::null())) {
            self.gap(
                "SKIPPED: go is not installed, so nothing stands beside its `context`".to_owned(),
            );
            return;
        }
        let mut command = Command::new("go");
        command
            .args(["run", "."])
            .current_dir(root().join("benches/go"));
        if self.run("cd benches/go && go run .", &mut command) {
            self.ran.push("benches/go");
        }
    }

    /// Prints what it prints, and reads its tables; false where figures will be missing.
    fn run(&mut self, name: &str, command: &mut Command) -> bool {
        println!("\n## `{name}`\n");
        let mut whole = true;
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
                self.tables.read(&line);
                if line.starts_with("SKIPPED") {
                    whole = false;
                    self.gaps.push(line);
                }
            }
            self.tables.read("");
            child.wait()
        });
        match ended {
            Ok(status) if status.success() => return whole,
            Ok(status) => self.gap(format!("FAILED: {name}: {status}")),
            Err(fault) => self.gap(format!("FAILED: {name} could not be run: {fault}")),
        }
        false
    }

    fn gap(&mut self, gap: String) {
        println!("\n{gap}");
        self.gaps.push(gap);
    }

    /// Whether anything that was asked for is missing, rather than left out.
    pub(crate) fn failed(&self) -> bool {
        self.gaps.iter().any(|gap| gap.starts_with("FAILED"))
    }
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
