//! The rows of the summary in the order of the targets: which printed line each repeats, and how much it may cost.

use Target::{AtLeast, AtMost, Ratio};

/// Where a figure was printed.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    /// The head of the table's first column.
    pub(crate) table: &'static str,
    pub(crate) line: &'static str,
    pub(crate) column: &'static str,
    /// Which of the two in a cell "ours / theirs".
    pub(crate) half: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// A neighbour.
    None,
    /// Ours over the yardstick at most, with the default clock and with `fast-clock`.
    Ratio(f64, Option<f64>),
    /// Ours at most, in the unit that it is printed in.
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Operation and yardstick.
    pub(crate) name: &'static str,
    pub(crate) ours: Cell,
    pub(crate) theirs: Option<Cell>,
    pub(crate) target: Target,
    /// Its line in the table of instructions.
    pub(crate) instructions: Option<&'static str>,
    /// What prints it.
    pub(crate) command: &'static str,
}

/// Rows that one section of `BENCHMARKS.md` explains.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) rows: &'static [Row],
}

const fn cell(table: &'static str, line: &'static str, column: &'static str) -> Cell {
    Cell {
        table,
        line,
        column,
        half: 0,
    }
}

impl Row {
    /// A line with one column for ours and one for the yardstick.
    const fn pair(table: &'static str, line: &'static str) -> Self {
        Self::of(line, (table, line), ("deadline", "yardstick"))
    }

    const fn of(
        name: &'static str,
        (table, line): (&'static str, &'static str),
        (ours, theirs): (&'static str, &'static str),
    ) -> Self {
        Self {
            name,
            ours: cell(table, line, ours),
            theirs: Some(cell(table, line, theirs)),
            target: Target::None,
            instructions: None,
            command: "cargo bench",
        }
    }

    /// A cell that holds both.
    const fn halves(
        name: &'static str,
        at: (&'static str, &'static str),
        column: &'static str,
    ) -> Self {
        let mut row = Self::of(name, at, (column, column));
        if let Some(theirs) = &mut row.theirs {
            theirs.half = 1;
        }
        row
    }

    const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    const fn beside(mut self, theirs: Option<Cell>) -> Self {
        self.theirs = theirs;
        self
    }

    const fn within(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    const fn counted(mut self, instructions: &'static str) -> Self {
        self.instructions = Some(instructions);
        self
    }

    const fn by(mut self, command: &'static str) -> Self {
        self.command = command;
        self
    }
}

const OVERHEAD: &str = "operation: yardstick";
const BRANCHES: &str = "ten branches, each: yardstick";
const TASKS: &str = "waiting tasks, each: yardstick";
const CANCELLED: &str = "cancelled: one shared `CancellationToken`";
const LATE: (&str, &str) = ("stopped late", "a loop of 1 ms an iteration");
const DEPTH: &str = "functions deep that compile with the default recursion limit";
const COLUMNS: (&str, &str) = ("deadline", "`timeout`");
pub(crate) const INSTRUCTIONS: &str = "instructions";

/// A line of the benchmark `overhead` or `combinators`.
const fn overhead(line: &'static str) -> Row {
    Row::pair(OVERHEAD, line)
}

#[rustfmt::skip]
pub(crate) const TARGETS: &[Section] = &[
    Section { title: "Time", rows: &[
        overhead("outermost scope, ready: `timeout`").within(Ratio(1.0, Some(0.35))).counted("ready"),
        overhead("outermost scope, one pend: `timeout`").within(Ratio(0.75, Some(0.5))).counted("pend"),
        overhead("outermost scope, ready: child token, `run_until_cancelled`, `timeout`").within(Ratio(0.35, Some(0.2))).counted("hand-ready"),
        overhead("outermost scope, one pend: child token, `run_until_cancelled`, `timeout`").within(Ratio(0.35, Some(0.2))).counted("hand-pend"),
        overhead("deadline already known, ready: `timeout`").within(Ratio(0.2, None)).counted("known-ready"),
        overhead("deadline already known, one pend: `timeout`").within(Ratio(0.4, None)).counted("known-pend"),
        overhead("eight nested, ready: eight timeouts").within(Ratio(0.45, Some(0.3))).counted("nested-ready"),
        overhead("eight nested, one pend: eight timeouts").within(Ratio(0.3, Some(0.25))).counted("nested-pend"),
        overhead("ten children in turn that pend once, each: a `timeout` each").within(Ratio(0.5, Some(0.3))).counted("ten"),
        overhead("an iteration of a loop with a checkpoint: without").within(Ratio(1.1, None)).counted("checkpoint"),
        Row::of("a loop of 1 ms an iteration, stopped late: by one iteration at most", LATE, COLUMNS).beside(None).within(AtMost(1.0)),
    ] },
    Section { title: "Waiting tasks", rows: &[
        Row::pair(TASKS, CANCELLED).named("cancelling waiting tasks, each: one shared `CancellationToken`").within(Ratio(1.0, None)),
        Row::halves("bytes a waiting task: the same", (TASKS, CANCELLED), "bytes").within(AtMost(400.0)),
    ] },
    Section { title: "Space and depth", rows: &[
        Row::of("allocations, a nested scope: a nested `timeout`", ("allocations", "a nested scope"), COLUMNS).within(AtMost(0.0)),
        Row::of("allocations, a request of eight nested: eight timeouts", ("allocations", "a request of eight nested"), COLUMNS).within(AtMost(1.0)),
        Row::of("bytes, outermost scope: `timeout`", ("bytes of a future", "one around one await"), COLUMNS).within(AtMost(144.0)),
        Row::of("bytes, a nested scope: a nested `timeout`", ("bytes of a future", "a nesting level"), COLUMNS).within(AtMost(40.0)),
        Row::of("functions deep that compile: with a `timeout` each", (DEPTH, "a chain of calls"), COLUMNS).within(AtLeast(25.0)).by("ui-tests/cost --depth"),
    ] },
    Section { title: "The server layer", rows: &[
        instructions("server layer, instructions over a layer that does nothing, no header: tower-http `TimeoutLayer`", "layer-bare").within(AtMost(1150.0)),
        instructions("the same, header: tower-http `TimeoutLayer`", "layer").within(AtMost(1150.0)),
        instructions("the same, header: tower `timeout` + `load_shed` + `concurrency_limit`", "layer-tower").within(AtMost(1150.0)),
        instructions("the same, header and admission: tower `timeout` + `load_shed` + `concurrency_limit`", "layer-admission").within(AtMost(1350.0)),
    ] },
    Section { title: "What the compiler pays", rows: &[
        compiler("`cargo check`, million instructions: the functions as they are", "deadline", "cargo check").within(Ratio(1.7, None)),
        compiler("`cargo build`, million instructions: the functions as they are", "deadline", "cargo build").within(Ratio(1.5, None)),
    ] },
];

#[rustfmt::skip]
pub(crate) const NEIGHBOURS: &[Row] = &[
    overhead("outermost scope, ready: `#[instrument]`, nobody subscribed"),
    overhead("outermost scope, one pend: `#[instrument]`, nobody subscribed"),
    compiler("`#[instrument]`, `cargo check`: the functions as they are", "instrument", "cargo check"),
    compiler("`#[instrument]`, `cargo build`: the functions as they are", "instrument", "cargo build"),
    overhead("a request's context: tarpc's `context::current()`"),
    layer("server layer, time over none, header: tower-http `TimeoutLayer`", "`DeadlineLayer`, header", "tower-http `TimeoutLayer`"),
    layer("the same and admission: tower `timeout` + `load_shed` + `concurrency_limit`", "`DeadlineLayer` and `AdmissionLayer`, header", "tower `timeout` + `load_shed` + `concurrency_limit`"),
    overhead("retry, first success: `backon`"),
    overhead("retry, two failures, no wait: `backon`").counted("retry"),
    overhead("retry, two failures, no wait, attempts capped: `backon`, a `timeout` each"),
    overhead("hedge, not fired: tower's"),
    branches("ten branches, ready, each: `try_join_all`", "ready: `try_join_all`").counted("fan-out-ready"),
    branches("ten branches, one pend, each: `try_join_all`", "one pend: `try_join_all`").counted("fan-out-pend"),
    branches("ten branches, one pend, each: `JoinSet`", "one pend: `JoinSet`"),
    branches("ten branches, one pend, a cut-off each: a `timeout` each", "one pend, a cut-off each: `join_all` of a `timeout` each").counted("cut-off"),
    branches("a `Group` of ten, one pend, each: `JoinSet`", "one pend, a `Group`: `JoinSet`").counted("group"),
    branches("ten of `Context::spawn`, one pend, each: `JoinSet`", "one pend, `Context::spawn`: `JoinSet`").counted("spawn"),
    go("outermost scope, ready: Go, `context.WithTimeout`", "outermost scope, ready: `timeout`", "outermost, ready"),
    go("outermost scope, one pend: Go, a switch of goroutines", "outermost scope, one pend: `timeout`", "outermost, one pend"),
    go("deadline already known, ready: Go, `ctx.Err()`", "deadline already known, ready: `timeout`", "deadline already known, ready"),
    go("eight nested, ready: Go, eight `WithTimeout`", "eight nested, ready: eight timeouts", "eight nested, ready"),
    go("eight nested, one pend: Go, a switch of goroutines", "eight nested, one pend: eight timeouts", "eight nested, one pend"),
    go("ten children in turn that pend once, each: Go, a `WithTimeout` each", "ten children in turn that pend once, each: a `timeout` each", "ten children in turn that pend once, each"),
    Row::pair(TASKS, CANCELLED).named("cancelling waiting tasks, each: Go, 100,000 goroutines").beside(Some(cell("goroutines that wait, each", "waiting below one request", "cancelled"))).by("benches/go"),
    Row::halves("bytes a waiting task: the same", (TASKS, CANCELLED), "bytes").beside(Some(cell("goroutines that wait, each", "waiting below one request", "bytes"))).by("benches/go"),
];

const fn compiler(name: &'static str, functions: &'static str, column: &'static str) -> Row {
    let plain = cell("crate", "plain", column);
    Row::of(name, ("crate", functions), (column, column))
        .beside(Some(plain))
        .by("ui-tests/cost")
}

const fn instructions(name: &'static str, line: &'static str) -> Row {
    Row::of(name, (INSTRUCTIONS, line), ("deadline", "yardstick")).by("benches/instructions")
}

const fn layer(name: &'static str, ours: &'static str, theirs: &'static str) -> Row {
    const COLUMN: &str = "over no layer";
    Row::of(name, ("layer", ours), (COLUMN, COLUMN)).beside(Some(cell("layer", theirs, COLUMN)))
}

const fn branches(name: &'static str, line: &'static str) -> Row {
    Row::pair(BRANCHES, line).named(name)
}

const fn go(name: &'static str, ours: &'static str, theirs: &'static str) -> Row {
    overhead(ours)
        .named(name)
        .beside(Some(cell("Go's `context`", theirs, "each")))
        .by("benches/go")
}
