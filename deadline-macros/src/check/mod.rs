//! Whether the figures and places fit, as far as one function's tokens can tell. Every fault is reported.

mod costs;
mod figures;
mod places;
mod sums;
#[cfg(test)]
mod tests;

use crate::faults::Faults;
use crate::model::Function;

pub(crate) fn function(function: &mut Function, faults: &mut Faults) {
    figures::check(&function.scope, faults);
    places::check(function, faults);
    sums::check(function, faults);
}
