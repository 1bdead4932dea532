//! Behind a re-export, an alias and a glob.
use deadline_runtime::{Stopped, deadline};

mod names {
    pub(super) use deadline_ui_tests::remote::load as fetch;
    pub(super) type Peer = deadline_ui_tests::remote::Client;
}

use names::*;

#[deadline(budget = "1499ms")]
async fn both(peer: &Peer) -> Result<u32, Stopped> {
    fetch(1).await?;
    peer.call().await
}

fn main() {}
