//! What rank 0 says.

use std::fmt::Display;
use std::io::Write;
use std::time::Instant;

use fenchel_optim::spread::{Communicator, Shards, Traffic};
use fenchel_optim::{Certificate, Progress};

/// Writes a line. If its reader has gone away, or the disk is full, the line is lost and the fit continues.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The messages of all processes, which rank 0 shows.
pub(crate) struct Show {
    speaks: bool,
    start: Instant,
    last: Option<Certificate>,
}

impl Show {
    pub(crate) fn new(ranks: &dyn Communicator, quiet: bool) -> Self {
        Show { speaks: ranks.rank() == 0 && !quiet, start: Instant::now(), last: None }
    }

    pub(crate) fn say(&self, line: impl Display) {
        if self.speaks {
            say(line);
        }
    }

    /// What was read, and the processes that have nothing to do.
    pub(crate) fn begin(&self, read: impl Display, shards: &Shards<'_>) {
        self.say(read);
        let (size, pieces) = (shards.communicator().size(), shards.count());
        if size > pieces {
            let (idle, are) = (size - pieces, if size - pieces == 1 { "is" } else { "are" });
            let pieces = counted(pieces, "piece");
            self.say(format_args!(
                "warning: {idle} of {size} processes {are} idle: the files have {pieces}"
            ));
        }
    }

    /// A line for each certificate.
    pub(crate) fn check(&mut self, progress: &Progress) {
        if self.last.replace(progress.certificate) != Some(progress.certificate) {
            let seconds = self.start.elapsed().as_secs_f64();
            let Progress { passes, certificate, .. } = progress;
            self.say(format_args!("{passes:>8.1} passes {seconds:>8.1} s  {certificate}"));
        }
    }

    /// How a fit ended, and what was sent. All processes call it together.
    pub(crate) fn end(&self, report: impl Display, shards: &Shards<'_>) {
        let ranks = shards.communicator();
        let Traffic { rounds, sent, received } = shards.traffic();
        let sent_by_all: u64 = ranks.gather_numbers(&[sent]).concat().iter().sum();
        self.say(report);
        let own = counted(ranks.size(), "process");
        let shards = counted(shards.count(), "shard");
        self.say(format_args!(
            "{own}, {shards}, {rounds} sums; for these all sent {sent_by_all} bytes, and rank 0 received {received}"
        ));
    }
}

/// A number with its noun.
fn counted(count: usize, noun: &str) -> String {
    let end = match noun {
        _ if count == 1 => "",
        "process" => "es",
        _ => "s",
    };
    format!("{count} {noun}{end}")
}
