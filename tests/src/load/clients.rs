//! What clients do, and what each may be answered.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::grpc::Caller;
use super::watch::SECRET;

/// Where the machine was so busy that next to nothing of a short time was left at the start.
const TOO_LATE: &str = "504 local_budget_rejected";

/// More time than anything takes.
const LONG: Duration = Duration::from_secs(50);

/// A kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Has time.
    Fast,
    /// Several requests on one connection.
    KeptAlive,
    /// Asks for more than there is time for.
    Slow,
    /// The same, and what it asks starts tasks.
    SlowWithTasks,
    /// The same, through a second server.
    SlowBehind,
    /// Comes with nothing left.
    Expired,
    /// Writes a timeout that cannot be read.
    Malformed,
    /// Is not HTTP.
    Garbage,
    /// Closes its connection.
    Leaves,
    /// Closes its connection, and a second server works for it.
    LeavesBehind,
    /// Closes its sending side and waits.
    HalfCloses,
    /// Sends half a head and leaves.
    HalfAHead,
    /// Sends its body slowly, but in time.
    Uploads,
    /// Never sends the rest of its body.
    StallsUpload,
    /// Leaves in the middle of its body.
    LeavesUpload,
    /// Reads an answer that takes longer than there is time.
    Reads,
    /// Leaves in the middle of the answer.
    LeavesReading,
    /// Calls and has time.
    GrpcFast,
    /// Calls for more than there is time for.
    GrpcSlow,
    /// Reads a stream that takes longer than there is time.
    GrpcReads,
    /// Writes a timeout that cannot be read.
    GrpcMalformed,
    /// Cancels its call.
    GrpcCancels,
    /// Cancels in the middle of a stream.
    GrpcCancelsReading,
}

/// What a server makes of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// So many requests that are answered 200.
    Served(u64),
    /// One that is stopped by the deadline.
    Late,
    /// One that is refused.
    Malformed,
    /// One that is stopped because nobody waits for it.
    Left,
    /// One whose body breaks off, which axum's extractor answers 400, to nobody.
    BrokenBody,
    /// None that gets as far as a service.
    NoRequest,
    /// A call that is answered.
    Called,
    /// One that is stopped by the deadline.
    CallLate,
    /// One that is refused.
    CallMalformed,
    /// One that is stopped because nobody waits for it.
    CallCancelled,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Fast,
        Self::KeptAlive,
        Self::Slow,
        Self::SlowWithTasks,
        Self::SlowBehind,
        Self::Expired,
        Self::Malformed,
        Self::Garbage,
        Self::Leaves,
        Self::LeavesBehind,
        Self::HalfCloses,
        Self::HalfAHead,
        Self::Uploads,
        Self::StallsUpload,
        Self::LeavesUpload,
        Self::Reads,
        Self::LeavesReading,
        Self::GrpcFast,
        Self::GrpcSlow,
        Self::GrpcReads,
        Self::GrpcMalformed,
        Self::GrpcCancels,
        Self::GrpcCancelsReading,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::KeptAlive => "kept alive",
            Self::Slow => "slow",
            Self::SlowWithTasks => "slow, with tasks",
            Self::SlowBehind => "slow, behind",
            Self::Expired => "expired",
            Self::Malformed => "malformed",
            Self::Garbage => "garbage",
            Self::Leaves => "leaves",
            Self::LeavesBehind => "leaves, behind",
            Self::HalfCloses => "half-closes",
            Self::HalfAHead => "half a head",
            Self::Uploads => "uploads",
            Self::StallsUpload => "stalls upload",
            Self::LeavesUpload => "leaves upload",
            Self::Reads => "reads",
            Self::LeavesReading => "leaves reading",
            Self::GrpcFast => "gRPC: fast",
            Self::GrpcSlow => "gRPC: slow",
            Self::GrpcReads => "gRPC: reads",
            Self::GrpcMalformed => "gRPC: malformed",
            Self::GrpcCancels => "gRPC: cancels",
            Self::GrpcCancelsReading => "gRPC: cancels reading",
        }
    }

    /// What may come of it; several where that depends on who is first.
    #[must_use]
    pub const fn right(self) -> &'static [&'static str] {
        match self {
            Self::Fast | Self::Uploads => &["200"],
            Self::KeptAlive => &["200 200 200"],
            Self::Expired => &["504 deadline_exceeded"],
            Self::Slow | Self::SlowWithTasks => &["504 deadline_exceeded", TOO_LATE],
            // The second answers out of its reserve, 10 ms before the first runs out of time itself.
            Self::SlowBehind => &["504 dependency_timeout", "504 deadline_exceeded", TOO_LATE],
            Self::Malformed => &["400 bad_deadline"],
            Self::Garbage => &["400"],
            Self::Leaves | Self::LeavesBehind | Self::HalfAHead | Self::LeavesUpload => &["left"],
            Self::HalfCloses => &["nothing"],
            Self::StallsUpload => &["408 deadline_exceeded", TOO_LATE],
            // A head that is ready in the poll which crosses the deadline, with a body that is not: hyper closes the
            // connection before it has sent the head.
            Self::Reads => &["200 cut", "504 deadline_exceeded", TOO_LATE, "no status"],
            Self::LeavesReading => &["200 left"],
            Self::GrpcFast => &["OK"],
            Self::GrpcSlow | Self::GrpcReads => &["dependency_timeout", "deadline_exceeded"],
            Self::GrpcMalformed => &["INVALID_ARGUMENT"],
            Self::GrpcCancels | Self::GrpcCancelsReading => &["cancelled"],
        }
    }

    /// What the server makes of it.
    #[must_use]
    pub const fn fate(self) -> Fate {
        match self {
            Self::Fast | Self::Uploads => Fate::Served(1),
            Self::KeptAlive => Fate::Served(3),
            Self::Slow
            | Self::SlowWithTasks
            | Self::SlowBehind
            | Self::Expired
            | Self::StallsUpload
            | Self::Reads => Fate::Late,
            Self::Malformed => Fate::Malformed,
            Self::Leaves | Self::LeavesBehind | Self::HalfCloses | Self::LeavesReading => {
                Fate::Left
            }
            Self::LeavesUpload => Fate::BrokenBody,
            Self::Garbage | Self::HalfAHead => Fate::NoRequest,
            Self::GrpcFast => Fate::Called,
            Self::GrpcSlow | Self::GrpcReads => Fate::CallLate,
            Self::GrpcMalformed => Fate::CallMalformed,
            Self::GrpcCancels | Self::GrpcCancelsReading => Fate::CallCancelled,
        }
    }

    /// Does it once; `n` chooses among the ways there are. What came of it, in the words of [`right`](Self::right).
    ///
    /// # Errors
    /// What the connection says.
    pub async fn once(self, to: SocketAddr, caller: &Caller, n: u64) -> io::Result<String> {
        let patient = "x-request-timeout-ms: 50000";
        let short = Duration::from_millis(60 + n % 60);
        let hurried = format!("x-request-timeout-ms: {}", short.as_millis());
        let pause = Duration::from_millis(5 + n % 40);
        let get = |path: &str, line: &str| head("GET", path, line);
        match self {
            Self::Fast => exchange(to, &get("/fast", patient)).await,
            Self::KeptAlive => kept_alive(to).await,
            Self::Slow => exchange(to, &get("/slow", &hurried)).await,
            Self::SlowWithTasks => exchange(to, &get("/tasks", &hurried)).await,
            Self::SlowBehind => exchange(to, &get("/call", &hurried)).await,
            Self::Expired => exchange(to, &get("/slow", "x-request-timeout-ms: 0")).await,
            Self::Malformed => {
                let lines = [
                    "x-request-timeout-ms: -1",
                    "x-request-timeout-ms: +100",
                    "x-request-timeout-ms: soon",
                    "x-request-timeout-ms: 1e3",
                    "x-request-timeout-ms:",
                    "x-request-timeout-ms: 100\r\nx-request-timeout-ms: 9000",
                ];
                let line = lines[usize::try_from(n % 6).unwrap_or(0)];
                exchange(to, &get("/slow", line)).await
            }
            Self::Garbage => exchange(to, "\u{1}\u{2} GET ?\r\n\r\n").await,
            Self::Leaves => left(to, &get("/slow", patient), pause).await,
            Self::LeavesBehind => left(to, &get("/call", patient), pause).await,
            Self::HalfCloses => {
                let mut stream = send(to, &get("/slow", patient)).await?;
                tokio::time::sleep(pause).await;
                stream.shutdown().await?;
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).await?;
                Ok(if answer.is_empty() {
                    "nothing"
                } else {
                    "something"
                }
                .to_owned())
            }
            Self::HalfAHead => left(to, "GET / HT", pause).await,
            Self::Uploads => {
                let head = upload(patient);
                let mut stream = send(to, &head).await?;
                for _ in 0..4 {
                    tokio::time::sleep(pause / 4).await;
                    stream.write_all(SECRET.as_bytes()).await?;
                }
                answer(stream).await
            }
            Self::StallsUpload => {
                let request = format!("{}{SECRET}", upload(&hurried));
                exchange(to, &request).await
            }
            Self::LeavesUpload => {
                let request = format!("{}{SECRET}", upload(patient));
                left(to, &request, pause).await
            }
            Self::Reads => exchange(to, &get("/drip", &hurried)).await,
            Self::LeavesReading => {
                let mut stream = send(to, &get("/drip", patient)).await?;
                let mut some = [0; 512];
                let mut seen = Vec::new();
                // Until the first item of the body is there.
                while !String::from_utf8_lossy(&seen).contains("\r\n\r\n1\r\nx") {
                    let count = stream.read(&mut some).await?;
                    if count == 0 {
                        break;
                    }
                    seen.extend_from_slice(&some[..count]);
                }
                let status = Answer::of(&seen);
                Ok(format!("{} left", status.status))
            }
            Self::GrpcFast => Ok(caller.call(0, LONG).await),
            Self::GrpcSlow => Ok(caller.call(60_000, short).await),
            Self::GrpcReads => Ok(caller.read(10, short).await),
            Self::GrpcMalformed => Ok(caller.malformed().await),
            Self::GrpcCancels => Ok(cancelled(caller.call(60_000, LONG), pause).await),
            Self::GrpcCancelsReading => Ok(cancelled(caller.read(10, LONG), pause).await),
        }
    }
}

fn head(method: &str, path: &str, line: &str) -> String {
    format!(
        "{method} {path}?token={SECRET} HTTP/1.1\r\nhost: {SECRET}\r\nauthorization: Bearer {SECRET}\r\n\
         cookie: session={SECRET}\r\nconnection: close\r\n{line}\r\n\r\n"
    )
}

fn upload(line: &str) -> String {
    let length = SECRET.len() * 4;
    head(
        "POST",
        "/upload",
        &format!("{line}\r\ncontent-length: {length}"),
    )
}

async fn send(to: SocketAddr, text: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(to).await?;
    stream.write_all(text.as_bytes()).await?;
    Ok(stream)
}

async fn exchange(to: SocketAddr, text: &str) -> io::Result<String> {
    answer(send(to, text).await?).await
}

async fn left(to: SocketAddr, text: &str, after: Duration) -> io::Result<String> {
    let stream = send(to, text).await?;
    tokio::time::sleep(after).await;
    drop(stream);
    Ok("left".to_owned())
}

async fn cancelled(call: impl Future<Output = String>, after: Duration) -> String {
    let call = tokio::time::timeout(after, call);
    call.await.unwrap_or_else(|_| "cancelled".to_owned())
}

async fn answer(mut stream: TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    // A reset after the last byte is an end as well.
    match stream.read_to_end(&mut bytes).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !bytes.is_empty() => {}
        Err(error) => return Err(error),
    }
    let answer = Answer::of(&bytes);
    if answer.body.contains(SECRET) || answer.head.contains(SECRET) {
        return Ok("the secret".to_owned());
    }
    let mut said = answer.status.clone();
    if let Some(cause) = answer.header("x-deadline-cause") {
        said.push(' ');
        said.push_str(cause);
    }
    if answer.header("transfer-encoding").is_some() && !answer.body.ends_with("0\r\n\r\n") {
        said.push_str(" cut");
    }
    Ok(said)
}

/// Three requests, one after the other's answer.
async fn kept_alive(to: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(to).await?;
    let mut said = Vec::new();
    for last in [false, false, true] {
        let head = head("GET", "/fast", "x-request-timeout-ms: 50000");
        let head = if last {
            head
        } else {
            head.replace("connection: close\r\n", "")
        };
        stream.write_all(head.as_bytes()).await?;
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\nfast") {
            if stream.read_buf(&mut bytes).await? == 0 {
                break;
            }
        }
        said.push(Answer::of(&bytes).status);
    }
    Ok(said.join(" "))
}

struct Answer {
    status: String,
    head: String,
    body: String,
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        Self {
            status: head.split(' ').nth(1).unwrap_or("no status").to_owned(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}
