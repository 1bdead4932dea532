//! A real Postgres server for a test binary.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A running server in a folder of its own, listening on a free port of the loopback, with trust authentication and the
/// superuser `postgres`.
///
/// A guard process waits for the end of this one, however it ends, and then stops the server and removes its folder.
#[derive(Debug)]
pub struct Server {
    bin: PathBuf,
    dir: PathBuf,
    port: u16,
    user: Option<User>,
    guard: Child,
    databases: AtomicU32,
}

/// Whom the server runs as when we are root, which it refuses to be.
#[derive(Debug, Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Server {
    /// The server of this test binary, started at the first call.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Another server, for tests that restart it.
    ///
    /// # Panics
    /// When Postgres is not installed, or does not start; with its log.
    #[must_use]
    pub fn start() -> Self {
        let bin = bin();
        let user = user();
        let dir = folder(user);
        // Started first, so that nothing that follows can leave a server behind.
        let guard = run_as(user, "sh")
            .arg("-c")
            .arg("trap '' INT TERM; cat >/dev/null; \"$1/pg_ctl\" -D \"$2\" -m immediate -w stop; rm -rf \"$2\"")
            .arg("guard")
            .args([&bin, &dir])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        let mut initdb = run_as(user, bin.join("initdb"));
        initdb.args([
            "--no-sync",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-locale",
        ]);
        check(initdb.arg("-D").arg(&dir), "initdb", None);
        let mut server = Self {
            bin,
            dir,
            port: 0,
            user,
            guard,
            databases: AtomicU32::new(0),
        };
        // Somebody may take the port between our look and the server's.
        for attempt in 1.. {
            server.port = free_port();
            if server.up(attempt == 5) {
                break;
            }
        }
        server
    }

    fn up(&self, must: bool) -> bool {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off \
             -c max_connections=100 -c shared_buffers=16MB -c max_prepared_transactions=0 -c deadlock_timeout=100ms",
            self.port,
            self.dir.display()
        );
        let log = self.dir.join("log");
        let mut start = self.pg_ctl();
        start
            .args(["-w", "-t", "60", "-o", &options, "-l"])
            .arg(&log)
            .arg("start");
        if must {
            check(&mut start, "pg_ctl start", Some(&log));
            return true;
        }
        run(&mut start).is_ok_and(|output| output.0)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The URL of the database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        url(self.address(), "postgres")
    }

    /// A new, empty database; returned is its name.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut createdb = Command::new(self.bin.join("createdb"));
        let port = self.port.to_string();
        createdb.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "postgres",
            "-T",
            "template0",
            &name,
        ]);
        check(&mut createdb, "createdb", None);
        name
    }

    /// Ends every connection at once, as a crash does, and starts again on the same port.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn restart(&self) {
        self.stop();
        self.up(true);
    }

    /// Stops it as a crash does.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(&self) {
        check(
            self.pg_ctl().args(["-m", "immediate", "-w", "stop"]),
            "pg_ctl stop",
            None,
        );
    }

    /// Starts it after [`stop`](Self::stop).
    ///
    /// # Panics
    /// When it does not start.
    pub fn resume(&self) {
        self.up(true);
    }

    fn pg_ctl(&self) -> Command {
        let mut pg_ctl = run_as(self.user, self.bin.join("pg_ctl"));
        pg_ctl.arg("-D").arg(&self.dir);
        pg_ctl
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input is the guard's sign.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// The URL of a database behind an address, which may be a proxy's.
#[must_use]
pub fn url(address: SocketAddr, database: &str) -> String {
    format!("postgres://postgres@{address}/{database}")
}

fn bin() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&path)
        .filter_map(|dir| fs::canonicalize(dir.join("initdb")).ok())
        .filter_map(|initdb| initdb.parent().map(Path::to_owned))
        .collect();
    if found.is_empty() {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        found = versions
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .filter(|bin| bin.join("initdb").exists())
            .collect();
        found.sort();
        found.reverse();
    }
    found
        .into_iter()
        .next()
        .expect("Postgres is missing: tests/run installs the Debian package `postgresql`")
}

/// `None` unless we are root.
fn user() -> Option<User> {
    let (ok, id) = run(Command::new("id").arg("-u")).expect("id");
    assert!(ok, "id -u: {id}");
    if id.trim() != "0" {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
    let entry = |name: &str| {
        let line = passwd
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some(User {
            uid: fields.next()?.ok()?,
            gid: fields.next()?.ok()?,
        })
    };
    Some(
        entry("postgres")
            .or_else(|| entry("nobody"))
            .expect("a user to run as"),
    )
}

fn folder(user: Option<User>) -> PathBuf {
    let turn = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_nanos();
    // Short: the path of a socket in it is limited to about a hundred bytes.
    let dir = std::env::temp_dir().join(format!("pg-{}-{turn:x}", std::process::id()));
    fs::create_dir(&dir).expect("a folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("permissions");
    if let Some(user) = user {
        std::os::unix::fs::chown(&dir, Some(user.uid), Some(user.gid)).expect("chown");
    }
    dir
}

fn run_as(user: Option<User>, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
        .current_dir("/")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> io::Result<(bool, String)> {
    // Not through a pipe: the server inherits it and would keep it open.
    let out = std::env::temp_dir().join(format!(
        "pg-out-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let file = fs::File::create(&out)?;
    command.stdout(file.try_clone()?).stderr(file);
    let status = command.status();
    let text = fs::read_to_string(&out)?;
    fs::remove_file(&out)?;
    Ok((status?.success(), text))
}

fn check(command: &mut Command, what: &str, log: Option<&Path>) {
    let (ok, text) = run(command).unwrap_or_else(|error| panic!("{what}: {error}"));
    let log = log
        .and_then(|log| fs::read_to_string(log).ok())
        .unwrap_or_default();
    assert!(ok, "{what} failed: {text}\n{log}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}
