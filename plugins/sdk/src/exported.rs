//! What the host calls: an author's app or grader behind the interfaces of `wit/`, and the macros that put it there.

#[cfg(target_family = "wasm")]
mod grading;
#[cfg(target_family = "wasm")]
mod tools;

#[cfg(target_family = "wasm")]
pub use grading::ExportedGrader;
#[cfg(target_family = "wasm")]
pub use tools::ExportedApp;

/// Makes a type that implements [`ToolApp`](crate::app::ToolApp) the component's `tools` interface. Once per plugin; natively it only checks
/// that the type is an app.
#[macro_export]
macro_rules! export_tool_app {
    ($app:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the canonical ABI's entry points")]
        const _: () = {
            type Exported = $crate::exported::ExportedApp<$app>;
            $crate::bindings::tool_app::export_world!(Exported with_types_in $crate::bindings::tool_app);
            // The custom section that tools read a component's version from.
            #[used]
            #[unsafe(link_section = "version")]
            static VERSION: [u8; env!("CARGO_PKG_VERSION").len()] = {
                let mut version = [0; env!("CARGO_PKG_VERSION").len()];
                version.copy_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
                version
            };
        };
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            const fn is_app<A: $crate::app::ToolApp>() {}
            is_app::<$app>();
        };
    };
}

/// Makes a type that implements [`Grader`](crate::grader::Grader) the component's `grading` interface. Once per plugin; natively it only checks
/// that the type is a grader.
#[macro_export]
macro_rules! export_grader {
    ($grader:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the canonical ABI's entry points")]
        const _: () = {
            type Exported = $crate::exported::ExportedGrader<$grader>;
            $crate::bindings::grader::export_world!(Exported with_types_in $crate::bindings::grader);
            // The custom section that tools read a component's version from.
            #[used]
            #[unsafe(link_section = "version")]
            static VERSION: [u8; env!("CARGO_PKG_VERSION").len()] = {
                let mut version = [0; env!("CARGO_PKG_VERSION").len()];
                version.copy_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
                version
            };
        };
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            const fn is_grader<G: $crate::grader::Grader>() {}
            is_grader::<$grader>();
        };
    };
}
