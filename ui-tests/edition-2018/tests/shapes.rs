//! The shapes of `deadline-ui-tests` in edition 2018.
#![deny(warnings, clippy::pedantic, clippy::nursery)]

#[macro_use]
#[path = "../../shapes/support.rs"]
mod support;

#[path = "../../shapes/bodies.rs"]
mod bodies;
#[path = "../../shapes/edition_2018.rs"]
mod edition_2018;
#[path = "../../shapes/exits.rs"]
mod exits;
#[path = "../../shapes/forms.rs"]
mod forms;
#[path = "../../shapes/futures.rs"]
mod futures;
#[path = "../../shapes/generics.rs"]
mod generics;
#[path = "../../shapes/hostile_scopes.rs"]
mod hostile_scopes;
#[path = "../../shapes/lifetimes.rs"]
mod lifetimes;
#[path = "../../shapes/macros_in_body.rs"]
mod macros_in_body;
#[path = "../../shapes/parameters.rs"]
mod parameters;
#[path = "../../shapes/qualifiers.rs"]
mod qualifiers;
#[path = "../../shapes/receivers.rs"]
mod receivers;
#[path = "../../shapes/returns.rs"]
mod returns;
#[path = "../../shapes/stacking.rs"]
mod stacking;
#[path = "../../shapes/traits.rs"]
mod traits;
#[path = "../../shapes/variants.rs"]
mod variants;
