//! A [`ToolApp`] behind the world's export: the one state of the instance.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;

use crate::app::{self, ToolApp};
use crate::bindings::tool_app::exports::pibench::plugin::tools as export;
use crate::tool::{ToolError, kept_tools};

/// What the export macro hands to the bindings.
pub struct ExportedApp<A>(PhantomData<A>);

thread_local! {
    /// The open app. A generic type cannot own a static, hence `Any`; there is one app type in a component.
    static OPEN: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

fn set<A: ToolApp>(app: A) {
    // Here and not in the first call, which would take more fuel than the same call in an instance that is older.
    drop(kept_tools::<A>());
    OPEN.with(|open| *open.borrow_mut() = Some(Box::new(app)));
}

fn with<A: ToolApp, R>(use_it: impl FnOnce(Option<&mut A>) -> R) -> R {
    OPEN.with(|open| {
        use_it(
            open.borrow_mut()
                .as_mut()
                .and_then(|app| app.downcast_mut()),
        )
    })
}

const NOT_OPEN: &str = "the app is not open: `open` or `restore` comes first";

impl<A: ToolApp> export::Guest for ExportedApp<A> {
    fn list_tools() -> Vec<export::Tool> {
        let convert = |tool: crate::tool::Declaration| export::Tool {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: tool.schema.to_string(),
        };
        A::tools().declarations().into_iter().map(convert).collect()
    }

    fn open(seed: String) -> Result<(), String> {
        set(app::open::<A>(&seed)?);
        Ok(())
    }

    fn add(records: String) -> Result<(), String> {
        with(|app: Option<&mut A>| app::add(app.ok_or(NOT_OPEN)?, &records))
    }

    fn call(name: String, arguments: String) -> Result<String, export::ToolError> {
        let answer = with(|app: Option<&mut A>| {
            let app = app.ok_or_else(|| ToolError::invalid(NOT_OPEN))?;
            app::call(app, &name, &arguments)
        });
        answer.map_err(|error| export::ToolError {
            status: error.status,
            message: error.message,
        })
    }

    fn snapshot() -> Vec<u8> {
        with(|app: Option<&mut A>| app.map(|app| app.snapshot()).unwrap_or_default())
    }

    fn restore(snapshot: Vec<u8>) -> Result<(), String> {
        set(A::restore(&snapshot)?);
        Ok(())
    }

    fn state() -> String {
        with(|app: Option<&mut A>| app.map_or_else(|| "{}".to_owned(), |app| app::state(app)))
    }
}
