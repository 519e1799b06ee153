//! The tools about accounts.

use pibench_sdk::account::{Email, Person};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Gmail;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignUp {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    pub password: String,
}

impl Gmail {
    pub(crate) fn sign_up(&mut self, arguments: SignUp) -> Result<Value, ToolError> {
        let SignUp {
            first_name,
            last_name,
            email,
            password,
        } = arguments;
        let email = Email::parse(&email)?;
        if first_name.trim().is_empty() || last_name.trim().is_empty() {
            return Err(ToolError::invalid(
                "The first and the last name must not be empty.",
            ));
        }
        if password.is_empty() {
            return Err(ToolError::invalid("The password must not be empty."));
        }
        let message = format!("The account {email} is created. Log in to use it.");
        let password = Some(password);
        self.accounts.sign_up(Person {
            first_name,
            last_name,
            email,
            phone_number: None,
            password,
        })?;
        Ok(json!({"message": message}))
    }
}
