//! The generated bindings of `wit/`. Only what calls the host and what the host calls (`exported`) touches them.
//!
//! `pub_export_macro` is what keeps the two worlds apart: the sections that name a world's *exports* are emitted by the
//! export macros, in the plugin's crate, so that a component is asked only for what its own macro provides. Here remain
//! the worlds' imports, of which the linker of components drops what a plugin does not call.
#![allow(
    unsafe_code,
    clippy::pedantic,
    unreachable_pub,
    reason = "generated code"
)]

pub use wit_bindgen;

pub mod tool_app {
    wit_bindgen::generate!({
        world: "tool-app",
        path: "../../wit",
        pub_export_macro: true,
        export_macro_name: "export_world",
        runtime_path: "::pibench_sdk::bindings::wit_bindgen::rt",
    });
}

pub mod grader {
    wit_bindgen::generate!({
        world: "grader",
        path: "../../wit",
        pub_export_macro: true,
        export_macro_name: "export_world",
        runtime_path: "::pibench_sdk::bindings::wit_bindgen::rt",
    });
}
