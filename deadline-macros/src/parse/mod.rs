//! Tokens to options, each with its span. Nothing is judged here beyond the form of a single value.

pub(crate) mod amount;
pub(crate) mod deadline;
pub(crate) mod item;
pub(crate) mod options;
pub(crate) mod statement;
pub(crate) mod statements;
mod strays;

use proc_macro2::Span;

/// A value and where the user wrote it.
#[derive(Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}
