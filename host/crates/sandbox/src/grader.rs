//! Graders: pure functions of the evidence, in a fresh instance for each call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jiff::civil::DateTime;
use serde_json::Value;

use super::bindings::grader::Grader as Guest;
use super::bindings::grader::exports::pibench::plugin::grading;
use super::convert;
use super::evidence::Evidence;
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use super::live::{Live, not_run};
use super::plugin::{LoadError, Plugin, Pre, World};
use super::state::Reach;
use crate::workspace::View;
use pibench_core::record::GuestCall;

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
#[derive(Debug)]
pub struct Grader {
    plugin: Arc<Plugin>,
    limits: Limits,
    /// What the calls took, as far as nobody took it yet.
    measured: Mutex<Vec<GuestCall>>,
}

/// The only moment that graders know.
const NOW: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);

impl Grader {
    pub fn new(plugin: Arc<Plugin>, limits: Limits) -> Result<Self, LoadError> {
        if plugin.world() != World::Grader {
            return Err(plugin.wrong_world(World::Grader));
        }
        Ok(Self {
            limits: plugin.capped(limits),
            plugin,
            measured: Mutex::default(),
        })
    }

    /// The limits of each call.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The checks of a configuration; a configuration that the grader refuses is `Failed`.
    pub async fn list_checks(&self, config: &Value) -> Result<Vec<Check>, GuestFault> {
        let config = convert::written(config);
        let checks = self
            .call(
                "list-checks",
                self.limits,
                None,
                async |live: &mut Live<Guest>| {
                    let grading = live.guest.pibench_plugin_grading();
                    grading.call_list_checks(&mut live.store, &config).await
                },
            )
            .await?;
        let convert = |check: grading::Check| Check {
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

    /// What the calls since the last call of this took.
    pub fn take_measured(&self) -> Vec<GuestCall> {
        let measured = self.measured.lock();
        std::mem::take(&mut measured.unwrap_or_else(PoisonError::into_inner))
    }

    async fn grade_once(
        &self,
        config: &Value,
        evidence: &Evidence<'_>,
        workspace: &View,
    ) -> Result<Vec<Verdict>, GuestFault> {
        let config = convert::written(config);
        // Scripts in Python are shown calls alone.
        let evidence = match self.plugin.interpreter {
            Some(_) => &Evidence {
                messages: &[],
                changes: &[],
                apps: &[],
                ..*evidence
            },
            None => evidence,
        };
        let most = self.plugin.profile.limits().memory;
        let limits = self
            .limits
            .grown(evidence.calls.len(), evidence.bytes(), most);
        let evidence = convert::evidence(evidence);
        let workspace = Some(workspace.clone());
        let verdicts = self
            .call(
                "grade",
                limits,
                workspace,
                async |live: &mut Live<Guest>| {
                    let grading = live.guest.pibench_plugin_grading();
                    grading
                        .call_grade(&mut live.store, &config, &evidence)
                        .await
                },
            )
            .await?;
        let convert = |verdict: grading::Verdict| Verdict {
            check: bounded(&verdict.check),
            pass: verdict.pass,
            reason: bounded(&verdict.reason),
        };
        Ok(verdicts.into_iter().map(convert).collect())
    }

    /// One call in a fresh instance.
    async fn call<T>(
        &self,
        function: &str,
        limits: Limits,
        workspace: Option<View>,
        call: impl AsyncFnOnce(&mut Live<Guest>) -> wasmtime::Result<Result<Vec<T>, String>>,
    ) -> Result<Vec<T>, GuestFault> {
        let name = &self.plugin.name;
        let began = Instant::now();
        let mut live = match self.instantiate(limits, workspace).await {
            Ok(live) => live,
            Err(fault) => {
                self.measure(not_run(name, function.to_owned(), &fault, began.elapsed()));
                return Err(fault);
            }
        };
        let made = began.elapsed();
        let ran = live.call(limits, NOW, call).await;
        let log = live.store.data().log.take();
        if !log.is_empty() {
            tracing::info!(grader = name, "{log}");
        }
        let refused = ran.result.as_ref().is_ok_and(Result::is_err);
        self.measure(ran.record(name, function.to_owned(), made, refused));
        let result = ran.result.map_err(|fault| fault.with_last_words(&log));
        let list = result?.map_err(|message| GuestFault::Failed {
            message: bounded(&message),
        })?;
        if list.len() > self.limits.json_nodes {
            return Err(GuestFault::BadOutput {
                reason: format!("{} entries in one answer", list.len()),
            });
        }
        Ok(list)
    }

    fn measure(&self, call: GuestCall) {
        let measured = self.measured.lock();
        measured.unwrap_or_else(PoisonError::into_inner).push(call);
    }

    async fn instantiate(
        &self,
        limits: Limits,
        workspace: Option<View>,
    ) -> Result<Live<Guest>, GuestFault> {
        let Pre::Grader(pre) = &self.plugin.pre else {
            return Err(GuestFault::Host {
                reason: format!("`{}` is no grader", self.plugin.name),
            });
        };
        let reach = workspace.map_or(Reach::Nothing, Reach::View);
        // A grader draws nothing at random: the same evidence gives the same verdicts, whatever the seed.
        self.plugin
            .start(limits, [0; 32], reach, async |store| {
                pre.instantiate_async(store).await
            })
            .await
    }
}
