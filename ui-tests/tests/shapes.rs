//! Functions that must compile and behave with `#[deadline]` exactly as without it.
//!
//! The shapes are in `ui-tests/shapes`, one file a topic, each marked `// shape: name — what it guards`. The packages
//! `edition-2018` and `edition-2021` compile the same files in their edition.
#![deny(warnings, clippy::pedantic, clippy::nursery)]

#[macro_use]
#[path = "../shapes/support.rs"]
mod support;

#[path = "../shapes/bodies.rs"]
mod bodies;
#[path = "../shapes/edition_2024.rs"]
mod edition_2024;
#[path = "../shapes/exits.rs"]
mod exits;
#[path = "../shapes/forms.rs"]
mod forms;
#[path = "../shapes/futures.rs"]
mod futures;
#[path = "../shapes/generics.rs"]
mod generics;
#[path = "../shapes/hostile_scopes.rs"]
mod hostile_scopes;
#[path = "../shapes/lifetimes.rs"]
mod lifetimes;
#[path = "../shapes/macros_in_body.rs"]
mod macros_in_body;
#[path = "../shapes/parameters.rs"]
mod parameters;
#[path = "../shapes/qualifiers.rs"]
mod qualifiers;
#[path = "../shapes/receivers.rs"]
mod receivers;
#[path = "../shapes/returns.rs"]
mod returns;
#[path = "../shapes/stacking.rs"]
mod stacking;
#[path = "../shapes/traits.rs"]
mod traits;
#[path = "../shapes/variants.rs"]
mod variants;
