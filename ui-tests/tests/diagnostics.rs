//! A user's own mistakes are shown where they would be shown without us.
//!
//! Each file in `ui-tests/diagnostics` has one mistake. It is checked as it is and with the attribute blanked out; the
//! first diagnostic of both must have the same code and start at the same line and column. One cargo run checks all.
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Of the twenty kinds that most users meet (files `01` to `20`) at least this many stay.
const STAY_OF_TWENTY: usize = 17;

/// Of all files at least this part, in percent.
const STAY_OF_ALL: usize = 85;

/// Level, code and position of one diagnostic.
type Place = (String, String, u64, u64);

/// The diagnostics of one binary, and the words in which rustc shows them.
#[derive(Default)]
struct Shown {
    places: Vec<Place>,
    words: String,
}

#[test]
fn diagnostics_stay_in_place() {
    let cases = cases();
    let package = write_package(&cases);
    let shown = check(&package);
    let none = Shown::default();

    let mut moved = BTreeMap::new();
    let mut reworded = Vec::new();
    for name in cases.keys() {
        let ours = shown.get(&format!("ours_{name}")).unwrap_or(&none);
        let plain = shown.get(&format!("plain_{name}")).unwrap_or(&none);
        assert!(!plain.places.is_empty(), "{name} is no mistake without us");
        if ours.places.first() != plain.places.first() {
            moved.insert(name.as_str(), ("moved", &ours.places, &plain.places));
        } else if ours.places != plain.places {
            moved.insert(
                name.as_str(),
                ("stays, but the rest differs", &ours.places, &plain.places),
            );
        } else if ours.words != plain.words {
            reworded.push(name.as_str());
        }
    }

    let stays = |name: &&String| {
        moved
            .get(name.as_str())
            .is_none_or(|(how, ..)| *how != "moved")
    };
    let stay = cases.keys().filter(stays).count();
    let of_twenty = cases.keys().take(20).filter(stays).count();
    println!(
        "{of_twenty} of the twenty usual mistakes stay, {stay} of all {}",
        cases.len()
    );
    for (name, (how, ours, plain)) in &moved {
        println!("{name}: {how}");
        println!("    without us {}", text(plain));
        println!("    with us    {}", text(ours));
    }
    println!("same place, other words: {}", reworded.join(", "));
    assert!(
        of_twenty >= STAY_OF_TWENTY,
        "only {of_twenty} of the twenty usual mistakes stay"
    );
    assert!(
        stay * 100 >= cases.len() * STAY_OF_ALL,
        "only {stay} of {} stay",
        cases.len()
    );
}

fn text(places: &[Place]) -> String {
    let places: Vec<_> = places
        .iter()
        .map(|(level, code, line, column)| format!("{level} {code} at {line}:{column}"))
        .collect();
    if places.is_empty() {
        "nothing".to_owned()
    } else {
        places.join(", ")
    }
}

/// Name and text of each file.
fn cases() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("diagnostics");
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder of the mistakes") {
        let path = entry.expect("an entry of it").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        cases.insert(
            name,
            fs::read_to_string(&path).expect("a file with a mistake"),
        );
    }
    cases
}

/// A package with two binaries a case; its target directory is kept, so that only the first run builds tokio.
fn write_package(cases: &BTreeMap<String, String>) -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics");
    let bin = package.join("src/bin");
    if bin.exists() {
        fs::remove_dir_all(&bin).expect("old cases can be removed");
    }
    fs::create_dir_all(&bin).expect("a folder for the package");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"diagnostics\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ndeadline-runtime = {{ path = {:?} }}\n\n[workspace]\n",
        workspace.join("deadline-runtime")
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    fs::copy(workspace.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
    for (name, source) in cases {
        fs::write(bin.join(format!("ours_{name}.rs")), source).expect("a case");
        fs::write(bin.join(format!("plain_{name}.rs")), without_us(source)).expect("a case");
    }
    package
}

/// Blanks our lines, so that all others keep their number.
fn without_us(source: &str) -> String {
    let ours =
        |line: &str| line.starts_with("#[deadline(") || line == "use deadline_runtime::deadline;";
    source
        .lines()
        .map(|line| {
            if ours(line.trim()) {
                "\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

/// The diagnostics of each binary, in the order of the compiler.
fn check(package: &Path) -> BTreeMap<String, Shown> {
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--bins",
            "--keep-going",
            "--offline",
            "--message-format=json",
        ])
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env_remove("RUSTFLAGS")
        .current_dir(package)
        .output()
        .expect("cargo runs");
    let mut shown = BTreeMap::<_, Shown>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let report: Value = serde_json::from_str(line).expect("cargo speaks JSON");
        if report["reason"] != "compiler-message" {
            continue;
        }
        let target = report["target"]["name"]
            .as_str()
            .expect("a target")
            .to_owned();
        if let Some(place) = place(&report["message"]) {
            let shown: &mut Shown = shown.entry(target).or_default();
            shown.places.push(place);
            shown.words += &words(&report["message"]);
        }
    }
    assert!(
        !shown.is_empty(),
        "nothing was checked: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    shown
}

/// Where a diagnostic points; none for the summary at the end.
fn place(message: &Value) -> Option<Place> {
    let spans = message["spans"].as_array()?;
    let span = spans.iter().find(|span| span["is_primary"] == true)?;
    Some((
        message["level"].as_str()?.to_owned(),
        message["code"]["code"]
            .as_str()
            .unwrap_or("without code")
            .to_owned(),
        span["line_start"].as_u64()?,
        span["column_start"].as_u64()?,
    ))
}

/// The rendered text without the names of the two variants and our own line in the excerpt.
fn words(message: &Value) -> String {
    let rendered = message["rendered"].as_str().unwrap_or_default();
    let own = |line: &&str| !line.contains("#[deadline(");
    let text: String = rendered.lines().filter(own).collect();
    text.replace("ours_", "").replace("plain_", "")
}
