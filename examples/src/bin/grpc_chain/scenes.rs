//! What is asked, what comes back, and what was promised.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use deadline_runtime::{Budget, Context};
use futures::StreamExt as _;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tonic::{Code, Status};

use crate::chain::{BoxError, Entry, Journal};
use crate::text::{ONCE, TextClient};

/// What a machine under load may take on top. Everything else is counted.
const SLACK: Duration = Duration::from_millis(350);

/// One scene.
pub struct Row {
    scene: &'static str,
    answer: String,
    waited: Duration,
    hops: Vec<Entry>,
    from: Instant,
    promises: Vec<(&'static str, bool)>,
}

impl Row {
    pub fn kept(&self) -> bool {
        self.promises.iter().all(|(_, kept)| *kept)
    }

    fn hop(&self, name: &str) -> Option<&Entry> {
        self.hops.iter().find(|entry| entry.hop == name)
    }

    /// Whether a hop was entered and has ended without an answer.
    fn stopped(&self, name: &str) -> bool {
        self.hop(name)
            .is_some_and(|entry| entry.ended.is_some() && !entry.answered)
    }

    fn entered(&self, name: &str) -> usize {
        self.hops.iter().filter(|entry| entry.hop == name).count()
    }

    fn promise(&mut self, text: &'static str, kept: bool) {
        self.promises.push((text, kept));
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<44} {:<26} {:>5} ms ",
            self.scene,
            self.answer,
            self.waited.as_millis()
        )?;
        for name in ["A", "B", "C"] {
            let cell = self.hop(name).map_or_else(
                || "-".to_owned(),
                |entry| {
                    let left = entry.left.map_or_else(
                        || "no limit".to_owned(),
                        |left| left.as_millis().to_string(),
                    );
                    let end = entry
                        .ended
                        .map(|at| at.duration_since(self.from).as_millis());
                    let end = end.map_or_else(|| "runs".to_owned(), |end| end.to_string());
                    format!("{left} / {end}")
                },
            );
            write!(f, " {cell:>14}")?;
        }
        for (text, kept) in &self.promises {
            let word = if *kept { "kept" } else { "BROKEN" };
            write!(f, "\n    {word:<7} {text}")?;
        }
        Ok(())
    }
}

pub const HEAD: &str = "scene                                        answer                       waited   A left / end   B left / end   C left / end";

pub struct Scenes {
    pub journal: Journal,
    pub client: TextClient,
    pub a: SocketAddr,
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn says(outcome: &Result<String, Status>) -> String {
    match outcome {
        Ok(_) => "0 Ok".to_owned(),
        Err(status) => format!("{} {:?}", i32::from(status.code()), status.code()),
    }
}

fn code(outcome: &Result<String, Status>) -> Code {
    outcome.as_ref().map_or_else(Status::code, |_| Code::Ok)
}

impl Scenes {
    pub async fn all(&self) -> Result<Vec<Row>, BoxError> {
        Ok(vec![
            self.too_slow().await,
            self.in_time().await,
            self.cancelled().await,
            self.used_up().await,
            self.stream().await,
            self.bytes("a timeout of zero", "0m", "4").await?,
            self.bytes("an unreadable timeout", "-1S", "3").await?,
        ])
    }

    /// One call under a deadline.
    async fn call(&self, scene: &'static str, millis: u64, text: &str) -> (Row, Code) {
        self.journal.clear();
        let from = Instant::now();
        let cx = Context::root("client", Budget::new(ms(millis)));
        let call = async { self.client.clone().once(text.to_owned()).await };
        let outcome = cx
            .run(call)
            .await
            .unwrap_or_else(|stopped| Err(stopped.into()));
        let row = self.row(scene, from, says(&outcome)).await;
        (row, code(&outcome))
    }

    /// What has happened, once the hops have had time to notice.
    async fn row(&self, scene: &'static str, from: Instant, answer: String) -> Row {
        let waited = from.elapsed();
        let patience = Instant::now();
        while self.journal.all().iter().any(|entry| entry.ended.is_none())
            && patience.elapsed() < ms(400)
        {
            tokio::time::sleep(ms(5)).await;
        }
        Row {
            scene,
            answer,
            waited,
            hops: self.journal.all(),
            from,
            promises: Vec::new(),
        }
    }

    async fn too_slow(&self) -> Row {
        let (mut row, code) = self.call("100 ms for 500 ms of work", 100, "500").await;
        row.promise(
            "DEADLINE_EXCEEDED, not CANCELLED",
            code == Code::DeadlineExceeded,
        );
        row.promise(
            "the client waits about as long as it said",
            row.waited < ms(100) + SLACK,
        );
        row.promise(
            "the work was stopped",
            row.hop("C").is_none_or(|c| c.ended.is_some()),
        );
        row
    }

    async fn in_time(&self) -> Row {
        let (mut row, code) = self.call("1 s for 500 ms of work", 1_000, "500").await;
        row.promise("success", code == Code::Ok);
        row.promise(
            "after the work, and little more",
            (ms(500)..ms(500) + SLACK).contains(&row.waited),
        );
        let left = |name| {
            row.hop(name)
                .and_then(|entry| entry.left)
                .unwrap_or_default()
        };
        let falls = left("A") < ms(1_000) && left("B") < left("A") && left("C") < left("B");
        row.promise(
            "each hop has only the rest",
            falls && left("C") > Duration::ZERO,
        );
        row
    }

    async fn cancelled(&self) -> Row {
        self.journal.clear();
        let from = Instant::now();
        let cx = Context::root("client", Budget::new(ms(5_000)));
        let call = cx.run(async { self.client.clone().once("4000".to_owned()).await });
        let left = tokio::time::timeout(ms(200), call).await.is_err();
        let mut row = self
            .row(
                "the client cancels after 200 ms",
                from,
                "the client left".into(),
            )
            .await;
        row.promise("it left before there was an answer", left);
        let all = ["A", "B", "C"].iter().all(|hop| row.stopped(hop));
        row.promise("all three hops were stopped", all);
        row
    }

    async fn used_up(&self) -> Row {
        let (mut row, code) = self.call("A uses up everything", 300, "burn 10").await;
        row.promise("DEADLINE_EXCEEDED", code == Code::DeadlineExceeded);
        let never = row.entered("B") + row.entered("C") == 0;
        row.promise("B and C are never called", never);
        row
    }

    async fn stream(&self) -> Row {
        self.journal.clear();
        let from = Instant::now();
        let cx = Context::root("client", Budget::new(ms(500)));
        let mut ticks = 0;
        let call = async {
            let mut texts = self.client.clone().many(String::new()).await?;
            while let Some(text) = texts.next().await {
                text?;
                ticks += 1;
            }
            Ok(String::new())
        };
        let outcome = cx
            .run(call)
            .await
            .unwrap_or_else(|stopped| Err(stopped.into()));
        let mut row = self
            .row("a stream under 500 ms", from, says(&outcome))
            .await;
        row.promise("some of it arrived", ticks > 0);
        row.promise(
            "then DEADLINE_EXCEEDED",
            code(&outcome) == Code::DeadlineExceeded,
        );
        row.promise("by the deadline", row.waited < ms(500) + SLACK);
        row.promise("its source was stopped", row.stopped("A"));
        row
    }

    /// A head that no client of tonic's would send.
    async fn bytes(
        &self,
        scene: &'static str,
        timeout: &str,
        status: &str,
    ) -> Result<Row, BoxError> {
        self.journal.clear();
        let from = Instant::now();
        let io = TokioIo::new(tokio::net::TcpStream::connect(self.a).await?);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        let request = http::Request::post(format!("http://{}{ONCE}", self.a))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-timeout", timeout)
            .body(Full::new(Bytes::from_static(b"\0\0\0\0\x0210")))?;
        let answer = sender.send_request(request).await?;
        let header = |name: &str| {
            let value = answer.headers().get(name).map(|value| value.to_str());
            value.and_then(Result::ok).unwrap_or("").to_owned()
        };
        let (found, cause) = (header("grpc-status"), header("x-deadline-cause"));
        let mut row = self.row(scene, from, format!("{found} {cause}")).await;
        row.promise("the code says what it was", found == status);
        let grpc = answer.status() == 200 && header("content-type") == "application/grpc";
        row.promise("HTTP 200 and a gRPC content type", grpc);
        row.promise("no handler was entered", row.entered("A") == 0);
        Ok(row)
    }
}
