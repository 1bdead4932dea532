//! Ending a server within a budget.
//!
//! ```text
//! Serving ──begin──▶ Draining ──nothing open──▶ Drained ──▶ Over
//!                       │                          ▲          ▲
//!                       │ end of the budget's      │          │ end of the budget
//!                       │ greater part             │          │
//!                       └────▶ Stopping ───────────┘──────────┘
//! ```
//!
//! | phase | new connections | new requests on old ones | what is in flight |
//! |---|---|---|---|
//! | draining | not accepted | 503, `shutdown`, the connection closes | goes on under its own deadlines |
//! | stopping | | | is cancelled with `shutdown`, and answers 503 out of its reserve |
//! | drained | | | nothing; critical work, hooks and detached work are waited for |
//! | over | | | connections are dropped, whatever state they are in |
//!
//! Idle connections are closed at once, and one whose first request has not arrived yet is given a moment, so that neither an
//! unused connection nor half a request head holds a shutdown up.

mod handle;
mod open;
#[cfg(feature = "serve")]
mod serve;

pub use self::handle::{Shutdown, ShutdownReport};
pub(super) use self::open::Open;
#[cfg(feature = "serve")]
pub use self::serve::serve;
