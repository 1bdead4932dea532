//! The sum that the compiler finds is the right one, for bodies of every form.
//!
//! Random bodies are written into a package, each twice: with a budget that just fits and with a millisecond less. One
//! `cargo check` must refuse the second of each, with the sum that was found here by walking every way through the body.
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TREES: u64 = 150;

/// What the callees declare.
const FIGURES: [u64; 8] = [1, 2, 3, 5, 7, 11, 13, 17];

/// A statement of a body.
enum Tree {
    Call(u64),
    /// `#[budget]`, so often.
    Budget(u64, u64),
    /// Not annotated.
    Other,
    Sequence(Vec<Tree>),
    If(Box<Tree>, Box<Tree>),
    IfOnly(Box<Tree>),
    Match(Vec<Tree>),
    LetElse(u64, Box<Tree>),
    Join(Vec<u64>),
    For(Box<Tree>),
    While(u64, Box<Tree>),
    /// `loop { BEFORE; if … { break; } AFTER }`.
    Loop(Box<Tree>, Box<Tree>),
    /// The same with a call in the branch that leaves.
    LoopUntil(u64, Box<Tree>),
    Return(u64),
    /// Runs elsewhere.
    Closure(u64),
}

/// How a way through a body ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Through,
    Break,
    /// By `return`, or in the second round of a loop.
    Over,
}

/// Every way, and what it takes.
type Ways = BTreeSet<(End, u64)>;

fn ways(tree: &Tree) -> Ways {
    let through = |figure| Ways::from([(End::Through, figure)]);
    match tree {
        Tree::Call(figure) => through(*figure),
        Tree::Budget(figure, times) => through(figure * times),
        Tree::Other | Tree::Closure(_) => through(0),
        Tree::Sequence(steps) => steps
            .iter()
            .fold(through(0), |before, step| follow(&before, &ways(step))),
        Tree::If(left, right) => &ways(left) | &ways(right),
        Tree::IfOnly(then) => &ways(then) | &through(0),
        Tree::Match(arms) => arms.iter().flat_map(ways).collect(),
        Tree::LetElse(figure, diverge) => {
            let left = follow(&ways(diverge), &Ways::from([(End::Over, 0)]));
            follow(&through(*figure), &(&left | &through(0)))
        }
        Tree::Join(figures) => through(figures.iter().copied().max().unwrap_or(0)),
        Tree::For(body) => &left(&ways(body), End::Through) | &through(0),
        Tree::While(figure, body) => {
            let round = follow(&through(*figure), &ways(body));
            &left(&round, End::Through) | &through(*figure)
        }
        Tree::Loop(before, after) => {
            let rest = &Ways::from([(End::Break, 0)]) | &ways(after);
            left(&follow(&ways(before), &rest), End::Over)
        }
        Tree::LoopUntil(figure, body) => {
            let rest = &Ways::from([(End::Break, *figure)]) | &ways(body);
            left(&rest, End::Over)
        }
        Tree::Return(figure) => Ways::from([(End::Over, *figure)]),
    }
}

fn follow(before: &Ways, next: &Ways) -> Ways {
    before
        .iter()
        .flat_map(|(end, figure)| match end {
            End::Through => next
                .iter()
                .map(|(end, more)| (*end, figure + more))
                .collect(),
            End::Break | End::Over => vec![(*end, *figure)],
        })
        .collect()
}

/// Out of a loop: by a `break`, or at the end of its one round.
fn left(round: &Ways, at_the_end: End) -> Ways {
    round
        .iter()
        .map(|(end, figure)| match end {
            End::Through => (at_the_end, *figure),
            End::Break => (End::Through, *figure),
            End::Over => (End::Over, *figure),
        })
        .collect()
}

fn write(tree: &Tree, body: &mut String) {
    let block = |tree: &Tree| {
        let mut text = String::new();
        write(tree, &mut text);
        format!("{{ {text} }}")
    };
    let text = match tree {
        Tree::Call(figure) => format!("call_{figure}().await?;"),
        Tree::Budget(figure, 1) => format!("#[budget(\"{figure}ms\")] other().await;"),
        Tree::Budget(figure, times) => {
            format!("#[budget(\"{figure}ms\", times = {times})] for _ in 0..x {{ other().await; }}")
        }
        Tree::Other => "other().await;".to_owned(),
        Tree::Sequence(steps) => {
            steps.iter().for_each(|step| write(step, body));
            return;
        }
        Tree::If(left, right) => format!("if x > 1 {} else {}", block(left), block(right)),
        Tree::IfOnly(then) => format!("if x > 1 {}", block(then)),
        Tree::Match(arms) => {
            let mut text = "match x { ".to_owned();
            for (number, arm) in arms.iter().enumerate() {
                let _ = write!(text, "{number} => {}, ", block(arm));
            }
            text + "_ => {} }"
        }
        Tree::LetElse(figure, diverge) => {
            let mut text = String::new();
            write(diverge, &mut text);
            format!("let Ok(_) = call_{figure}().await else {{ {text} return Ok(()); }};")
        }
        Tree::Join(figures) => {
            let calls: Vec<_> = figures
                .iter()
                .map(|figure| format!("call_{figure}()"))
                .collect();
            format!("let _ = tokio::join!({});", calls.join(", "))
        }
        Tree::For(of) => format!("for _ in 0..x {}", block(of)),
        Tree::While(figure, of) => format!("while call_{figure}().await.is_ok() {}", block(of)),
        Tree::Loop(before, after) => {
            format!(
                "loop {{ {} if x > 1 {{ break; }} {} }}",
                block(before),
                block(after)
            )
        }
        Tree::LoopUntil(figure, of) => {
            format!(
                "loop {{ if x > 1 {{ call_{figure}().await?; break; }} {} }}",
                block(of)
            )
        }
        Tree::Return(figure) => format!("if x > 2 {{ return call_{figure}().await; }}"),
        Tree::Closure(figure) => {
            format!(
                "let _ = async || call_{figure}().await; let _ = async {{ call_{figure}().await }};"
            )
        }
    };
    body.push_str(&text);
    body.push('\n');
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (next ^ (next >> 31)) % limit
    }

    fn figure(&mut self) -> u64 {
        let index = self.below(FIGURES.len() as u64);
        FIGURES[usize::try_from(index).expect("a small number")]
    }

    fn several<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = 1 + self.below(4);
        (0..count).map(|_| one(self)).collect()
    }

    fn tree(&mut self, depth: u64) -> Tree {
        let kinds = if depth == 0 { 6 } else { 15 };
        let inner = |random: &mut Self| random.tree(depth.saturating_sub(1));
        let boxed = |random: &mut Self| Box::new(inner(random));
        match self.below(kinds) {
            0 | 1 => Tree::Call(self.figure()),
            2 => Tree::Budget(self.figure(), 1 + self.below(3)),
            3 => Tree::Other,
            4 => Tree::Join(self.several(Self::figure)),
            5 => Tree::Closure(self.figure()),
            6 => Tree::If(boxed(self), boxed(self)),
            7 => Tree::Match(self.several(inner)),
            8 => Tree::LetElse(self.figure(), boxed(self)),
            9 => Tree::For(boxed(self)),
            10 => Tree::While(self.figure(), boxed(self)),
            11 => Tree::Loop(boxed(self), boxed(self)),
            12 => Tree::LoopUntil(self.figure(), boxed(self)),
            13 => Tree::Sequence(vec![
                inner(self),
                Tree::IfOnly(Box::new(Tree::Return(self.figure()))),
                inner(self),
            ]),
            _ => Tree::Sequence(self.several(inner)),
        }
    }
}

/// `return` stands in a branch of its own, so that it can be passed.
fn reference(tree: &Tree) -> u64 {
    ways(tree)
        .into_iter()
        .map(|(_, sum)| sum)
        .max()
        .unwrap_or(0)
}

#[test]
fn sums_are_those_of_every_way_walked() {
    let mut random = Random(1);
    let mut source =
        "#![allow(warnings)]\nuse deadline_runtime::{Stopped, deadline};\nasync fn other() {}\n"
            .to_owned();
    for figure in FIGURES {
        let _ = write!(
            source,
            "#[deadline(budget = \"{figure}ms\")]\nasync fn call_{figure}() -> Result<(), Stopped> {{ Ok(()) }}\n"
        );
    }
    let mut expected = BTreeMap::new();
    for number in 0..TREES {
        // Without the call, figures that are all written in the body would be refused before there are types.
        let mut steps = vec![Tree::Call(random.figure())];
        steps.extend(random.several(|random| random.tree(3)));
        let tree = Tree::Sequence(steps);
        let sum = reference(&tree);
        if sum < 2 {
            continue;
        }
        let mut body = String::new();
        write(&tree, &mut body);
        for (name, budget) in [("fits", sum), ("over", sum - 1)] {
            let _ = write!(
                source,
                "#[deadline(budget = \"{budget}ms\")]\nasync fn {name}_{number}(x: u32) -> Result<(), Stopped> {{\n{body}Ok(())\n}}\n"
            );
        }
        expected.insert(format!("over_{number}"), sum);
    }
    assert!(expected.len() > 100, "only {} bodies", expected.len());

    let (found, errors) = check(&package("trees", &source), None);
    assert_eq!(errors, expected.len(), "other errors: {found:?}");
    assert_eq!(found, expected);
}

#[test]
fn a_build_without_the_check_refuses_nothing() {
    let source = r#"
        #![allow(dead_code)]
        use deadline_runtime::{Stopped, deadline};

        #[deadline(budget = "2s")]
        async fn long() -> Result<(), Stopped> { Ok(()) }

        #[deadline(budget = "1s")]
        async fn short() -> Result<(), Stopped> { long().await }
    "#;
    let package = package("unchecked", source);
    let (found, errors) = check(&package, None);
    assert_eq!((errors, found.get("short")), (1, Some(&2_000)));
    assert_eq!(check(&package, Some("--cfg deadline_unchecked")).1, 0);
}

fn package(name: &str, source: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(package.join("src")).expect("a folder for the package");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ndeadline-runtime = {{ path = {:?} }}\n\
         tokio = {{ version = \"1\", features = [\"macros\"] }}\n\n[workspace]\n",
        workspace.join("deadline-runtime")
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    fs::copy(workspace.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
    fs::write(package.join("src/lib.rs"), source).expect("the functions");
    package
}

/// The sum of each function that was refused, and the number of all errors.
fn check(package: &Path, flags: Option<&str>) -> (BTreeMap<String, u64>, usize) {
    let target = flags.map_or("trees-target", |_| "unchecked-target");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--lib", "--offline", "--message-format=json"])
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(target),
        )
        .env("RUSTFLAGS", flags.unwrap_or_default())
        .current_dir(package)
        .output()
        .expect("cargo runs");
    let (mut sums, mut errors) = (BTreeMap::new(), 0);
    let mut finished = false;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let report: Value = serde_json::from_str(line).expect("cargo speaks JSON");
        finished |= report["reason"] == "build-finished";
        let message = &report["message"];
        if message["level"] != "error" || message["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        errors += 1;
        let text = message["message"].as_str().expect("a text");
        if let Some((name, sum)) = refused(text) {
            sums.insert(name, sum);
        } else {
            println!("{text}");
        }
    }
    assert!(finished, "{}", String::from_utf8_lossy(&output.stderr));
    (sums, errors)
}

/// What stands in "the calls in `over_7` need 81ms, but its budget is 80ms".
fn refused(text: &str) -> Option<(String, u64)> {
    let (_, rest) = text.split_once("the calls in `")?;
    let (name, rest) = rest.split_once("` need ")?;
    let (figure, _) = rest.split_once(", but")?;
    let sum = millis(figure)?;
    let listed: u64 = text
        .lines()
        .skip(1)
        .filter_map(|line| line.strip_prefix("  "))
        .filter_map(|line| millis(line.trim_start().split("  ").next()?))
        .sum();
    assert_eq!(listed, sum, "the lines do not add up: {text}");
    Some((name.to_owned(), sum))
}

/// Of `81ms` and `1.05s`.
fn millis(figure: &str) -> Option<u64> {
    if let Some(millis) = figure.strip_suffix("ms") {
        return millis.parse().ok();
    }
    let seconds = figure.strip_suffix('s')?;
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part = format!("{part:0<3}");
    Some(whole.parse::<u64>().ok()? * 1_000 + part.parse::<u64>().ok()?)
}
