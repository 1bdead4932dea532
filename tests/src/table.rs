//! What happened, for people.

use std::fmt;
use std::io::Write as _;

/// Rows of equal length under a heading.
#[derive(Debug, Clone)]
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With the names of its columns.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Self {
            title: title.into(),
            rows: vec![columns.iter().map(|&name| name.to_owned()).collect()],
        }
    }

    /// More rows.
    pub fn rows<const N: usize>(&mut self, rows: impl IntoIterator<Item = Vec<[String; N]>>) {
        let rows = rows.into_iter().flatten();
        self.rows.extend(rows.map(|cells| cells.to_vec()));
    }

    /// Prints it, also when the test passes: the harness keeps back only what the macros print. `tests/run` shows these
    /// lines at its end.
    pub fn print(&self) {
        let _ = std::io::stdout().write_all(self.to_string().as_bytes());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        writeln!(f, "\n| {}", self.title)?;
        for row in &self.rows {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}
