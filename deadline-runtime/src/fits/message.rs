//! What is said when something does not fit. One glance has to be enough.
//!
//! ```text
//! the calls in `dashboard` need 1.05s, but its budget is 900ms: 150ms too much
//!
//!   450ms  load_profile
//!   500ms  recent_orders
//! + 100ms  reserve
//! = 1.05s
//!
//! narrow a call with `#[budget("…")]`, give a callee a `plan`, raise the budget, or write `allow_overcommit`
//! ```

use super::limits::Limits;
use super::price::Price;
use super::slots::Declared;
use super::text::Text;
use super::trace::{Line, Trace};

const WAYS_OUT: &str = "narrow a call with `#[budget(\"…\")]`, give a callee a `plan`, raise the budget, or write `allow_overcommit`";

#[track_caller]
pub(super) const fn too_much(limits: &Limits, sum: u64, trace: &Trace) -> ! {
    let needed = sum
        .saturating_add(limits.reserve)
        .saturating_add(limits.cleanup);
    let mut text = Text::new();
    text.push("the calls in `")
        .name(limits.name)
        .push("` need ")
        .figure(needed)
        .push(", but its budget is ")
        .figure(limits.budget)
        .push(": ")
        .figure(needed.saturating_sub(limits.budget))
        .push(" too much\n");

    let width = width(limits, trace, needed);
    let mut index = 0;
    while index < trace.len {
        let Line { name, price } = trace.line(index);
        row(&mut text, " ", price.sum, width);
        text.name(name);
        longest_of(&mut text, price.parts);
        if price.times != 1 || price.backoffs > 0 {
            text.push(" (");
            attempts(&mut text, &price);
            text.push(")");
        }
        if price.is_planned() {
            text.push(" (planned, at most ").figure(price.cap).push(")");
        }
        index += 1;
    }
    if trace.more > 0 {
        row(&mut text, " ", trace.more_sum, width);
        text.push("in ").number(trace.more as u64).push(" more");
    }
    kept(&mut text, limits, width);
    row(&mut text, "=", needed, width);
    text.push("in all\n\n").push(WAYS_OUT);
    panic!("{}", text.as_str())
}

/// `2 × 300ms + 5ms of backoff`.
const fn attempts(text: &mut Text, price: &Price) {
    text.number(price.times).push(" × ").figure(price.each);
    if price.backoffs > 0 {
        text.push(" + ").figure(price.backoffs).push(" of backoff");
    }
}

/// ` (the longest of 400ms, 2 × 100ms)`.
const fn longest_of(text: &mut Text, parts: &[Declared]) {
    let mut written = 0;
    let mut index = 0;
    while index < parts.len() {
        if let Some(price) = Price::declared(parts[index]) {
            text.push(if written == 0 {
                " (the longest of "
            } else {
                ", "
            });
            if price.times == 1 {
                text.figure(price.sum);
            } else {
                attempts(text, &price);
            }
            written += 1;
        }
        index += 1;
    }
    if written > 0 {
        text.push(")");
    }
}

#[track_caller]
pub(super) const fn oversized(limits: &Limits, name: &str, cap: u64) -> ! {
    let mut text = Text::new();
    text.push("`")
        .name(name)
        .push("` may take ")
        .figure(cap)
        .push(", but `")
        .name(limits.name)
        .push("` has ")
        .figure(limits.work());
    if limits.reserve > 0 || limits.cleanup > 0 {
        text.push(" (").figure(limits.budget).push(" less ");
        if limits.reserve > 0 {
            text.push("a reserve of ").figure(limits.reserve);
        }
        if limits.reserve > 0 && limits.cleanup > 0 {
            text.push(" and ");
        }
        if limits.cleanup > 0 {
            text.push("a cleanup of ").figure(limits.cleanup);
        }
        text.push(")");
    }
    text.push(": ")
        .figure(cap - limits.work())
        .push(" too much\n\n");
    text.push("narrow the call with `#[budget(\"…\")]`, lower the callee's budget, raise this one, or write `allow_overcommit`");
    panic!("{}", text.as_str())
}

#[track_caller]
pub(super) const fn nothing_left(limits: &Limits) -> ! {
    let mut text = Text::new();
    text.push("`").name(limits.name).push("` keeps all of its ");
    text.figure(limits.budget)
        .push(" and has nothing to work with\n");
    let width = width_of(limits.budget);
    kept(&mut text, limits, width);
    text.push("\n\nraise the budget, or keep less");
    panic!("{}", text.as_str())
}

const fn kept(text: &mut Text, limits: &Limits, width: usize) {
    if limits.reserve > 0 {
        row(text, "+", limits.reserve, width);
        text.push("reserve");
    }
    if limits.cleanup > 0 {
        row(text, "+", limits.cleanup, width);
        text.push("cleanup");
    }
}

/// `+  50ms  `, at the begin of a line.
const fn row(text: &mut Text, sign: &str, millis: u64, width: usize) {
    text.push("\n").push(sign).push(" ");
    text.spaces(width.saturating_sub(width_of(millis)));
    text.figure(millis).push("  ");
}

const fn width(limits: &Limits, trace: &Trace, needed: u64) -> usize {
    let mut widest = width_of(needed);
    let mut index = 0;
    while index < trace.len {
        widest = max(widest, width_of(trace.line(index).price.sum));
        index += 1;
    }
    widest = max(widest, width_of(trace.more_sum));
    max(
        widest,
        max(width_of(limits.reserve), width_of(limits.cleanup)),
    )
}

const fn width_of(millis: u64) -> usize {
    let mut text = Text::new();
    text.figure(millis);
    text.len()
}

const fn max(left: usize, right: usize) -> usize {
    if left > right { left } else { right }
}
