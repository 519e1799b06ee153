//! Generated from `wit/`: the only place that knows the shapes of the component model. `convert`, `app`, `grader` and
//! `host` translate; nothing else may import this.

pub(super) mod tool_app {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "tool-app",
        imports: { "pibench:plugin/log": trappable },
        exports: { default: async },
    });
}

pub(super) mod grader {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "grader",
        imports: { "pibench:plugin/workspace": trappable },
        exports: { default: async },
        with: {
            "pibench:plugin/types": super::tool_app::pibench::plugin::types,
            "pibench:plugin/log": super::tool_app::pibench::plugin::log,
        },
    });
}

pub(super) mod shell {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "shell",
        imports: { "pibench:plugin/files": trappable },
        exports: { default: async },
        with: {
            "pibench:plugin/types": super::tool_app::pibench::plugin::types,
            "pibench:plugin/log": super::tool_app::pibench::plugin::log,
        },
    });
}

pub(super) mod python_runtime {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "python-runtime",
        exports: { default: async },
        with: {
            "pibench:plugin/types": super::tool_app::pibench::plugin::types,
            "pibench:plugin/log": super::tool_app::pibench::plugin::log,
            "pibench:plugin/workspace": super::grader::pibench::plugin::workspace,
            "pibench:plugin/evidence": super::grader::pibench::plugin::evidence,
        },
    });
}

pub(super) mod document_reader {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "document-reader",
        exports: { default: async },
        with: {
            "pibench:plugin/types": super::tool_app::pibench::plugin::types,
            "pibench:plugin/log": super::tool_app::pibench::plugin::log,
        },
    });
}
