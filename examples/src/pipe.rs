//! This module ends a program if the reader of its output is closed.

/// Ends the program with exit code 0 and without a message if the reader of its output is closed, as in `example | head`. Without
/// this function `println!` would panic.
pub fn end_on_closed_pipe() {
    let other_panics = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>();
        if message.is_some_and(|text| text.contains("failed printing to std")) {
            std::process::exit(0);
        }
        other_panics(panic);
    }));
}
