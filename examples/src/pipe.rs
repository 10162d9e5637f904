//! This module ends a program whose output is lost.

use std::io::Write;

/// Ends the program if its output cannot be written; `println!` would panic. If the reader is closed, as in `example | head`, there is
/// no message, and the exit code is that of a program that the system ends for it. Otherwise the disk is full, or the like: a failure.
pub fn end_on_lost_output() {
    let other_panics = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>();
        match message.filter(|text| text.starts_with("failed printing to std")) {
            Some(text) if text.contains("Broken pipe") => std::process::exit(141),
            Some(text) => {
                let _ = writeln!(std::io::stderr(), "error: {text}");
                std::process::exit(1)
            }
            None => other_panics(panic),
        }
    }));
}
