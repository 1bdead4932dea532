//! Figures that a crate keeps in one place for others.

use std::time::Duration;

/// Of a whole request.
pub const REQUEST: Duration = Duration::from_secs(1);

/// Of a query.
pub const DB: Duration = Duration::from_millis(700);

/// Of a look into the cache.
pub const CACHE: Duration = Duration::from_millis(150);
