//! [`Peer`]: a program of another language, asked and watched.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::process::Process;

/// The languages whose gRPC we meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `grpcio`, on the C core.
    Python,
    /// `@grpc/grpc-js`.
    Node,
    /// `grpc-go`.
    Go,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Python, Self::Node, Self::Go];

    /// Its name, as its answers have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Go => "go",
        }
    }

    fn command(self) -> Command {
        let home = home();
        let scripts = home.with_file_name("peers");
        let mut command = match self {
            Self::Python => {
                let mut command = Command::new(home.join("venv/bin/python"));
                command.arg("peer.py");
                command
            }
            Self::Node => {
                let mut command = Command::new("node");
                command.arg("peer.js");
                command
            }
            Self::Go => Command::new(home.join("go/peer")),
        };
        command.current_dir(scripts).env("PEERS_HOME", home);
        command
    }
}

/// Where `tests/peers/install` puts things.
fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers")
}

/// A running peer: it serves `peer.proto` and makes calls.
#[derive(Debug)]
pub struct Peer {
    language: Language,
    port: u16,
    process: Process,
}

/// A call that a peer makes.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// Names it; one of its own for each call.
    pub id: String,
    /// Whom to call, as `127.0.0.1:50051`.
    pub target: String,
    /// How long the callee works, or works before each item.
    pub work_ms: u32,
    /// How many items to ask for; 0 for one answer.
    pub items: u32,
    /// Whom the callee asks.
    pub next: String,
    /// How long that one works.
    pub next_work_ms: u32,
    /// The deadline.
    pub deadline_ms: Option<u32>,
    /// When the caller cancels.
    pub cancel_ms: Option<u32>,
}

/// What a peer says about a call that it made.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The gRPC code its caller sees.
    pub code: i64,
    /// The text beside it.
    pub text: String,
    /// How long that took.
    pub after_ms: f64,
    /// The answer, if it is one.
    pub told: Value,
    /// How many items of a stream came.
    pub items: u64,
}

/// What a peer says about a call that it served.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// What its library says is left at the start, -1 without a deadline.
    pub left_ms: i64,
    /// Whether the handler came to its end; false if the library ended it.
    pub done: bool,
    /// How long it ran.
    pub after_ms: f64,
}

impl Peer {
    /// Starts one.
    ///
    /// # Panics
    /// If it is not installed or does not start, or under a paused clock.
    pub async fn start(language: Language) -> Self {
        let process = Process::start(language.name(), &mut language.command());
        let process = process.unwrap_or_else(|error| {
            panic!(
                "the {} peer does not start ({error}): run tests/peers/install",
                language.name()
            )
        });
        let port = process
            .wait_for(|lines| events(lines, "listening").find_map(|line| line["port"].as_u64()))
            .await;
        Self {
            language,
            port: u16::try_from(port).expect("a port"),
            process,
        }
    }

    /// Its language.
    #[must_use]
    pub const fn language(&self) -> Language {
        self.language
    }

    /// Where it serves.
    #[must_use]
    pub fn target(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Lets it make a call, and says what came of it.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn ask(&mut self, call: &Call) -> Answer {
        let line = json!({
            "id": call.id,
            "target": call.target,
            "work_ms": call.work_ms,
            "items": call.items,
            "next": call.next,
            "next_work_ms": call.next_work_ms,
            "fail_with": 0,
            "deadline_ms": call.deadline_ms,
            "cancel_ms": call.cancel_ms,
        });
        self.process.tell(&line.to_string());
        let answer = self
            .process
            .wait_for(|lines| events(lines, "answer").find(|line| line["id"] == call.id));
        let answer = answer.await;
        Answer {
            code: answer["code"].as_i64().unwrap_or(-1),
            text: answer["text"].as_str().unwrap_or_default().to_owned(),
            after_ms: answer["after_ms"].as_f64().unwrap_or(-1.0),
            told: answer["told"].clone(),
            items: answer["items"].as_u64().unwrap_or(0),
        }
    }

    /// What it says about a call that it served, once that is over.
    ///
    /// # Panics
    /// If there was none.
    pub async fn served(&self, id: &str) -> Served {
        let of = |line: &Value| line["id"] == id;
        self.process
            .wait_for(|lines| {
                let begin = events(lines, "begin").find(of)?;
                let end = events(lines, "end").find(of)?;
                Some(Served {
                    left_ms: begin["left_ms"].as_i64()?,
                    done: end["done"].as_bool()?,
                    after_ms: end["after_ms"].as_f64()?,
                })
            })
            .await
    }

    /// How many calls of an id it has begun to serve so far.
    pub async fn begun(&self, id: &str) -> usize {
        let begun =
            |lines: &[String]| Some(events(lines, "begin").filter(|l| l["id"] == id).count());
        self.process.wait_for(begun).await
    }
}

fn events<'l>(lines: &'l [String], event: &'l str) -> impl Iterator<Item = Value> + 'l {
    lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(move |line| line["event"] == event)
}
