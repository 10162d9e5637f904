//! What happens when nobody reads the output any more.

/// Ends the program quietly, with exit code 0, where `println!` would panic because its reader is gone: `example | head`.
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
