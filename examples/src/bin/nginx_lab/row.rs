//! One scene as one line, and its promises below it.

use std::fmt::Write as _;

#[derive(Default)]
pub struct Row {
    pub asked: String,
    pub answered: String,
    /// What the API was told in `x-request-timeout-ms`.
    pub told: String,
    pub handlers: String,
    pub logged: String,
    pub promises: Vec<(&'static str, bool)>,
}

impl Row {
    pub fn promise(&mut self, text: &'static str, kept: bool) {
        self.promises.push((text, kept));
    }

    pub fn kept(&self) -> bool {
        !self.promises.is_empty() && self.promises.iter().all(|(_, kept)| *kept)
    }

    fn cells(&self) -> [&str; 5] {
        [
            &self.asked,
            &self.answered,
            &self.told,
            &self.handlers,
            &self.logged,
        ]
    }
}

const HEADING: [&str; 5] = ["asked", "answered", "API told", "handlers", "nginx logged"];

pub fn table(rows: &[Row]) -> String {
    let mut widths = HEADING.map(|name| name.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.cells()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let mut line = |cells: [&str; 5]| {
        let mut padded = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(padded, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", padded.trim_end());
    };
    line(HEADING);
    for row in rows {
        line(row.cells());
    }
    text.push('\n');
    for row in rows {
        for (promise, kept) in &row.promises {
            let kept = if *kept { "kept  " } else { "BROKEN" };
            let _ = writeln!(text, "{kept}  {}: {promise}", row.asked);
        }
    }
    text
}
