//! The command line.

use std::net::SocketAddr;

pub struct Args {
    /// Print the rows as JSON lines.
    pub json: bool,
    /// Keep the gateway up at this address instead of running the scenes.
    pub serve: Option<SocketAddr>,
    pub help: bool,
}

pub const USAGE: &str = "\
usage: dashboard [--json] [--serve ADDR]

  --json        print the rows as JSON lines
  --serve ADDR  keep the gateway up, for example at 127.0.0.1:8080:
                curl -i '127.0.0.1:8080/?ms=50'      the slow dependency takes 50 ms
                curl -i '127.0.0.1:8080/?ms=4000'    and longer than the request has";

impl Args {
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self {
            json: false,
            serve: None,
            help: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => parsed.json = true,
                "--serve" => {
                    let address = args
                        .next()
                        .ok_or("--serve needs an address, as in 127.0.0.1:8080")?;
                    let address = address.parse().map_err(|_| {
                        format!("`{address}` is not an address like 127.0.0.1:8080")
                    })?;
                    parsed.serve = Some(address);
                }
                "--help" | "-h" => parsed.help = true,
                other => return Err(format!("unknown argument `{other}`\n\n{USAGE}")),
            }
        }
        Ok(parsed)
    }
}
