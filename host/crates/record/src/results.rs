//! The scores of a run: `results.json`, and what `run --json` prints. Percent, for people and programs; the journals keep
//! fractions.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::event::{Fault, RoleUsage};
use super::line::{Name, Names, Used};
use pibench_core::aggregate::Tally;
use pibench_core::cost::MicroUsd;
use pibench_core::player::Players;
use pibench_core::record::Outcome;
use pibench_core::score::IntentCounts;
use pibench_core::statistics::SessionScores;
use pibench_core::vocabulary::{Ablation, Protocol, Scaffold};

/// The most runs, as of `--runs` and of a suite.
const MOST_RUNS: u32 = 1000;

/// How a number of runs goes beyond what can be played, so that whoever counts by it would have no end.
pub(super) fn beyond(runs: u32) -> Option<String> {
    let is_within = (1..=MOST_RUNS).contains(&runs);
    (!is_within).then(|| format!("`runs` must be from 1 to {MOST_RUNS}, and is {runs}"))
}

/// The scores of a run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResults {
    /// 1.
    pub version: u32,
    pub suite: String,
    pub agent: String,
    pub user: String,
    pub judge: String,
    /// What played each role.
    pub players: Players,
    /// The rules of the sessions. Absent in files of before it was told here: the manifest has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The version of the host's rules; 1 where it is absent.
    #[serde(default = "super::folder::first_protocol")]
    pub protocol_version: u32,
    /// The profile of the built-in scaffold. Absent where `protocol` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaffold: Option<Scaffold>,
    /// No real model took part: such scores test the host and say nothing of any agent.
    pub scripted: bool,
    /// Another program played it: the record is taken over, not made here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    pub runs: u32,
    /// What was taken away from the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablate: Option<Ablation>,
    /// The wording of the agent's system prompt where it is not the neutral one: `coached` or `own`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaffold_prompt: Option<String>,
    /// The prompts that it was judged by before it was graded by others: `built-in, version 6`, or the beginning of their digest.
    /// Absent where it was not, and in files of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_before: Option<String>,
    /// Plain mean of the personas' scores; null if nothing is scored.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    /// Sample standard deviation over the runs' overall scores; null for one run, and where a run lacks the score of a persona
    /// that another has.
    pub proc_std: Option<f64>,
    pub comp_std: Option<f64>,
    /// Sessions that Proc stands on, of those that should have one.
    pub scored: Tally,
    /// The same of Comp where that is another: a session without a checklist has none, and a group's final session has its own
    /// though one before it is unscored. Absent also in files of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comp_scored: Option<Tally>,
    /// Sessions whose `outcome` is `unplayed`: the run was not played to its end. Absent where there is none, and in files of
    /// before it was told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unplayed: usize,
    /// Checklist items of which the last turn alone counts (`when = "end"`), a deviation from the paper's equation 4: of the
    /// sessions that are played, each once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_end: usize,
    /// Turns in which the agent came to no word for the user, though neither its time nor its model ended them. They are
    /// scored as any other.
    #[serde(default, skip_serializing_if = "Unanswered::is_none")]
    pub unanswered: Unanswered,
    /// Answers of the agent that hold the call of a tool in their text, where nothing reads it. They are scored as any other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_calls: usize,
    pub personas: Vec<PersonaResult>,
    #[serde(deserialize_with = "lines")]
    pub sessions: Vec<SessionLine>,
    pub faults: Vec<FaultLine>,
    /// Of all sessions, as far as they were played.
    #[serde(default)]
    pub usage: RoleUsage,
    /// Of what the models were asked before the first session.
    #[serde(default, skip_serializing_if = "RoleUsage::is_none")]
    pub preflight: RoleUsage,
    /// Of both. Millionths of a US dollar at the prices of the day; null when the price of a call is not known.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl RunResults {
    /// As hosts told it before the newest of what is told here: the prompts before, sessions that were not played, what Comp stands
    /// on, then protocol and scaffold, then turns without an answer. What is left out so, by its keys; None where that is no
    /// difference.
    fn forget_newest(&mut self) -> Option<&'static str> {
        if self.prompts_before.take().is_some() {
            return Some("`prompts_before`");
        }
        if std::mem::take(&mut self.unplayed) > 0 {
            return Some("`unplayed`");
        }
        let personas = self.personas.iter_mut();
        let of_comp = personas.map(|persona| &mut persona.comp_scored);
        let of_comp = of_comp.chain([&mut self.comp_scored]);
        let told = of_comp.filter_map(Option::take).count();
        if told > 0 {
            return Some("`comp_scored`");
        }
        if self.protocol.take().is_some() {
            self.scaffold = None;
            return Some("`protocol` and `scaffold`");
        }
        let unanswered = std::mem::take(&mut self.unanswered);
        (!unanswered.is_none()).then_some("`unanswered`")
    }
}

/// What is wrong with written results, held against those that are `told` by the journals; `is_written` says whether just these are
/// written. None where nothing is wrong. Nobody can tell the results of an older host from others out of which a caution was taken.
/// `again`: what makes the folder anew, in words.
///
/// # Errors
///
/// Those of `is_written`.
pub fn difference<T: AsMut<RunResults>, E>(
    mut told: T,
    again: &str,
    mut is_written: impl FnMut(&T) -> Result<bool, E>,
) -> Result<Option<String>, E> {
    let mut left_out = Vec::new();
    while !is_written(&told)? {
        let Some(key) = told.as_mut().forget_newest() else {
            let other = "results.json: its scores are not those of the journals";
            return Ok(Some(other.into()));
        };
        left_out.push(key);
    }
    Ok((!left_out.is_empty()).then(|| {
        format!(
            "results.json: it leaves out {}, which follows from the journals; if an older host wrote it, {again}",
            left_out.join(", ")
        )
    }))
}

impl AsMut<Self> for RunResults {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// Turns that ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    pub turns: u64,
    /// Those of them in which the model was cut at its limit of output tokens.
    pub cut: u64,
    /// All turns, with an answer or without.
    pub of: u64,
}

impl Unanswered {
    pub fn is_none(&self) -> bool {
        self.turns == 0
    }
}

impl std::ops::AddAssign for Unanswered {
    fn add_assign(&mut self, other: Self) {
        let Self { turns, cut, of } = other;
        self.turns += turns;
        self.cut += cut;
        self.of += of;
    }
}

/// Sessions with their scores by run, gathered from lines.
#[derive(Debug)]
pub struct Scores {
    runs: usize,
    pub all: Vec<SessionScores>,
    /// By persona and id.
    places: BTreeMap<Name, BTreeMap<Name, usize>>,
}

impl Scores {
    /// Of none yet.
    pub fn of(runs: u32) -> Self {
        Self {
            runs: runs as usize,
            all: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// A session's as it counts, as fractions; None where a run did not score it. Nothing of one that is only a dependency.
    pub fn add(&mut self, line: &SessionLine) {
        if line.weight > 0 {
            self.put(line, line.weight, line.proc_scored);
        }
    }

    /// The same over its own intents alone, with the weight 1: how an ablation and the full run are compared (paper, Figure 5).
    pub fn add_own(&mut self, line: &SessionLine) {
        self.put(line, 1, line.proc);
    }

    fn put(&mut self, line: &SessionLine, weight: u32, proc: Option<f64>) {
        let fraction = |percent: Option<f64>| percent.map(|percent| percent / 100.0);
        let place = self.place(line, weight);
        let session = &mut self.all[place];
        let run = (line.run as usize).saturating_sub(1);
        if let Some(value) = session.proc.get_mut(run) {
            *value = fraction(proc);
        }
        if let Some(comp) = session.comp.get_mut(run) {
            *comp = fraction(line.comp);
        }
    }

    fn place(&mut self, line: &SessionLine, weight: u32) -> usize {
        let SessionLine { persona, id, .. } = line;
        let known = self.places.get(persona).and_then(|ids| ids.get(id));
        if let Some(place) = known {
            return *place;
        }
        let place = self.all.len();
        self.all.push(SessionScores {
            persona: persona.to_string(),
            id: id.to_string(),
            weight,
            proc: vec![None; self.runs],
            comp: vec![None; self.runs],
        });
        let ids = self.places.entry(persona.clone()).or_default();
        ids.insert(id.clone(), place);
        place
    }
}

/// The wording of an agent's system prompt, where results have to name it.
pub fn marked_prompt(wording: Option<&str>) -> Option<String> {
    wording
        .filter(|wording| *wording != "neutral")
        .map(str::to_owned)
}

/// One persona over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaResult {
    pub id: String,
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    pub scored: Tally,
    /// As above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comp_scored: Option<Tally>,
}

/// One session in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLine {
    pub id: Name,
    pub persona: Name,
    /// 1, 2, 3, ...
    pub run: u32,
    /// Over the session's own intents; null if it is unscored.
    pub proc: Option<f64>,
    /// Over its dependency group; null for sessions that do not count by themselves: see `weight`.
    pub proc_scored: Option<f64>,
    /// Sessions of its dependency group, itself among them: its weight in the persona's score; 0 for sessions that are
    /// only dependencies, and under the protocol `pi-bench` for those without a checklist.
    pub weight: u32,
    /// Null without a checklist.
    pub comp: Option<f64>,
    pub turns: u32,
    pub outcome: Outcome,
    pub intents: IntentCounts,
    /// An intent or rubric has no matcher for the scripted judges: its score says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_offline_matcher: bool,
    #[serde(default)]
    pub usage: Used,
    /// As above.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
}

impl SessionLine {
    /// Takes the names that other lines have.
    pub(super) fn share_names(&mut self, names: &mut Names) {
        names.share(&mut self.id);
        names.share(&mut self.persona);
    }
}

/// Lines whose names are there once.
fn lines<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SessionLine>, D::Error> {
    from.deserialize_seq(Lines)
}

struct Lines;

impl<'de> Visitor<'de> for Lines {
    type Value = Vec<SessionLine>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut lines, mut names) = (Vec::new(), Names::default());
        while let Some(mut line) = from.next_element::<SessionLine>()? {
            line.share_names(&mut names);
            lines.push(line);
        }
        Ok(lines)
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultLine {
    pub persona: String,
    pub session: String,
    pub run: u32,
    /// None: in the memory step or between turns.
    pub turn: Option<u32>,
    #[serde(flatten)]
    pub fault: Fault,
}

/// What a run cost, the preflight with it; None when the price of a part is not known.
pub fn whole_cost(sessions: RoleUsage, preflight: RoleUsage) -> Option<MicroUsd> {
    let mut whole = sessions;
    whole += preflight;
    whole.total().known_cost()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::manifest;
    use crate::folder::{Imported, Manifest};

    #[test]
    fn an_imported_run_is_made_anew_by_what_made_it_and_a_played_one_is_gone_on_with() {
        let played = manifest().made_anew();
        assert!(played.contains("`pibench-host run --resume`"), "{played}");
        let imported = Manifest {
            suite_path: "/suite.toml".into(),
            imported: Some(Imported {
                format: "pi-bench".into(),
                path: "/outputs".into(),
                digest: String::new(),
            }),
            ..manifest()
        };
        let told = "`pibench-host import results /outputs --suite /suite.toml --out DIR` makes the folder anew";
        assert_eq!(imported.made_anew(), told);
    }

    #[test]
    fn results_are_told_as_each_older_host_told_them() {
        let usage = RoleUsage::default();
        let told = |newer: serde_json::Value| -> RunResults {
            let mut all = serde_json::json!({
                "version": 1, "suite": "s", "agent": "m", "user": "m", "judge": "m",
                "players": Players::named("m", "m", "m"), "scripted": false, "runs": 1, "proc": null, "comp": null,
                "proc_std": null, "comp_std": null, "scored": { "scored": 0, "of": 0 }, "personas": [], "sessions": [],
                "faults": [], "usage": usage, "cost": null,
            });
            for (key, value) in newer.as_object().unwrap() {
                all[key] = value.clone();
            }
            serde_json::from_value(all).unwrap()
        };
        let unanswered = serde_json::json!({ "turns": 1, "cut": 0, "of": 2 });
        let mut results = told(serde_json::json!({
            "protocol": "pi-bench", "scaffold": "nanobot-0.1.4", "unanswered": unanswered, "unplayed": 2,
            "prompts_before": "built-in, version 6",
            "comp_scored": { "scored": 1, "of": 2 },
            "personas": [
                { "id": "p", "proc": null, "comp": null, "scored": { "scored": 0, "of": 2 }, "comp_scored": { "scored": 1, "of": 2 } },
            ],
        }));
        assert_eq!(results.protocol, Some(Protocol::PiBench));
        assert!(results.forget_newest().is_some());
        assert!(results.prompts_before.is_none() && results.unplayed == 2);
        assert!(results.forget_newest().is_some());
        assert!(results.unplayed == 0 && results.comp_scored.is_some());
        assert!(results.forget_newest().is_some());
        let of_persona = results.personas[0].comp_scored;
        assert_eq!((results.comp_scored, of_persona), (None, None));
        assert!(results.protocol.is_some(), "one step after the other");
        assert!(results.forget_newest().is_some());
        results.personas.clear();
        assert_eq!(
            results,
            told(serde_json::json!({ "unanswered": unanswered }))
        );
        assert!(results.forget_newest().is_some());
        assert_eq!(results, told(serde_json::json!({})));
        assert_eq!(results.forget_newest(), None);
        let text = serde_json::to_string(&results).unwrap();
        assert!(!text.contains("scaffold"), "{text}");
        // Whoever reads written results is told what they leave out.
        let whole = told(serde_json::json!({ "unanswered": unanswered, "unplayed": 2 }));
        let differs = |written: serde_json::Value| {
            let written = told(written);
            let is_written =
                |told: &RunResults| Ok::<_, std::convert::Infallible>(*told == written);
            let Ok(differs) = difference(whole.clone(), "play it anew", is_written);
            differs.unwrap_or_default()
        };
        let same = differs(serde_json::json!({ "unanswered": unanswered, "unplayed": 2 }));
        assert_eq!(same, "");
        let less = differs(serde_json::json!({}));
        assert!(
            less.contains("it leaves out `unplayed`, `unanswered`, which")
                && less.ends_with("wrote it, play it anew"),
            "{less}"
        );
        let other = differs(serde_json::json!({ "unplayed": 3 }));
        assert!(other.contains("not those of the journals"), "{other}");
    }

    #[test]
    fn a_session_that_one_run_did_not_score_keeps_its_place() {
        let line = |run, weight, proc: Option<f64>| SessionLine {
            id: if weight > 0 { "b" } else { "a" }.into(),
            persona: "p".into(),
            run,
            proc,
            proc_scored: proc,
            weight,
            comp: proc,
            turns: 1,
            outcome: Outcome::Complete,
            intents: IntentCounts::default(),
            no_offline_matcher: false,
            usage: Used::default(),
            cost: None,
        };
        let mut scores = Scores::of(3);
        for line in [
            line(1, 0, None),
            line(1, 2, Some(50.0)),
            line(2, 2, None),
            line(3, 2, Some(100.0)),
        ] {
            scores.add(&line);
        }
        let expected = SessionScores {
            persona: "p".into(),
            id: "b".into(),
            weight: 2,
            proc: vec![Some(0.5), None, Some(1.0)],
            comp: vec![Some(0.5), None, Some(1.0)],
        };
        assert_eq!(scores.all, [expected]);
    }
}
