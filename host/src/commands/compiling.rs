//! What is told of plugins that are compiled before anything is played: plain lines, and on a terminal a clock that moves.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{cache_dir, look};
use pibench_report::progress::{Look, Moving};
use pibench_sandbox::cache_usable;

/// The line that moves, and of how many plugins it is.
static MOVING: Mutex<Option<(Moving, usize)>> = Mutex::new(None);

pub(super) fn begin(plugins: &[&str]) {
    let kept = cache_usable(&cache_dir());
    let often = if kept.is_ok() { ", once" } else { "" };
    let text = match plugins {
        [one] => format!("compiling {one}{often}"),
        // Their names would not fit a line.
        many => format!("compiling {} plugins{often}", many.len()),
    };
    if let Err(error) = kept {
        pibench_report::tell!("Each run compiles them again: {error}");
    }
    if look() != Look::Terminal {
        return pibench_report::tell!("{text}");
    }
    let mut moving = MOVING.lock().unwrap_or_else(PoisonError::into_inner);
    *moving = Some((Moving::begin(text), plugins.len()));
}

pub(super) fn end(plugins: &[&str], took: Duration) {
    let seconds = took.as_secs_f64();
    let text = match plugins {
        [one] => format!("compiled {one}: {seconds:.1} s"),
        many => format!("compiled {} plugins: {seconds:.1} s", many.len()),
    };
    let mut moving = MOVING.lock().unwrap_or_else(PoisonError::into_inner);
    match &*moving {
        // One of several.
        Some((line, all)) if plugins.len() < *all => return line.above(&text),
        _ => drop(moving.take()),
    }
    pibench_report::tell!("{text}");
}
