//! Generated from `wit/`: the only place that knows the shapes of the component model. `convert`, `app`, `grader` and
//! `host` translate; nothing else may import this.

pub(super) mod tool_app {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "tool-app",
        exports: { default: async },
    });
}

pub(super) mod grader {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "grader",
        exports: { default: async },
        with: {
            "pibench:plugin/types": super::tool_app::pibench::plugin::types,
            "pibench:plugin/log": super::tool_app::pibench::plugin::log,
        },
    });
}
