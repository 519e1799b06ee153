//! A part of a run, as a task of a scheduler plays it: which one it is, where it lies, and whether it is begun or gone on with.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::{RunArgs, ShardArg};
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::blank;
use pibench_record::folder::Shard;
use pibench_record::parts::PART;

/// How many parts there are, where the scheduler does not say it.
const PARTS: &str = "PIBENCH_PARTS";
const SLURM: [&str; 4] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_COUNT",
];
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

/// The command line with `--shard auto` in the words of the task that this is.
pub(super) fn place(args: &RunArgs) -> Result<RunArgs, Failure> {
    let mut args = args.clone();
    if args.shard != Some(ShardArg::Auto) {
        return Ok(args);
    }
    let Some(out) = &args.out else {
        return Err(anyhow!(
            "play a part: --shard auto wants --out DIR, the folder of all parts, the same for each"
        ))
        .or_exit(Exit::Usage);
    };
    let shard = of_task(&|name| std::env::var(name).ok())
        .map_err(|reason| anyhow!("tell which part this is (--shard auto): {reason}"))
        .or_exit(Exit::Usage)?;
    args.out = Some(folder(out, shard.index));
    args.shard = Some(ShardArg::Given(shard));
    Ok(args)
}

/// The part that is played; None for all. To be asked of a command line that is placed.
pub(super) fn of(args: &RunArgs) -> Option<Shard> {
    match args.shard {
        Some(ShardArg::Given(shard)) => Some(shard),
        Some(ShardArg::Auto) | None => None,
    }
}

/// The folder of a part that is gone on with; None where a folder is to be made.
pub(super) fn begun(args: &RunArgs) -> Option<&Utf8Path> {
    let out = args.out.as_deref()?;
    (of(args).is_some() && out.exists()).then_some(out)
}

/// Takes away a folder in the place of a part, or of one of its agents, in which nothing was ever played.
pub(super) fn clear_blank(args: &RunArgs, dir: Option<&Utf8Path>) -> Result<(), Failure> {
    let Some(dir) = dir.filter(|_| of(args).is_some()) else {
        return Ok(());
    };
    blank::clear_blank(dir.as_std_path()).or_exit(Exit::Io)
}

/// Where a part lies.
fn folder(out: &Utf8Path, index: u32) -> Utf8PathBuf {
    out.join(format!("{PART}{index}"))
}

/// The part of the task that these variables tell of.
fn of_task(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let number = |name: &str| -> Result<Option<u32>, String> {
        let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let number = text.parse().map(Some);
        number.map_err(|_| format!("{name} is `{text}`, and no number"))
    };
    let parts = number(PARTS)?;
    let [id, min, max, count] = SLURM.map(number);
    let (index, of) = match (id?, number(KUBERNETES)?, parts) {
        // A part of the array may be handed in again, and its numbers are then not all.
        (Some(id), _, Some(parts)) => (id, parts),
        (Some(id), _, None) => {
            let (Some(min), Some(max)) = (min?, max?) else {
                return Err(format!(
                    "{} is set, and {} or {} is not",
                    SLURM[0], SLURM[1], SLURM[2]
                ));
            };
            let of = max.saturating_sub(min).saturating_add(1);
            if count?.is_some_and(|count| count != of) {
                return Err(format!(
                    "the array has gaps; say how many parts there are by {PARTS}, and number them from 1"
                ));
            }
            (id.saturating_sub(min).saturating_add(1), of)
        }
        (None, Some(index), Some(parts)) => (index.saturating_add(1), parts),
        (None, Some(_), None) => {
            return Err(format!(
                "{KUBERNETES} is set; say how many parts there are by {PARTS}"
            ));
        }
        (None, None, _) => {
            return Err(format!(
                "neither {} nor {KUBERNETES} is set, as in a task of a Slurm array or of an indexed Job; name it, as in --shard 2/4",
                SLURM[0]
            ));
        }
    };
    if !(1..=of).contains(&index) {
        return Err(format!(
            "it would be {index} of {of}; {PARTS} says how many there are"
        ));
    }
    Ok(Shard { index, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Result<(u32, u32), &str>) {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        };
        match (of_task(&variable), expected) {
            (Ok(Shard { index, of }), Ok(expected)) => assert_eq!((index, of), expected),
            (Err(said), Err(expected)) => assert!(said.contains(expected), "{said}"),
            (found, expected) => panic!("{variables:?}: {found:?}, {expected:?}"),
        }
    }

    #[test]
    fn a_task_knows_its_part() {
        let slurm = |id, min, max| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
            ]
        };
        check(&slurm("3", "1", "4"), Ok((3, 4)));
        check(&slurm("0", "0", "9"), Ok((1, 10)));
        // Two of five, handed in again.
        let again = slurm("5", "2", "5");
        check(
            &[&again[..], &[("PIBENCH_PARTS", "5")]].concat(),
            Ok((5, 5)),
        );
        let gaps = [&again[..], &[("SLURM_ARRAY_TASK_COUNT", "2")]].concat();
        check(&gaps, Err("has gaps"));
        check(&again[..1], Err("SLURM_ARRAY_TASK_MIN or"));
        let pod = [("JOB_COMPLETION_INDEX", "3"), ("PIBENCH_PARTS", "4")];
        check(&pod, Ok((4, 4)));
        check(&pod[..1], Err("by PIBENCH_PARTS"));
        check(&[pod[0], ("PIBENCH_PARTS", "3")], Err("4 of 3"));
        check(&[pod[0], ("PIBENCH_PARTS", "four")], Err("no number"));
        check(&[], Err("neither SLURM_ARRAY_TASK_ID nor"));
    }
}
