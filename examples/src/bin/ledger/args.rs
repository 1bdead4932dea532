//! The command line.

use crate::store::Database;

pub struct Args {
    pub database: Database,
    pub help: bool,
}

pub const USAGE: &str = "\
usage: ledger [--postgres [URL]]

  --postgres      keep the ledger in a Postgres server of its own instead of in SQLite files
  --postgres URL  keep it in that database, in schemas of its own; for example postgres://postgres@127.0.0.1/test";

impl Args {
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = args.peekable();
        let mut parsed = Self {
            database: Database::Sqlite,
            help: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--postgres" => {
                    let url = args.next_if(|next| !next.starts_with('-'));
                    parsed.database = url.map_or(Database::OwnPostgres, Database::Postgres);
                }
                "--help" | "-h" => parsed.help = true,
                other => return Err(format!("unknown argument `{other}`\n\n{USAGE}")),
            }
        }
        Ok(parsed)
    }
}
