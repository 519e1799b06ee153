//! Subagents: a part of the task that an agent of its own works on, with fewer tools and a chat that begins empty. They
//! run one after the other at a fixed point, when the calls of the answer that spawned them are done, so that a run can
//! be repeated. Their calls are the agent's own in every record; they speak to nobody but the agent.

use std::time::Instant;

use super::chat::Chat;
use super::context::Channel;
use super::environment::Environment;
use super::tools::spawn::Spawned;
use super::{Agent, Setup, TurnDone, TurnEnd, bounds};
use pibench_model::ModelError;
use pibench_record::event::{Fault, FaultKind, Step};

/// Answers of the model that a subagent has.
const ITERATIONS: u32 = 15;

impl Agent<'_> {
    /// Runs a subagent to its end and tells the agent its result.
    pub(super) async fn delegate(
        &mut self,
        environment: &mut Environment,
        turn: u32,
        spawned: Spawned,
        deadline: &mut Instant,
        done: &mut TurnDone,
    ) -> Result<(), TurnEnd> {
        let Spawned { task, label } = spawned;
        let own = environment.toolbox.clone();
        environment.toolbox = own.of_subagent();
        let mut subagent = self.subagent(environment);
        subagent.hear(&task, &environment.clock.to_string());
        let begun = TurnDone::default();
        // Boxed: a loop that runs loops has no size. A subagent has no `spawn`, so the depth is two.
        let work = subagent.work(environment, turn, ITERATIONS, deadline, begun);
        let worked = Box::pin(work).await;
        environment.toolbox = own;
        done.usage += worked.usage;
        done.written_calls += worked.written_calls;
        done.faults.extend(worked.faults);
        let (result, ended) = match worked.end {
            TurnEnd::Answered => (worked.response, None),
            TurnEnd::Model(ModelError::Refused { server, reason, .. }) => {
                done.faults.push(Fault {
                    kind: FaultKind::Model,
                    source: format!("subagent {label}"),
                    cause: "refused".into(),
                    message: format!("failed to get an answer from {server}: {reason}"),
                });
                ("It broke off without a result.".into(), None)
            }
            end => ("It broke off without a result.".into(), Some(end)),
        };
        let step = Step::Subagent {
            label,
            task,
            steps: worked.steps,
            result,
        };
        self.add(done, step);
        ended.map_or(Ok(()), Err)
    }

    fn subagent(&self, environment: &Environment) -> Agent<'_> {
        let setup = Setup {
            channel: Channel::Subagent,
            ..self.setup
        };
        let bounds = bounds(self.model, setup, &environment.toolbox);
        let system = environment.prompts.subagent().to_owned();
        Agent {
            model: self.model,
            setup,
            chat: Chat::new(setup.protocol, bounds, system),
        }
    }
}
