//! What the command line asks for.

const HELP: &str = "\
cargo bench -- [OPTIONS]

  --most N      the largest number of waiting tasks, from 1,000 on: 1,000,000 unless given, which takes about two
                gigabytes
  --compiler    also what the attribute costs the compiler: minutes, and needs valgrind
  --quick       neither instructions, nor the deepest chain, nor Go

cargo bench --features fast-clock measures with that clock.";

/// Which clock the runtime reads, as it was built.
pub(crate) const FAST_CLOCK: bool = cfg!(feature = "fast-clock");

/// The smallest crowd that is measured.
const FEWEST: u32 = 1_000;

pub(crate) struct Options {
    pub(crate) most: u32,
    pub(crate) compiler: bool,
    pub(crate) quick: bool,
}

impl Options {
    /// Ends the program where it only has to print something.
    pub(crate) fn from_arguments() -> Self {
        let mut options = Self {
            most: 1_000_000,
            compiler: false,
            quick: false,
        };
        let mut arguments = std::env::args().skip(1);
        let mut benchmarking = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // `cargo bench` says so to every benchmark, `cargo test --benches` does not.
                "--bench" => benchmarking = true,
                "--most" => {
                    let most = arguments.next().and_then(|most| most.parse().ok());
                    options.most = most
                        .filter(|most| *most >= FEWEST)
                        .unwrap_or_else(|| refuse("--most takes a number from 1000 on"));
                }
                "--compiler" => options.compiler = true,
                "--quick" => options.quick = true,
                "--help" => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                other => refuse(&format!("no option {other}")),
            }
        }
        if options.quick && options.compiler {
            refuse("--quick leaves out what --compiler asks for");
        }
        if !benchmarking {
            println!("nothing is measured but by `cargo bench`");
            std::process::exit(0);
        }
        options
    }
}

fn refuse(why: &str) -> ! {
    eprintln!("{why}\n\n{HELP}");
    std::process::exit(2);
}
