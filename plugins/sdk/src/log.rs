//! Lines for the run's log. Nothing that a plugin decides may depend on them.

/// For the plugin's author.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// What went as it should.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// What looks wrong.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// What is wrong.
pub fn error(message: &str) {
    write(Level::Error, message);
}

#[derive(Debug, Clone, Copy)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

#[cfg(target_family = "wasm")]
fn write(level: Level, message: &str) {
    // Both worlds import the same interface; one of the two bindings serves both.
    use crate::bindings::tool_app::pibench::plugin::log;
    let level = match level {
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    log::write(level, message);
}

#[cfg(not(target_family = "wasm"))]
fn write(level: Level, message: &str) {
    eprintln!("{level:?}: {message}");
}
