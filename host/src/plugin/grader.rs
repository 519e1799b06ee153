//! Graders: pure functions of the evidence, in a fresh instance for each call.

use std::sync::Arc;

use jiff::civil::DateTime;
use serde_json::Value;
use wasmtime::Store;

use super::bindings::grader::Grader as Guest;
use super::convert;
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use super::load::{LoadError, Plugin, Pre, World};
use super::state::{State, arm, bounded_call, fault};
use crate::eval::record::{CallRecord, FileChange, Utterance};
use crate::workspace::View;

/// What a grader may look at: the session up to the graded turn, nothing of another one.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub turn: u32,
    pub calls: &'a [CallRecord],
    pub messages: &'a [Utterance],
    pub changes: &'a [FileChange],
    pub apps: &'a [AppState],
}

/// The state of one app, as JSON texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppState {
    pub app: String,
    pub before: String,
    pub now: String,
}

/// One thing that a grader can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub id: String,
    pub description: String,
}

/// What a grader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub check: String,
    pub pass: bool,
    pub reason: String,
}

/// A grader plugin, ready to be called.
#[derive(Debug, Clone)]
pub struct Grader {
    plugin: Arc<Plugin>,
    limits: Limits,
}

impl Grader {
    pub fn new(plugin: Arc<Plugin>, limits: Limits) -> Result<Self, LoadError> {
        if plugin.world() != World::Grader {
            return Err(plugin.wrong_world(World::Grader));
        }
        Ok(Self { plugin, limits })
    }

    /// The checks of a configuration; a configuration that the grader refuses is `Failed`.
    pub async fn list_checks(&self, config: &Value) -> Result<Vec<Check>, GuestFault> {
        let config = config.to_string();
        let (mut store, guest) = self.instantiate(None).await?;
        let call = guest
            .pibench_plugin_grading()
            .call_list_checks(&mut store, &config);
        let checks = self.finish(bounded_call(self.limits, call).await, &store)?;
        let convert =
            |check: super::bindings::grader::exports::pibench::plugin::grading::Check| Check {
                id: bounded(&check.id),
                description: bounded(&check.description),
            };
        Ok(checks.into_iter().map(convert).collect())
    }

    /// The verdicts of one call. A timeout is tried once more.
    pub async fn grade(
        &self,
        config: &Value,
        evidence: &Evidence<'_>,
        workspace: &View,
    ) -> Result<Vec<Verdict>, GuestFault> {
        match self.grade_once(config, evidence, workspace).await {
            Err(GuestFault::Timeout { .. }) => self.grade_once(config, evidence, workspace).await,
            other => other,
        }
    }

    async fn grade_once(
        &self,
        config: &Value,
        evidence: &Evidence<'_>,
        workspace: &View,
    ) -> Result<Vec<Verdict>, GuestFault> {
        let config = config.to_string();
        let evidence = convert::evidence(evidence);
        let (mut store, guest) = self.instantiate(Some(workspace.clone())).await?;
        let call = guest
            .pibench_plugin_grading()
            .call_grade(&mut store, &config, &evidence);
        let verdicts = self.finish(bounded_call(self.limits, call).await, &store)?;
        let log = store.data().log.take();
        if !log.is_empty() {
            tracing::info!(grader = self.plugin.name, "{log}");
        }
        let convert =
            |verdict: super::bindings::grader::exports::pibench::plugin::grading::Verdict| {
                Verdict {
                    check: bounded(&verdict.check),
                    pass: verdict.pass,
                    reason: bounded(&verdict.reason),
                }
            };
        Ok(verdicts.into_iter().map(convert).collect())
    }

    async fn instantiate(
        &self,
        workspace: Option<View>,
    ) -> Result<(Store<State>, Guest), GuestFault> {
        let Pre::Grader(pre) = &self.plugin.pre else {
            return Err(GuestFault::Host {
                reason: format!("`{}` is no grader", self.plugin.name),
            });
        };
        let host = |error: &dyn std::fmt::Display| GuestFault::Host {
            reason: error.to_string(),
        };
        let permit = Arc::clone(&self.plugin.permits)
            .acquire_owned()
            .await
            .map_err(|error| host(&error))?;
        // A grader draws nothing at random: the same evidence gives the same verdicts, whatever the seed.
        let mut store = State::store(self.plugin.engine(), self.limits, [0; 32], workspace);
        store.data_mut().permit = Some(permit);
        store
            .data()
            .now
            .set(DateTime::constant(2000, 1, 1, 0, 0, 0, 0));
        arm(&mut store, self.limits).map_err(|error| host(&error))?;
        let guest = bounded_call(self.limits, pre.instantiate_async(&mut store)).await;
        let guest =
            guest.map_err(|error| fault(&error, store.data().limiter.refused, self.limits))?;
        Ok((store, guest))
    }

    fn finish<T>(
        &self,
        result: wasmtime::Result<Result<Vec<T>, String>>,
        store: &Store<State>,
    ) -> Result<Vec<T>, GuestFault> {
        let list = result
            .map_err(|error| fault(&error, store.data().limiter.refused, self.limits))?
            .map_err(|message| GuestFault::Failed {
                message: bounded(&message),
            })?;
        if list.len() > self.limits.json_nodes {
            return Err(GuestFault::BadOutput {
                reason: format!("{} entries in one answer", list.len()),
            });
        }
        Ok(list)
    }
}
