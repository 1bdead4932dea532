//! nginx itself: a child that ends with this process, with everything it writes in a folder of its own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

pub const CONFIGURATION: &str = include_str!("nginx.conf");

pub struct Nginx {
    pub address: SocketAddr,
    dir: PathBuf,
    child: Child,
    /// While this is open, nginx runs.
    alive: Option<ChildStdin>,
}

/// Runs its arguments until its input ends, which it does also when this process is killed.
const UNTIL_INPUT_ENDS: &str = r#""$@" & read -r _; kill $! 2>/dev/null; wait"#;

impl Nginx {
    pub fn start(api: SocketAddr) -> Result<Self, Box<dyn std::error::Error>> {
        let program = ["nginx", "/usr/sbin/nginx"].into_iter().find(|program| {
            let mut version = Command::new(program);
            version.arg("-v").stderr(Stdio::null()).status().is_ok()
        });
        let program = program.ok_or(
            "nginx is not installed: on Debian and Ubuntu `apt-get install nginx`, on macOS `brew install nginx`",
        )?;
        let mut last = String::new();
        // nginx cannot be asked for any free port, so it is given one that was free just now.
        for _ in 0..5 {
            match Self::start_once(program, api)? {
                Ok(nginx) => return Ok(nginx),
                Err(said) => last = said,
            }
        }
        Err(format!("nginx does not start: {last}").into())
    }

    fn start_once(program: &str, api: SocketAddr) -> std::io::Result<Result<Self, String>> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let name = format!("nginx-lab-{}-{}", std::process::id(), address.port());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir)?;
        let configuration = CONFIGURATION
            .replace("${dir}", &dir.to_string_lossy())
            .replace("${port}", &address.port().to_string())
            .replace("${api}", &api.to_string());
        let file = dir.join("nginx.conf");
        std::fs::File::create(&file)?.write_all(configuration.as_bytes())?;
        let mut child = Command::new("sh")
            .args(["-c", UNTIL_INPUT_ENDS, "sh", program, "-e", "stderr", "-p"])
            .arg(&dir)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut nginx = Self {
            address,
            dir,
            alive: child.stdin.take(),
            child,
        };
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            // Its own pid file tells it from a stranger who took the port.
            if nginx.dir.join("nginx.pid").exists() && TcpStream::connect(address).is_ok() {
                return Ok(Ok(nginx));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        nginx.stop();
        let mut said = String::new();
        if let Some(mut stderr) = nginx.child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        Ok(Err(said))
    }

    /// The status that nginx logged for a request, once it has.
    pub async fn logged(&self, request: &str) -> String {
        let start = Instant::now();
        loop {
            let log = std::fs::read_to_string(self.dir.join("access.log")).unwrap_or_default();
            let of = log.lines().find_map(|line| line.strip_prefix(request));
            if let Some(status) = of.and_then(|line| line.split_whitespace().next()) {
                return status.to_owned();
            }
            if start.elapsed() > Duration::from_secs(5) {
                return "nothing".to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn stop(&mut self) {
        drop(self.alive.take());
        let _ = self.child.wait();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
