//! The command line.

use crate::store::Database;

pub struct Args {
    pub database: Database,
    pub help: bool,
}

pub const USAGE: &str = "\
usage: ledger [--postgres URL]

  --postgres URL  keep the ledger there instead of in SQLite files, for example postgres://postgres@127.0.0.1/test;
                  it makes schemas of its own";

impl Args {
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self {
            database: Database::Sqlite,
            help: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--postgres" => {
                    let url = args.next().ok_or(
                        "--postgres needs a URL, as in postgres://postgres@127.0.0.1/test",
                    )?;
                    parsed.database = Database::Postgres(url);
                }
                "--help" | "-h" => parsed.help = true,
                other => return Err(format!("unknown argument `{other}`\n\n{USAGE}")),
            }
        }
        Ok(parsed)
    }
}
