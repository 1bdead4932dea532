//! Every benchmark, and then one table: each operation beside its yardstick, its target, and whether the target is met.
//!
//! `cargo bench` runs it; `cargo bench -- --help` says what else. The benchmarks print tables of their own while they run;
//! the last one is made of those, so nothing is measured twice. What a machine has no tool for is skipped, and said.
#![allow(missing_docs, reason = "measures and prints; nobody calls it")]

mod machine;
mod markdown;
mod options;
mod runs;
mod summary;
mod targets;

use options::Options;
use runs::Runs;

fn main() {
    let options = Options::from_arguments();
    let machine = machine::describe();
    println!("{machine}");
    let mut runs = Runs::all(&options);
    println!(
        "\n# Summary\n\n{machine}  \nup to {} waiting tasks\n",
        options.most
    );
    summary::print(&runs.tables);
    if !runs.failed() {
        let missing = summary::missing(&runs);
        runs.gaps.extend(missing);
    }
    println!();
    for gap in &runs.gaps {
        println!("{gap}");
    }
    if runs.failed() {
        std::process::exit(1);
    }
}
