//! Requests as bytes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::real_time;

/// An answer as it came.
#[derive(Debug)]
pub struct Raw {
    /// Status line and headers, as sent.
    pub head: String,
    /// Everything after the blank line, chunk sizes included.
    pub body: String,
    /// From the last byte sent to the end of the connection.
    pub after: Duration,
}

impl Raw {
    /// The number in the status line, 0 if nothing came.
    #[must_use]
    pub fn status(&self) -> u16 {
        let number = self.head.split(' ').nth(1);
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Every line of a header, by its name in lower case.
    #[must_use]
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    /// The only line of a header, empty if there is none.
    ///
    /// # Panics
    /// If there are several.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers(name);
        assert!(found.len() <= 1, "{found:?}");
        found.first().copied().unwrap_or("")
    }
}

/// Connects and sends `bytes`.
///
/// # Panics
/// If that fails, or under a paused clock.
pub async fn send(to: SocketAddr, bytes: &[u8]) -> TcpStream {
    real_time();
    let mut stream = TcpStream::connect(to).await.expect("connect");
    stream.write_all(bytes).await.expect("send");
    stream
}

/// Sends `bytes` and reads until the server closes. Ask for `connection: close`.
///
/// # Panics
/// If connecting or sending fails, or nothing ends within 20 s.
pub async fn exchange(to: SocketAddr, bytes: &[u8]) -> Raw {
    let mut stream = send(to, bytes).await;
    let start = Instant::now();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer));
    // A reset after the last byte is an end as well.
    let _ = read.await.expect("an answer");
    let after = start.elapsed();
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Raw {
        head: head.to_owned(),
        body: body.to_owned(),
        after,
    }
}

/// A GET for `path` with more header lines, each as bytes without its line end.
#[must_use]
pub fn get(path: &str, lines: &[&[u8]]) -> Vec<u8> {
    let mut bytes =
        format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n").into_bytes();
    for line in lines {
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The request heads that a [`peer`] was sent.
#[derive(Debug, Clone, Default)]
pub struct Heads(Arc<Mutex<Vec<String>>>);

impl Heads {
    /// All of them so far.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The values of a header, one entry a head, several in one joined by `|`.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<String> {
        let of = |head: &String| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            let values = lines.filter(|(found, _)| *found == name);
            values.map(|(_, value)| value).collect::<Vec<_>>().join("|")
        };
        self.all().iter().map(of).collect()
    }
}

/// A peer of bytes: each head is answered with what `answer` says for its number, counted from zero: pauses, and what is
/// sent after each. Then it closes.
///
/// # Panics
/// If there is no free port.
pub async fn peer<A>(answer: A) -> (SocketAddr, Heads)
where
    A: Fn(usize) -> Vec<(Duration, String)> + Send + Sync + 'static,
{
    let heads = Heads::default();
    let kept = heads.clone();
    let answer = Arc::new(answer);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (kept, answer) = (kept.clone(), answer.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap_or(0) == 1
                {
                    head.push(byte[0]);
                }
                let number = {
                    let mut all = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(String::from_utf8_lossy(&head).into_owned());
                    all.len() - 1
                };
                for (pause, text) in answer(number) {
                    tokio::time::sleep(pause).await;
                    if stream.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, heads)
}
