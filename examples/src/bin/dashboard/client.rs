//! Clients that say exactly what goes over the wire, and that can leave.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What came back.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub after: Duration,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Sends one request and waits for the whole answer, for as long as the client has patience.
///
/// `headers` are written as they stand, each line with its own name, so that duplicates and malformed values can be
/// sent. `None` when the client left before it had its answer.
pub async fn request(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    patience: Duration,
) -> io::Result<Option<Answer>> {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).await?;
    let mut head = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("content-length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut bytes = Vec::new();
    match tokio::time::timeout(patience, stream.read_to_end(&mut bytes)).await {
        Ok(read) => read?,
        // Dropping the stream closes the connection: the client has left.
        Err(_) => return Ok(None),
    };
    parse(&bytes, start.elapsed()).map(Some)
}

fn parse(bytes: &[u8], after: Duration) -> io::Result<Answer> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "not an HTTP/1.1 answer");
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(bad)?;
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .ok_or_else(bad)?;
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Ok(Answer {
        status,
        headers,
        body: body.to_owned(),
        after,
    })
}
