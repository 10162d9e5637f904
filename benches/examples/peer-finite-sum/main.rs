//! This project's side of `cargo xtask peers finite-sum`.
//!
//! ```text
//! peer-finite-sum export --out DIR [--data DIR] [--size quick] [--ground HALF]
//!                                                                  writes the data sets, prints their names
//! peer-finite-sum serve --file DIR/NAME                            loads one, then answers requests
//! ```
//!
//! Both sides must work on identical numbers, so `export` writes binary arrays that the script reads as
//! they are. A server rather than a program a solve, so that reading the file is outside what is timed
//! and the script can alternate between solvers: a line of JSON on standard input is a
//! [`Request`](protocol::Request), a line on standard output its [`Reply`](protocol::Reply).

mod files;
mod methods;
mod new_ground;
mod protocol;

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;

const USAGE: &str =
    "usage: peer-finite-sum export --out DIR [--data DIR] [--size quick] [--ground validation|test|fresh]
       peer-finite-sum serve --file DIR/NAME";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().ok_or(USAGE)?;
    let (mut out, mut data, mut file, mut ground, mut quick) = (None, None, None, None, false);
    while let Some(flag) = arguments.next() {
        let value = PathBuf::from(arguments.next().ok_or(USAGE)?);
        match flag.as_str() {
            "--out" => out = Some(value),
            "--data" => data = Some(value),
            "--file" => file = Some(value),
            "--ground" => ground = Some(value.display().to_string()),
            "--size" => quick = value.as_os_str() == "quick",
            _ => return Err(format!("{flag} is not an option\n{USAGE}").into()),
        }
    }
    match (command.as_str(), out, file) {
        ("export", Some(out), None) => match ground {
            Some(half) => files::export_new(&out, &half),
            None => files::export(&out, data.as_deref(), quick),
        },
        ("serve", None, Some(file)) => serve(&file),
        _ => Err(USAGE.into()),
    }
}

fn serve(file: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let data = files::load(file)?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let reply = serde_json::from_str(&line?)
            .map_err(Box::<dyn Error>::from)
            .and_then(|request| protocol::answer(&data, &request));
        // A method that refuses a problem is an answer, not the end.
        let reply = match reply {
            Ok(reply) => serde_json::to_string(&reply)?,
            Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
