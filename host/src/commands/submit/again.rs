//! A sample of a submission, judged again.

use anyhow::anyhow;

use crate::cli::board::AgainArgs;
use crate::commands::submission::Checked;
use crate::commands::{machine, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Judged;
use pibench_engine::plan::{Answers, Places, Purpose, reopen_foreign};
use pibench_engine::{Plan, Sample};
use pibench_report::escape::line;

/// Asks another judge about a sample of a submission. What could not be judged is in no number.
pub(super) fn judge_again(
    checked: &Checked,
    judge: &str,
    again: &AgainArgs,
    places: Places<'_>,
) -> Result<Judged, Failure> {
    if judge.contains("lexical") {
        return Err(anyhow!("judge again by `{judge}`: want a model")).or_exit(Exit::Usage);
    }
    let machine = machine()?;
    let purpose = Purpose::Judge {
        judge,
        answers: &Answers::Asked,
        again: false,
        trusts_record: false,
    };
    let played = checked.runs.iter().filter(|run| run.replayed);
    let plans = played.map(|run| Ok(reopen_foreign(&machine, &run.dir, purpose, places)?));
    let plans = plans.collect::<Result<Vec<Plan>, Failure>>()?;
    let seed = again.seed.map_or_else(draw_seed, Ok)?;
    let sample = Sample::draw(&plans, again.sample as usize, seed).or_exit(Exit::Io)?;
    let audited = runtime()?.block_on(pibench_engine::audit(&sample, seed));
    for reason in &audited.faults {
        pibench_report::tell!("error: failed to {}", line(reason));
    }
    if let Some(reason) = &audited.setup {
        return Err(anyhow!("{}", line(reason))).or_exit(Exit::Setup);
    }
    if let Some(reason) = audited.broken.first() {
        return Err(anyhow!("{}", line(reason))).or_exit(Exit::Infrastructure);
    }
    Ok(Judged {
        judge: judge.to_owned(),
        sampled: audited.sampled,
        of: audited.of,
        seed: Some(seed),
        intents: audited.intents.map(|found| found.rate),
        checklist: audited.checklist.map(|found| found.rate),
    })
}

/// A seed that nobody knew before: whoever does can send verdicts that are wrong where the sample does not look. Every program reads a
/// whole number of so many bits as it is.
fn draw_seed() -> Result<u64, Failure> {
    const BITS: u32 = 53;
    let mut bytes = [0; 8];
    let drawn = getrandom::fill(&mut bytes);
    drawn
        .map_err(|error| anyhow!("draw a seed: {error}; name one by --seed"))
        .or_exit(Exit::Io)?;
    Ok(u64::from_le_bytes(bytes) >> (u64::BITS - BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_another_each_time_and_fits_into_every_number() {
        let [one, other] = [(); 2].map(|()| draw_seed().map_err(|failure| failure.reason()));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_ne!(one, other);
        assert!(one.max(other) < 1 << 53);
    }
}
