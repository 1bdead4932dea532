//! Requests as bytes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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
