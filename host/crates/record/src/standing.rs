//! The scores of a run, from its manifest, its outline and its journals alone: while it is played, when it ends, and when
//! nothing but the folder is at hand. It loads no suite and writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::event::{Event, Fault, RoleUsage, SessionFinished, Step, Turn, VERSION};
use super::folder::{Manifest, read_preflight};
pub use super::foreign::is_plain;
use super::journal::{self, JournalError};
use super::line::Names;
use super::outline::{PersonaOutline, SessionOutline};
use super::results::{
    FaultLine, PersonaResult, RunResults, SessionLine, Unanswered, marked_prompt, whole_cost,
};
use super::rows::{Rows, Told};
use pibench_core::aggregate::{
    PersonaScore, PersonaSummary, RunScore, SessionResult, SessionScore, SuiteSum, Tally,
};
use pibench_core::message::GO_ON;
use pibench_core::progress::Counted;
use pibench_core::record::{Outcome, Status};
use pibench_core::score::{IntentCounts, percent};
use pibench_core::vocabulary::Protocol;

/// What the events of one episode come to: all that its scores depend on, without what was said and done.
#[derive(Debug, Default)]
pub struct EpisodeTally {
    sessions: BTreeMap<String, SessionTally>,
    /// With its session and turn.
    faults: Vec<(String, Option<u32>, Fault)>,
    /// Of what has come to its end.
    usage: RoleUsage,
    /// Of the turns of a session that has not.
    open: RoleUsage,
    unanswered: Unanswered,
    written_calls: usize,
    /// Whether the last event is the episode's end.
    is_finished: bool,
}

#[derive(Debug, Default)]
struct SessionTally {
    turns: u32,
    finished: Option<Box<SessionFinished>>,
}

impl EpisodeTally {
    pub fn of(events: &[Event]) -> Self {
        let mut tally = Self::default();
        for event in events {
            tally.apply(event);
        }
        tally
    }

    /// Takes in the journal's next event.
    pub fn apply(&mut self, event: &Event) {
        self.is_finished = matches!(event, Event::EpisodeFinished);
        match event {
            Event::EpisodeStarted(_) | Event::EpisodeFinished => {}
            Event::SessionStarted(started) => {
                self.note(&started.session, None, &started.faults);
            }
            Event::Turn(turn) => {
                self.open += turn.usage;
                self.unanswered += unanswered(turn);
                self.written_calls += turn.written_calls as usize;
                self.session(&turn.session).turns += 1;
                self.note(&turn.session, Some(turn.turn), &turn.faults);
            }
            Event::SessionFinished(finished) => {
                // What its turns used stands in it, too.
                self.usage += finished.usage;
                self.open = RoleUsage::default();
                self.session(&finished.session).finished = Some(finished.clone());
                self.note(&finished.session, None, &finished.faults);
            }
            Event::Wake(wake) => {
                self.usage.agent += wake.usage;
                self.note(&wake.by, None, &wake.faults);
            }
        }
    }

    /// What was used so far.
    pub fn usage(&self) -> RoleUsage {
        let mut usage = self.usage;
        usage += self.open;
        usage
    }

    fn session(&mut self, id: &str) -> &mut SessionTally {
        self.sessions.entry(id.to_owned()).or_default()
    }

    fn note(&mut self, session: &str, turn: Option<u32>, faults: &[Fault]) {
        let faults = faults.iter().cloned();
        self.faults
            .extend(faults.map(|fault| (session.to_owned(), turn, fault)));
    }

    fn finished(&self, session: &str) -> Option<&SessionFinished> {
        self.sessions.get(session)?.finished.as_deref()
    }

    fn session_score(&self, session: &SessionOutline) -> SessionScore {
        let finished = self.finished(&session.id);
        let open = vec![Status::Open; session.intents.len()];
        let statuses = finished.map_or(open, |finished| {
            let intents = finished.intents.iter();
            intents.map(|intent| intent.status).collect()
        });
        SessionScore {
            id: session.id.clone(),
            depends_on: session.depends_on.clone(),
            dependency_only: session.dependency_only,
            has_checklist: !session.checklist.is_empty(),
            intents: IntentCounts::of(&statuses),
            comp: finished.and_then(|finished| finished.comp),
            outcome: finished.map_or(Outcome::Unplayed, |finished| finished.outcome),
        }
    }

    fn score(&self, protocol: Protocol, persona: &PersonaOutline) -> PersonaScore {
        let scores: Vec<SessionScore> = planned(persona)
            .map(|session| self.session_score(session))
            .collect();
        PersonaScore::new(&persona.id, protocol, &scores)
    }

    /// Turns of a session that were played, one that was broken off among them.
    pub fn turns(&self, session: &str) -> u32 {
        self.sessions.get(session).map_or(0, |one| one.turns)
    }

    /// Proc of a session that ended, as the persona's score takes it in.
    pub fn counted(
        &self,
        protocol: Protocol,
        persona: &PersonaOutline,
        session: &str,
    ) -> Option<Counted> {
        let score = self.score(protocol, persona);
        let one = score.sessions.iter().find(|one| one.id == session)?;
        let proc = one.proc_scored?;
        Some(Counted {
            proc,
            weight: one.weight,
        })
    }

    /// The lines and the score of the episode.
    pub fn result(self, protocol: Protocol, persona: &PersonaOutline, run: u32) -> EpisodeResult {
        let mut score = self.score(protocol, persona);
        let line = |(session, result): (&SessionOutline, &SessionResult)| {
            let finished = self.finished(&session.id);
            let usage = finished.map_or_else(RoleUsage::default, |finished| finished.usage);
            SessionLine {
                id: session.id.as_str().into(),
                persona: persona.id.as_str().into(),
                run,
                proc: result.proc.map(percent),
                proc_scored: result.proc_scored.map(percent),
                weight: result.weight,
                comp: result.comp.map(percent),
                turns: self.sessions.get(&session.id).map_or(0, |one| one.turns),
                outcome: result.outcome,
                intents: result.intents,
                no_offline_matcher: session.no_offline_matcher,
                usage: usage.into(),
                cost: usage.total().known_cost(),
            }
        };
        let sessions = planned(persona).zip(&score.sessions).map(line);
        let sessions: Vec<SessionLine> = sessions.collect();
        let unplayed = sessions.iter();
        let unplayed = unplayed.filter(|line| line.outcome == Outcome::Unplayed);
        let unplayed = unplayed.count();
        // The lines say the same, and there is one for each session of a long run.
        score.sessions = Vec::new();
        let usage = self.usage();
        let fault = |(session, turn, fault)| FaultLine {
            persona: persona.id.clone(),
            session,
            run,
            turn,
            fault,
        };
        EpisodeResult {
            run,
            is_finished: self.is_finished,
            usage,
            unanswered: self.unanswered,
            written_calls: self.written_calls,
            faults: self.faults.into_iter().map(fault).collect(),
            unplayed,
            sessions,
            score,
        }
    }
}

/// One turn. What its outcome says needs no other word.
fn unanswered(turn: &Turn) -> Unanswered {
    let is_told = matches!(
        turn.outcome,
        Some(Outcome::TurnTimeout | Outcome::ModelFault | Outcome::Infrastructure)
    );
    let is_one = !is_told && turn.response.trim().is_empty();
    let is_cut = |step: &Step| matches!(step, Step::Nudge { text } if text == GO_ON);
    Unanswered {
        turns: u64::from(is_one),
        cut: u64::from(is_one && turn.steps.iter().any(is_cut)),
        of: 1,
    }
}

/// What one episode brings to the results.
#[derive(Debug)]
pub struct EpisodeResult {
    run: u32,
    is_finished: bool,
    usage: RoleUsage,
    unanswered: Unanswered,
    written_calls: usize,
    faults: Vec<FaultLine>,
    unplayed: usize,
    sessions: Vec<SessionLine>,
    score: PersonaScore,
}

/// Results of episodes, by run and persona.
pub type EpisodeResults = BTreeMap<(u32, String), EpisodeResult>;

/// The scores over what is finished. `known` are results of episodes whose journals need not be read again.
pub fn standing(
    dir: &Path,
    manifest: &Manifest,
    personas: &[PersonaOutline],
    known: EpisodeResults,
) -> Result<RunResults, JournalError> {
    let preflight = read_preflight(dir);
    Episodes::new(manifest, personas, Home::One(dir)).hold(known, preflight)
}

/// The same over parts of a run that lie apart, before they are merged. `whole`: the manifest of the run that they are parts of.
pub fn standing_of_parts(
    whole: &Manifest,
    personas: &[PersonaOutline],
    homes: &Homes,
) -> Result<RunResults, JournalError> {
    let mut preflight = RoleUsage::default();
    for dir in homes.dirs() {
        preflight += read_preflight(dir);
    }
    Episodes::new(whole, personas, Home::Of(homes)).hold(EpisodeResults::new(), preflight)
}

/// The same of a run folder, without a line of it being held, and whether every episode was played to its end.
pub fn told<'a>(
    dir: &'a Path,
    manifest: &'a Manifest,
    personas: &'a [PersonaOutline],
) -> Result<(Told<Episodes<'a>>, bool), JournalError> {
    let mut rows = Episodes::new(manifest, personas, Home::One(dir));
    let mut sum = Sum::default();
    rows.each(EpisodeResults::new(), &mut |episode| {
        sum.add(episode);
        ControlFlow::Continue(())
    })?;
    rows.has_faults = sum.faults > 0;
    let is_whole = sum.open == 0;
    let head = sum.results(manifest, personas, read_preflight(dir));
    Ok((Told { head, rows }, is_whole))
}

/// Which folder holds an episode of a run that is played in parts.
#[derive(Debug, Clone, Default)]
pub struct Homes(BTreeMap<(u32, String), PathBuf>);

impl Homes {
    /// Those of parts that are begun.
    pub fn new<'a>(
        parts: impl IntoIterator<Item = (&'a Path, &'a Manifest)>,
        personas: &[PersonaOutline],
    ) -> Self {
        let mut homes = BTreeMap::new();
        for (dir, manifest) in parts {
            let own = played(manifest, personas);
            homes.extend(own.map(|(run, persona)| ((run, persona.id.clone()), dir.to_owned())));
        }
        Self(homes)
    }

    pub fn of(&self, run: u32, persona: &str) -> Option<&Path> {
        let home = self.0.get(&(run, persona.to_owned()));
        home.map(PathBuf::as_path)
    }

    /// Each folder once.
    pub fn dirs(&self) -> BTreeSet<&Path> {
        self.0.values().map(PathBuf::as_path).collect()
    }
}

/// Episodes whose journals are read at once.
const TOGETHER: usize = 1 << 10;

/// The episodes of a run, each read from its journal when its turn comes.
#[derive(Debug)]
pub struct Episodes<'a> {
    manifest: &'a Manifest,
    personas: &'a [PersonaOutline],
    home: Home<'a>,
    /// False where it is known that there is none.
    has_faults: bool,
}

/// The folder of each episode.
#[derive(Debug, Clone, Copy)]
enum Home<'a> {
    One(&'a Path),
    Of(&'a Homes),
}

impl<'a> Episodes<'a> {
    fn new(manifest: &'a Manifest, personas: &'a [PersonaOutline], home: Home<'a>) -> Self {
        Self {
            manifest,
            personas,
            home,
            has_faults: true,
        }
    }

    fn read(&self, run: u32, persona: &PersonaOutline) -> Result<EpisodeResult, JournalError> {
        let home = match self.home {
            Home::One(dir) => Some(dir),
            Home::Of(homes) => homes.of(run, &persona.id),
        };
        let events = match home {
            Some(dir) => episode(dir, &persona.id, run)?,
            None => Vec::new(),
        };
        Ok(EpisodeTally::of(&events).result(self.manifest.protocol, persona, run))
    }

    /// Gives what each came to, in the order of their play, until told to stop.
    fn each(
        &self,
        mut known: EpisodeResults,
        take: &mut dyn FnMut(EpisodeResult) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let mut wanted = played(self.manifest, self.personas);
        loop {
            let next = wanted.by_ref().take(TOGETHER);
            let next: Vec<_> = next
                .map(|(run, persona)| (run, persona, known.remove(&(run, persona.id.clone()))))
                .collect();
            if next.is_empty() {
                return Ok(());
            }
            let read = next
                .into_par_iter()
                .map(|(run, persona, known)| known.map_or_else(|| self.read(run, persona), Ok));
            for episode in read.collect::<Result<Vec<_>, JournalError>>()? {
                if take(episode).is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// Gives the lines of each, until one is not taken.
    fn each_row<T>(
        &self,
        rows: fn(EpisodeResult) -> Vec<T>,
        take: &mut dyn FnMut(&T) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut taken = Ok(());
        let read = self.each(EpisodeResults::new(), &mut |episode| {
            taken = rows(episode).iter().try_for_each(&mut *take);
            if taken.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        read.map_err(io::Error::other)?;
        taken
    }

    /// All results with their lines.
    fn hold(
        &self,
        known: EpisodeResults,
        preflight: RoleUsage,
    ) -> Result<RunResults, JournalError> {
        let (mut sessions, mut faults, mut names) = (Vec::new(), Vec::new(), Names::default());
        let mut sum = Sum::default();
        self.each(known, &mut |mut episode| {
            faults.append(&mut episode.faults);
            for line in &mut episode.sessions {
                line.share_names(&mut names);
            }
            sessions.append(&mut episode.sessions);
            sum.add(episode);
            ControlFlow::Continue(())
        })?;
        Ok(RunResults {
            sessions,
            faults,
            ..sum.results(self.manifest, self.personas, preflight)
        })
    }
}

impl Rows<SessionLine> for Episodes<'_> {
    fn each(&self, take: &mut dyn FnMut(&SessionLine) -> io::Result<()>) -> io::Result<()> {
        self.each_row(|episode| episode.sessions, take)
    }
}

impl Rows<FaultLine> for Episodes<'_> {
    fn each(&self, take: &mut dyn FnMut(&FaultLine) -> io::Result<()>) -> io::Result<()> {
        if !self.has_faults {
            return Ok(());
        }
        self.each_row(|episode| episode.faults, take)
    }
}

/// What episodes come to, as they are read.
#[derive(Default)]
struct Sum {
    usage: RoleUsage,
    unanswered: Unanswered,
    written_calls: usize,
    faults: usize,
    unplayed: usize,
    /// Episodes that are not played to their end.
    open: usize,
    /// The run that is being read, and what its personas have.
    run: u32,
    personas: Vec<PersonaScore>,
    suite: SuiteSum,
}

impl Sum {
    fn add(&mut self, episode: EpisodeResult) {
        if episode.run != self.run {
            self.end_run();
            self.run = episode.run;
        }
        self.usage += episode.usage;
        self.unanswered += episode.unanswered;
        self.written_calls += episode.written_calls;
        self.faults += episode.faults.len();
        self.unplayed += episode.unplayed;
        self.open += usize::from(!episode.is_finished);
        self.personas.push(episode.score);
    }

    fn end_run(&mut self) {
        let personas = std::mem::take(&mut self.personas);
        if !personas.is_empty() {
            self.suite.add(&RunScore::new(personas));
        }
    }

    /// All but the lines.
    fn results(
        mut self,
        manifest: &Manifest,
        personas: &[PersonaOutline],
        preflight: RoleUsage,
    ) -> RunResults {
        self.end_run();
        let score = self.suite.score();
        RunResults {
            version: VERSION,
            suite: manifest.suite.clone(),
            agent: manifest.agent.clone(),
            user: manifest.user.clone(),
            judge: manifest.judge.clone(),
            players: manifest.players,
            protocol: Some(manifest.protocol),
            protocol_version: manifest.protocol_version,
            scaffold: Some(manifest.scaffold),
            scripted: manifest.players.scripted(),
            runs: manifest.runs,
            ablate: manifest.ablate,
            scaffold_prompt: marked_prompt(manifest.scaffold_prompt.as_deref()),
            prompts_before: manifest.prompts_before(),
            proc: score.proc.map(percent),
            comp: score.comp.map(percent),
            proc_std: score.proc_std.map(percent),
            comp_std: score.comp_std.map(percent),
            scored: score.proc_sessions,
            comp_scored: beside(score.proc_sessions, score.comp_sessions),
            unplayed: self.unplayed,
            at_end: at_end(personas),
            // What others' agents said is not always in their outputs. Where all was answered it is as it is read again.
            unanswered: if manifest.imported.is_some() || self.unanswered.is_none() {
                Unanswered::default()
            } else {
                self.unanswered
            },
            written_calls: self.written_calls,
            personas: score.personas.iter().map(persona_result).collect(),
            sessions: Vec::new(),
            faults: Vec::new(),
            imported: manifest.imported.is_some(),
            usage: self.usage,
            preflight,
            cost: whole_cost(self.usage, preflight),
        }
    }
}

fn persona_result(score: &PersonaSummary) -> PersonaResult {
    PersonaResult {
        id: score.id.clone(),
        proc: score.proc.map(percent),
        comp: score.comp.map(percent),
        scored: score.proc_sessions,
        comp_scored: beside(score.proc_sessions, score.comp_sessions),
    }
}

/// What Comp stands on, where it is not what Proc does.
fn beside(proc: Tally, comp: Tally) -> Option<Tally> {
    (comp != proc).then_some(comp)
}

/// The checklist items of which the last turn alone counts.
fn at_end(personas: &[PersonaOutline]) -> usize {
    let sessions = personas.iter().flat_map(planned);
    let items = sessions.flat_map(|session| &session.checklist);
    items.filter(|item| item.at_end).count()
}

/// The episodes of the folder, in the order of their play.
pub fn played<'a>(
    manifest: &'a Manifest,
    personas: &'a [PersonaOutline],
) -> impl Iterator<Item = (u32, &'a PersonaOutline)> {
    let all = (1..=manifest.runs).flat_map(|run| {
        let played = personas
            .iter()
            .filter(|persona| planned(persona).next().is_some());
        played.map(move |persona| (run, persona))
    });
    let ours = |number| manifest.shard.is_none_or(|shard| shard.has(number));
    let numbered = all.enumerate().filter(move |(number, _)| ours(*number));
    numbered.map(|(_, episode)| episode)
}

fn planned(persona: &PersonaOutline) -> impl Iterator<Item = &SessionOutline> {
    persona.sessions.iter().filter(|session| session.planned)
}

/// How far the play of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Far {
    /// Those that are to be played.
    pub sessions: usize,
    pub finished: usize,
    /// Episodes that are not played to their end.
    pub episodes: usize,
}

impl Far {
    /// Of a folder that does not say yet what is to be played.
    pub fn unknown() -> Self {
        Self {
            sessions: 0,
            finished: 0,
            episodes: 1,
        }
    }
}

/// Reads the folder's journals one by one and keeps none.
pub fn how_far(
    dir: &Path,
    manifest: &Manifest,
    personas: &[PersonaOutline],
) -> Result<Far, JournalError> {
    let mut far = Far {
        sessions: 0,
        finished: 0,
        episodes: 0,
    };
    for (run, persona) in played(manifest, personas) {
        let events = episode(dir, &persona.id, run)?;
        far.sessions += planned(persona).count();
        let finished = |event: &&Event| matches!(event, Event::SessionFinished(_));
        far.finished += events.iter().filter(finished).count();
        far.episodes += usize::from(!matches!(events.last(), Some(Event::EpisodeFinished)));
    }
    Ok(far)
}

/// Where an episode's journal stands; None if the persona's name is no part of a path.
pub fn journal_path(dir: &Path, persona: &str, run: u32) -> Option<PathBuf> {
    let file = format!("{persona}.r{run}.jsonl");
    is_plain(persona).then(|| dir.join("journal").join(file))
}

/// The whole lines of an episode's journal; nothing if it has none yet.
pub fn episode(dir: &Path, persona: &str, run: u32) -> Result<Vec<Event>, JournalError> {
    match journal_path(dir, persona, run).filter(|path| path.exists()) {
        Some(path) => journal::events(&path),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Jobs, Turn, Wake};
    use pibench_core::message::Usage;

    fn used(calls: u64) -> Usage {
        Usage {
            calls,
            ..Usage::default()
        }
    }

    fn turn(calls: u64) -> Event {
        Event::Turn(Box::new(Turn {
            session: "s".into(),
            usage: RoleUsage {
                judge: used(calls),
                ..RoleUsage::default()
            },
            ..Turn::default()
        }))
    }

    fn wake(calls: u64) -> Event {
        Event::Wake(Box::new(Wake {
            by: "heartbeat".into(),
            clock: String::new(),
            message: String::new(),
            folded: 0,
            system: String::new(),
            steps: Vec::new(),
            changes: Vec::new(),
            folders: None,
            apps: BTreeMap::new(),
            faults: Vec::new(),
            jobs: Jobs::default(),
            usage: used(calls),
        }))
    }

    #[test]
    fn what_comp_stands_on_is_told_where_it_is_another() {
        let of = |scored| Tally { scored, of: 3 };
        let of_comp = |comp| {
            let summary = PersonaSummary {
                id: "p".into(),
                proc: None,
                comp: None,
                proc_sessions: of(2),
                comp_sessions: comp,
                intents: IntentCounts::default(),
            };
            persona_result(&summary).comp_scored
        };
        assert_eq!(of_comp(of(3)), Some(of(3)));
        assert_eq!(of_comp(of(2)), None);
    }

    #[test]
    fn wakes_and_the_turns_of_an_open_session_count() {
        let tally = EpisodeTally::of(&[wake(1), turn(10), turn(100)]);
        assert_eq!(tally.usage().total().calls, 111);
        assert_eq!(tally.sessions["s"].turns, 2);
    }

    #[test]
    fn the_end_of_a_session_stands_for_its_turns() {
        let finished = Event::SessionFinished(Box::new(SessionFinished {
            session: "s".into(),
            outcome: Outcome::Complete,
            turns: 2,
            intents: Vec::new(),
            items: Vec::new(),
            proc: 1.0,
            comp: None,
            memory: Vec::new(),
            changes: Vec::new(),
            faults: Vec::new(),
            usage: RoleUsage {
                judge: used(110),
                ..RoleUsage::default()
            },
        }));
        let tally = EpisodeTally::of(&[turn(10), turn(100), finished, wake(1)]);
        assert_eq!(tally.usage().total().calls, 111);
    }
}
