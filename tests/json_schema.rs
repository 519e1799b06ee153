//! The schemas that the program prints, for what it writes.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

pub(crate) struct JsonSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl JsonSchema {
    /// Fails the test when it is none.
    pub(crate) fn new(schema: Value) -> Self {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("test:/schema", schema).unwrap();
        let root = compiler.compile("test:/schema", &mut schemas).unwrap();
        Self { schemas, root }
    }

    /// What is wrong with a value; None when nothing is.
    pub(crate) fn objection(&self, value: &Value) -> Option<String> {
        let error = self.schemas.validate(value, self.root).err()?;
        Some(format!("{error:#}"))
    }
}
