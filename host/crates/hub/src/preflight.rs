//! The question before the first submitter comes: do the models of user and judge answer? Each hub that starts asks it, but of a
//! model whose answers cost something once a day only: a hub that is started again and again is not to pay for that.

use std::sync::Arc;

use crate::ledger::{Ledger, LedgerError};
use pibench_engine::plan::{PlanError, Shared};
use pibench_engine::{ModelError, probe_all};

/// Why the hub's models cannot work. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// What a server rejects: the operator has to mend it.
    #[error("pass the preflight: {0}; --no-preflight leaves the question out")]
    Setup(String),
    /// What could not be reached: it may be there later.
    #[error("pass the preflight: {0}; --no-preflight leaves the question out")]
    Infrastructure(String),
}

/// Asks the models that have to be; a line for each.
pub(crate) async fn preflight(
    shared: &Shared,
    ledger: &Arc<Ledger>,
) -> Result<Vec<String>, PreflightError> {
    let books = Arc::clone(ledger);
    let models = shared.models(move |sum| {
        if let Err(error) = books.pay_for_hub(sum) {
            tracing::error!("failed to count {sum} for the preflight: {error}");
        }
    })?;
    let mut asked = Vec::new();
    for client in models {
        let is_free = client.price().is_some_and(|price| price.is_nothing());
        if is_free || !ledger.has_answered(&client.mark())? {
            asked.push(client);
        }
    }
    let probes = probe_all(&asked).await;
    let (mut lines, mut setup, mut trouble) = (Vec::new(), Vec::new(), Vec::new());
    for (client, probe) in asked.iter().zip(probes) {
        lines.push(probe.line());
        match probe.answer {
            Ok(_) => ledger.put_answered(&client.mark())?,
            Err(error) => {
                let reasons = match error {
                    ModelError::Infrastructure { .. } => &mut trouble,
                    ModelError::Setup { .. }
                    | ModelError::Window { .. }
                    | ModelError::Refused { .. } => &mut setup,
                };
                let reason = error.to_string();
                // A model that is several roles is told of once.
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
    }
    if !setup.is_empty() {
        setup.append(&mut trouble);
        return Err(PreflightError::Setup(setup.join("; ")));
    }
    if !trouble.is_empty() {
        return Err(PreflightError::Infrastructure(trouble.join("; ")));
    }
    Ok(lines)
}
