//! The table at the end.

use crate::markdown::Tables;
use crate::options::FAST_CLOCK;
use crate::runs::Runs;
use crate::targets::{Cell, INSTRUCTIONS, NEIGHBOURS, Row, TARGETS, Target};

pub(crate) fn print(tables: &Tables) {
    println!(
        "| operation: yardstick | deadline | yardstick | ratio | target | with `fast-clock` | met | instructions: yardstick | explained under |"
    );
    println!("|---|---:|---:|---:|---:|---:|---|---:|---|");
    for section in TARGETS {
        // A link, for who puts the table at the head of BENCHMARKS.md.
        let anchor = section.title.to_lowercase().replace(' ', "-");
        for row in section.rows {
            println!(
                "{} [{}](#{anchor}) |",
                with_target(tables, row),
                section.title
            );
        }
    }
    println!(
        "\nBeside neighbours, without a target. Go is another language's runtime, and no yardstick.\n"
    );
    println!("| operation: neighbour | deadline | neighbour | ratio | instructions: neighbour |");
    println!("|---|---:|---:|---:|---:|");
    for row in NEIGHBOURS {
        println!(
            "| {} | {} |",
            Measured::of(tables, row).cells(row),
            counted(tables, row)
        );
    }
}

/// Rows whose command ran and yet printed no such line: it was renamed on one side only.
pub(crate) fn missing(runs: &Runs) -> Vec<String> {
    let targets = TARGETS.iter().flat_map(|section| section.rows);
    let rows = targets.chain(NEIGHBOURS);
    rows.filter(|row| runs.ran.contains(&row.command))
        .filter(|row| {
            let measured = Measured::of(&runs.tables, row);
            measured.ours.is_none() || (row.theirs.is_some() && measured.theirs.is_none())
        })
        .map(|row| {
            format!(
                "FAILED: `{}` printed no line for: {}",
                row.command, row.name
            )
        })
        .collect()
}

/// What was printed of a row.
struct Measured<'a> {
    ours: Option<&'a str>,
    theirs: Option<&'a str>,
}

impl<'a> Measured<'a> {
    fn of(tables: &'a Tables, row: &Row) -> Self {
        Self {
            ours: find(tables, row.ours),
            theirs: row.theirs.and_then(|cell| find(tables, cell)),
        }
    }

    fn ratio(&self) -> Option<f64> {
        let ratio = figure(self.ours?)? / figure(self.theirs?)?;
        ratio.is_finite().then_some(ratio)
    }

    fn cells(&self, row: &Row) -> String {
        // What is not there was skipped: the command that prints it stands in its place.
        let command = format!("`{}`", row.command);
        format!(
            "{} | {} | {} | {}",
            row.name,
            self.ours.unwrap_or(&command),
            self.theirs
                .unwrap_or(if row.theirs.is_some() { &command } else { "" }),
            self.ratio()
                .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        )
    }
}

fn with_target(tables: &Tables, row: &Row) -> String {
    let measured = Measured::of(tables, row);
    let ours = measured.ours.and_then(figure);
    let [default, fast] = match row.target {
        Target::None => [None, None],
        Target::Ratio(default, fast) => [
            Some(format!("≤ {default}")),
            fast.map(|fast| format!("≤ {fast}")),
        ],
        Target::AtMost(most) => [Some(format!("≤ {most}")), None],
        Target::AtLeast(least) => [Some(format!("≥ {least}")), None],
    }
    .map(Option::unwrap_or_default);
    let met = match row.target {
        Target::None => None,
        Target::Ratio(default, fast) => {
            let target = fast.filter(|_| FAST_CLOCK).unwrap_or(default);
            // As printed: a ratio of 1.004 is 1.00.
            measured.ratio().map(|ratio| ratio < target + 0.005)
        }
        Target::AtMost(most) => ours.map(|ours| ours <= most),
        Target::AtLeast(least) => ours.map(|ours| ours >= least),
    };
    let met = match met {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "not measured",
    };
    format!(
        "| {} | {} | {fast} | {met} | {} |",
        measured.cells(row),
        default,
        counted(tables, row)
    )
}

/// Instructions of ours and the yardstick's.
fn counted(tables: &Tables, row: &Row) -> String {
    let counts = row.instructions.and_then(|line| {
        let ours = tables.cell(INSTRUCTIONS, line, "deadline")?;
        let theirs = tables.cell(INSTRUCTIONS, line, "yardstick")?;
        Some(format!("{ours}: {theirs}"))
    });
    counts.unwrap_or_default()
}

fn find(tables: &Tables, cell: Cell) -> Option<&str> {
    let whole = tables.cell(cell.table, cell.line, cell.column)?;
    if whole.contains(" / ") {
        whole.split(" / ").nth(cell.half)
    } else {
        Some(whole)
    }
}

/// The number that a cell begins with.
fn figure(cell: &str) -> Option<f64> {
    cell.split_whitespace().next()?.parse().ok()
}
