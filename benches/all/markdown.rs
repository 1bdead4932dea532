//! The tables that the benchmarks print, read back.

/// One line of a table, with the head above it.
struct Line {
    head: Vec<String>,
    cells: Vec<String>,
}

/// What all of them printed.
#[derive(Default)]
pub(crate) struct Tables {
    lines: Vec<Line>,
    head: Vec<String>,
    /// Could be a head, could be a line; what comes next tells.
    last: Option<Vec<String>>,
}

impl Tables {
    pub(crate) fn read(&mut self, line: &str) {
        let Some(cells) = cells(line) else {
            self.keep_last();
            self.head.clear();
            return;
        };
        if cells.iter().all(|cell| is_rule(cell)) {
            self.head = self.last.take().unwrap_or_default();
            return;
        }
        self.keep_last();
        self.last = Some(cells);
    }

    fn keep_last(&mut self) {
        if let Some(cells) = self.last.take() {
            self.lines.push(Line {
                head: self.head.clone(),
                cells,
            });
        }
    }

    /// The cell of the line with that name, under that column, in the table whose head begins with a cell that ends so;
    /// where the name stands more than once, of the last one: tables that grow end with the largest.
    pub(crate) fn cell(&self, table: &str, name: &str, column: &str) -> Option<&str> {
        let wanted = |line: &&Line| {
            line.head.first().is_some_and(|head| head.ends_with(table))
                && line.cells.first().is_some_and(|cell| cell == name)
        };
        let line = self.lines.iter().rev().find(wanted)?;
        let at = line.head.iter().position(|head| head == column)?;
        line.cells.get(at).map(String::as_str)
    }
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(
        inner
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect(),
    )
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|char| matches!(char, '-' | ':'))
}
