//! What a component file says of itself, read without compiling it: what it imports and exports, and its version. It
//! never says whether the component is sound: that is for the compiler.

use serde::{Deserialize, Serialize};
use wasmparser::{ComponentTypeRef, KnownCustom, Parser, Payload};

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// In the order of the file.
    pub imports: Vec<Import>,
    pub exports: Vec<String>,
    /// The custom section `version`, of the component or of a module in it; empty when there is none.
    pub version: String,
}

/// One import of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    pub name: String,
    /// Whether it is an interface, as all imports that the host knows are.
    pub interface: bool,
}

/// The package of the interface that plugins are built against.
const PACKAGE: &str = "pibench:plugin/";

/// The preamble of a component: magic, version 13, layer 1. Compiled code and core modules have others.
pub(super) fn is_component(wasm: &[u8]) -> bool {
    wasm.starts_with(b"\0asm\x0d\x00\x01\x00")
}

impl Facts {
    /// Reads the file's sections. An error says what is wrong with its form.
    pub fn of(wasm: &[u8]) -> Result<Self, String> {
        if !is_component(wasm) {
            return Err("it is no WebAssembly component".into());
        }
        let mut facts = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.map_err(|error| error.to_string())?;
            match payload {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        let import = import.map_err(|error| error.to_string())?;
                        facts.imports.push(Import {
                            name: import.name.name.to_owned(),
                            interface: matches!(import.ty, ComponentTypeRef::Instance(_)),
                        });
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        let export = export.map_err(|error| error.to_string())?;
                        facts.exports.push(export.name.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => facts.take_version(&section),
                _ => {}
            }
        }
        Ok(facts)
    }

    fn take_version(&mut self, section: &wasmparser::CustomSectionReader<'_>) {
        let known = matches!(section.as_known(), KnownCustom::Unknown);
        if known && section.name() == "version" && self.version.is_empty() {
            let text = String::from_utf8_lossy(section.data());
            let plain = |c: &char| c.is_ascii_graphic();
            self.version = text.chars().filter(plain).take(64).collect();
        }
    }

    /// The version of the interface that the component exports, `0.1.0`; empty when it exports none.
    pub fn wit(&self) -> &str {
        let version = |name: &'_ String| -> Option<usize> {
            name.starts_with(PACKAGE).then(|| name.rfind('@')).flatten()
        };
        self.exports
            .iter()
            .find_map(|name| version(name).map(|at| &name[at + 1..]))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_exports_of_the_component_itself_are_told() {
        let wasm = wat::parse_str(
            r#"(component
                (import "pibench:plugin/log@0.1.0" (instance))
                (import "spin" (func))
                (core module (import "inner" "one" (func)) (@custom "version" "1.2.3"))
                (component (import "nested" (instance)) (export "other" (instance 0)))
                (instance $i)
                (export "pibench:plugin/tools@0.1.0" (instance $i))
            )"#,
        )
        .unwrap();
        let facts = Facts::of(&wasm).unwrap();
        let names: Vec<(&str, bool)> = facts
            .imports
            .iter()
            .map(|import| (import.name.as_str(), import.interface))
            .collect();
        assert_eq!(names, [("pibench:plugin/log@0.1.0", true), ("spin", false)]);
        assert_eq!(facts.exports, ["pibench:plugin/tools@0.1.0"]);
        assert_eq!((facts.version.as_str(), facts.wit()), ("1.2.3", "0.1.0"));
    }

    #[test]
    fn what_is_no_component_is_refused() {
        assert!(Facts::of(b"").is_err());
        assert!(Facts::of(&wat::parse_str("(module)").unwrap()).is_err());
        let wasm = wat::parse_str("(component (core module))").unwrap();
        assert!(Facts::of(&wasm[..wasm.len() - 1]).is_err(), "cut");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(tail: Vec<u8>) {
            let wasm = [b"\0asm\x0d\x00\x01\x00".as_slice(), &tail].concat();
            let _ = Facts::of(&wasm);
        }
    }
}
