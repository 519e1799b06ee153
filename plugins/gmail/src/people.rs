//! The tools about accounts.

use pibench_sdk::account::{Account, Email, Person};
use pibench_sdk::listing;
use pibench_sdk::tool::ToolError;
use serde_json::{Value, json};

use crate::Gmail;
use crate::arguments::{Search, SignUp};

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

    pub(crate) fn search_users(&mut self, arguments: Search) -> Result<Vec<Value>, ToolError> {
        let Search {
            query,
            page_index,
            page_limit,
        } = arguments;
        let users = self.accounts.search(query.as_deref());
        let view = |user: &Account| {
            json!({
                "first_name": user.first_name,
                "last_name": user.last_name,
                "email": user.email,
                "registered_at": user.registered_at,
                "status": "active",
            })
        };
        Ok(listing::page(users, page_index, page_limit)
            .into_iter()
            .map(view)
            .collect())
    }
}
