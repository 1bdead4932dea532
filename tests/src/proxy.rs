//! A TCP proxy that misbehaves on demand: slow, silent, deaf or gone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Forwards connections to one address. Faults hold for all connections, those that exist and those to come.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    faults: watch::Sender<Faults>,
    /// Counts up: connections of an earlier turn are cut.
    turn: watch::Sender<u64>,
    accepted: AtomicUsize,
    cut: Mutex<Option<Cut>>,
    hold: Mutex<Option<&'static str>>,
    replace: Mutex<Option<(&'static str, &'static str)>>,
    held: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    delay: Duration,
    stalled: bool,
}

/// What happens to the next request that contains a text.
#[derive(Debug, Clone, Copy)]
struct Cut {
    text: &'static str,
    forward: bool,
    hang: bool,
}

impl Proxy {
    /// In front of `target`, on a free port.
    ///
    /// # Panics
    /// Without a free port.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target,
            faults: watch::Sender::default(),
            turn: watch::Sender::default(),
            accepted: AtomicUsize::new(0),
            cut: Mutex::default(),
            hold: Mutex::default(),
            replace: Mutex::default(),
            held: watch::Sender::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Self {
            address,
            shared,
            accepting,
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every piece of an answer arrives so much later; those that follow each other do so then as well.
    pub fn delay_replies(&self, delay: Duration) {
        self.shared
            .faults
            .send_modify(|faults| faults.delay = delay);
    }

    /// Nothing passes in either direction, and nobody is told; with `false` everything that was held passes.
    pub fn stall(&self, stalled: bool) {
        self.shared
            .faults
            .send_modify(|faults| faults.stalled = stalled);
    }

    /// The next request that contains `text` reaches the server, its answer is lost and the connection is cut.
    pub fn lose_reply_to(&self, text: &'static str) {
        self.set_cut(Cut {
            text,
            forward: true,
            hang: false,
        });
    }

    /// As [`lose_reply_to`](Self::lose_reply_to), but the connection stays open and silent.
    pub fn swallow_reply_to(&self, text: &'static str) {
        self.set_cut(Cut {
            text,
            forward: true,
            hang: true,
        });
    }

    /// The next request that contains `text` never reaches the server, and the connection is cut.
    pub fn lose_request(&self, text: &'static str) {
        self.set_cut(Cut {
            text,
            forward: false,
            hang: false,
        });
    }

    /// The next request that contains `text` is kept, and everything after it on its connection, until
    /// [`release`](Self::release).
    pub fn hold_request(&self, text: &'static str) {
        self.shared.held.send_replace(true);
        *self
            .shared
            .hold
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Lets what is held go on.
    pub fn release(&self) {
        self.shared.held.send_replace(false);
    }

    /// The next request that contains `text` says `other` instead.
    ///
    /// # Panics
    /// When they are not of one length.
    pub fn replace_in_request(&self, text: &'static str, other: &'static str) {
        assert_eq!(text.len(), other.len(), "{text} and {other}");
        *self
            .shared
            .replace
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some((text, other));
    }

    /// Cuts every connection.
    pub fn kill(&self) {
        self.shared.turn.send_modify(|turn| *turn += 1);
    }

    /// How many connections have been made through it.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    fn set_cut(&self, cut: Cut) {
        *self
            .shared
            .cut
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(cut);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kill();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        shared.accepted.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(serve(client, shared.clone()));
    }
}

async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let mut turn = shared.turn.subscribe();
    let Ok(server) = TcpStream::connect(shared.target).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (silence, silent) = watch::channel(false);
    tokio::select! {
        _ = turn.changed() => {}
        () = requests(from_client, to_server, &shared, silence) => {}
        () = replies(from_server, to_client, &shared, silent) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    silence: watch::Sender<bool>,
) {
    let mut faults = shared.faults.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let _ = faults.wait_for(|faults| !faults.stalled).await;
        replace(&mut buffer[..read], shared);
        let bytes = &buffer[..read];
        let contains = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
        let hold = {
            let mut hold = shared.hold.lock().unwrap_or_else(PoisonError::into_inner);
            hold.take_if(|text| contains(text)).is_some()
        };
        if hold {
            let _ = shared.held.subscribe().wait_for(|held| !held).await;
        }
        let cut = {
            let mut cut = shared.cut.lock().unwrap_or_else(PoisonError::into_inner);
            cut.take_if(|cut| contains(cut.text))
        };
        if let Some(cut) = cut {
            // First: the answer may come before we get to run again.
            silence.send_replace(true);
            if cut.forward {
                let _ = to.write_all(bytes).await;
                // The server is to have carried it out before it sees the end of the connection.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            if !cut.hang {
                return;
            }
        } else if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

fn replace(bytes: &mut [u8], shared: &Shared) {
    let mut replace = shared
        .replace
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((text, other)) = *replace
        && let Some(at) = bytes.windows(text.len()).position(|w| w == text.as_bytes())
    {
        bytes[at..at + text.len()].copy_from_slice(other.as_bytes());
        *replace = None;
    }
}

async fn replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    silent: watch::Receiver<bool>,
) {
    let mut faults = shared.faults.subscribe();
    let (pieces, mut under_way) = mpsc::unbounded_channel();
    // Pieces are under way at the same time, as in a long cable.
    let reading = async {
        let pieces = pieces;
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let due = Instant::now() + shared.faults.borrow().delay;
            let _ = pieces.send((due, buffer[..read].to_vec()));
        }
        drop(pieces);
        std::future::pending::<()>().await;
    };
    let writing = async {
        while let Some((due, bytes)) = under_way.recv().await {
            sleep_until(due).await;
            let _ = faults.wait_for(|faults| !faults.stalled).await;
            if !*silent.borrow() && to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        if *silent.borrow() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
}
