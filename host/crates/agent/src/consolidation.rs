//! Long sessions: before the chat is full, its oldest turns are turned into a history entry and an updated memory, as a
//! whole session is at its end, and a summary takes their place.

use super::chat::repaired;
use super::environment::Environment;
use super::{Agent, TurnDone, memory};
use pibench_model::ModelError;
use pibench_record::event::Step;

impl Agent<'_> {
    /// Consolidates the oldest turns when the chat is nearly full. It is done before a message comes in, so that nothing
    /// of the turn at hand is lost. An error is infrastructure or setup: nothing was
    /// saved.
    pub(super) async fn consolidate(
        &mut self,
        environment: &mut Environment,
        done: &mut TurnDone,
    ) -> Result<(), ModelError> {
        if !self.chat.is_nearly_full() {
            return Ok(());
        }
        let Some(oldest) = self.chat.oldest_turns() else {
            return Ok(());
        };
        let oldest = repaired(oldest);
        let full = memory::Occasion::ChatFull;
        let remembered = memory::remember(self.model, &oldest, full, environment).await?;
        done.usage += remembered.usage;
        done.faults.extend(remembered.fault);
        let step = Step::Consolidated {
            steps: remembered.steps,
            summary: remembered.entry,
        };
        self.add(done, step);
        Ok(())
    }
}
