//! An episode followed through its journal, without playing it: the workspace and the apps as they were at each line, and
//! the rule verdicts that its graders give there. It compares nothing and writes nothing to the run folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8Path;

use super::episode::follow;
use super::error::{EpisodeError, Spot};
use super::grading::{self, Checklist, Graders, RuleGrades};
use super::plan::Plan;
use super::session::tracker;
use super::temporary::make_temporary_folder;
use super::turn;
use pibench_agent::environment::guest_fault;
use pibench_core::count::count;
use pibench_core::path::WorkspacePath;
use pibench_core::record::FileChange;
use pibench_core::session::Next;
use pibench_record::event::{
    AppMark, Event, Fault, FaultKind, ItemVerdict, SessionFinished, SessionStarted, Turn,
};
use pibench_record::folder::FolderError;
use pibench_record::foreign::is_folder;
use pibench_record::state::{EpisodeState, SessionState};
use pibench_record::trajectory::{Place, Trajectory};
use pibench_sandbox::App;
use pibench_sandbox::app::app_key;
use pibench_sandbox::evidence::{AppState, Evidence};
use pibench_sandbox::workspace::{EntryKind, Quota, View, Workspace};
use pibench_suite::suite::{Item, Persona, Session};

/// Of how many problems of an episode the text is kept. How many a stranger's record has is the stranger's.
const MOST_PROBLEMS: usize = 20;

/// An episode at one line of its journal.
pub(super) struct Replay<'a> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    graders: Graders,
    workspace: Workspace,
    _dir: tempfile::TempDir,
    state: EpisodeState,
    session: Option<InSession<'a>>,
    /// The sessions that began.
    begun: BTreeSet<String>,
    /// The blobs that were looked at.
    seen: BTreeSet<String>,
    /// What each app last said of its state, and at which mark: most are as they were.
    told: BTreeMap<String, (AppMark, Arc<str>)>,
    /// What does not follow from the record, each with its place: the first ones.
    pub(super) problems: Vec<String>,
    /// How many more there are.
    untold: usize,
}

/// The session that a line is of, as the suite has it.
struct InSession<'a> {
    session: &'a Session,
    checklist: Checklist,
    /// The apps' states when it began.
    before: BTreeMap<String, Arc<str>>,
    /// A turn came that its rules do not have.
    overrun: bool,
}

/// A session that was followed to its end.
pub(super) struct Ended<'a> {
    pub(super) session: &'a Session,
    pub(super) checklist: Checklist,
    pub(super) record: SessionState,
}

/// Rule verdicts made again.
#[derive(Debug, Default)]
pub(super) struct Graded {
    pub(super) verdicts: Vec<ItemVerdict>,
    /// Graders that faulted.
    pub(super) faults: Vec<Fault>,
    /// Apps that could not say their state.
    pub(super) unread: Vec<Fault>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        persona: &'a Persona,
        run: u32,
    ) -> Result<Self, EpisodeError> {
        let spot = Spot {
            persona: &persona.id,
            run,
            session: "",
        };
        let dir = make_temporary_folder()
            .map_err(|reason| spot.infrastructure(0, format!("cannot {reason}")))?;
        let path = Utf8Path::from_path(dir.path()).ok_or_else(|| spot.record("no UTF-8 path"))?;
        Ok(Self {
            // In a folder of its own: what is written lies beside it for a moment.
            workspace: Workspace::create(&path.join("workspace"), Quota::default())?,
            graders: grading::load(plan, plan.sessions(persona))?,
            plan,
            persona,
            run,
            _dir: dir,
            state: EpisodeState::new(plan.ablate),
            session: None,
            begun: BTreeSet::new(),
            seen: BTreeSet::new(),
            told: BTreeMap::new(),
            problems: Vec::new(),
            untold: 0,
        })
    }

    /// Notes what does not follow, at the line that is looked at.
    pub(super) fn problem(&mut self, what: impl std::fmt::Display) {
        let open = self.session.as_ref().map(|open| open.session);
        let turns = self.state.session.as_ref().map(|open| &open.turns[..]);
        let place = place(open, turns.unwrap_or_default());
        self.note(&place, &what);
    }

    /// The same of a session that has ended.
    pub(super) fn problem_in(&mut self, ended: &Ended<'_>, what: impl std::fmt::Display) {
        self.note(&place(Some(ended.session), &ended.record.turns), &what);
    }

    fn note(&mut self, (session, turn): &(String, String), what: &dyn std::fmt::Display) {
        if self.problems.len() == MOST_PROBLEMS {
            self.untold += 1;
            return;
        }
        let Self { persona, run, .. } = self;
        let problem = format!("{}{session}, run {run}{turn}: {what}", persona.id);
        self.problems.push(problem);
    }

    /// What does not follow from the record, at the end of the journal.
    pub(super) fn into_problems(mut self) -> Vec<String> {
        if self.untold > 0 {
            let more = count(self.untold, "more problem");
            let problem = format!("{}, run {}: {more}", self.persona.id, self.run);
            self.problems.push(problem);
        }
        self.problems
    }

    /// Goes on to the journal's next line: workspace and apps are as they were behind it.
    pub(super) fn follow(&mut self, event: &Event) -> Result<(), EpisodeError> {
        self.state.apply(event);
        self.change(event.changes())?;
        // A file that goes may leave its folder.
        let one_went = event.changes().iter().any(|change| change.blob.is_none());
        if one_went || event.folders().is_some() {
            self.workspace.set_empty_folders(&self.state.folders)?;
        }
        match event {
            Event::SessionStarted(started) => self.check_blob(&started.system)?,
            Event::Wake(wake) => self.check_blob(&wake.system)?,
            Event::Turn(_) => self.check_turn(),
            _ => {}
        }
        // Whether an app's state is there is looked at now: it may be asked for by nothing.
        for (_, mark) in event.apps() {
            self.check_blob(&mark.snapshot)?;
        }
        Ok(())
    }

    /// Tells a turn that its session's rules do not have. What a turn costs to grade grows with those before it, and with these
    /// rules, which run again over them, a session has hardly more turns than intents, whatever limit a record sets.
    fn check_turn(&mut self) {
        let open = self.session.as_mut().zip(self.state.session.as_ref());
        let Some((open, record)) = open else {
            self.problem("a turn outside of a session");
            return;
        };
        let [before @ .., _] = &record.turns[..] else {
            return;
        };
        if open.overrun {
            return;
        }
        let has_ended = before.last().is_some_and(|turn| turn.outcome.is_some());
        let goes_on = tracker(self.plan, open.session, before)
            .is_ok_and(|rules| matches!(rules.next(), Next::AgentTurn { .. }));
        open.overrun = has_ended || !goes_on;
        if open.overrun {
            self.problem("the session's rules have no turn here; none is graded from here on");
        }
    }

    /// Whether the turn that is looked at is one of a session, by its rules.
    pub(super) fn is_in_play(&self) -> bool {
        self.session.as_ref().is_some_and(|open| !open.overrun)
    }

    /// The line that was followed began a session. Apps that cannot say their state, and could when it was played, are
    /// told.
    pub(super) async fn begin(
        &mut self,
        started: &SessionStarted,
    ) -> Result<Vec<Fault>, EpisodeError> {
        let plan = self.plan;
        let found = plan
            .sessions(self.persona)
            .find(|session| session.id == started.session);
        let Some(session) = found else {
            self.session = None;
            self.problem(format!("the suite has no session `{}`", started.session));
            return Ok(Vec::new());
        };
        if !self.begun.insert(session.id.clone()) {
            self.session = None;
            self.problem(format!("session `{}` begins again", session.id));
            return Ok(Vec::new());
        }
        let (mut before, mut faults) = if session.has_rules() {
            self.states().await?
        } else {
            Default::default()
        };
        self.none_outside(0, &faults)?;
        before.retain(|name, _| started.apps.contains_key(name));
        faults.retain(|fault| !started.faults.contains(fault));
        self.session = Some(InSession {
            session,
            checklist: Checklist::new(&session.checklist),
            before,
            overrun: false,
        });
        Ok(faults)
    }

    /// The line that was followed ended the session: all of it.
    pub(super) fn end(&mut self) -> Option<Ended<'a>> {
        let Some((open, record)) = self.session.take().zip(self.state.session.take()) else {
            self.problem("a session ends that did not begin");
            return None;
        };
        let InSession {
            session, checklist, ..
        } = open;
        Some(Ended {
            session,
            checklist,
            record,
        })
    }

    /// The session that the line which is looked at is of.
    pub(super) fn session(&self) -> Option<&'a Session> {
        self.session.as_ref().map(|open| open.session)
    }

    /// The items to grade in the turn that is looked at.
    pub(super) fn due(&self, last: bool) -> Vec<(usize, &'a Item)> {
        let open = self.session.as_ref();
        open.map_or_else(Vec::new, |open| {
            open.checklist
                .due(self.plan.protocol, &open.session.checklist, last)
        })
    }

    /// Takes the verdicts of the turn that is looked at.
    pub(super) fn take(&mut self, verdicts: &[ItemVerdict]) {
        if let Some(open) = &mut self.session {
            open.checklist.take(&open.session.checklist, verdicts);
        }
    }

    /// Puts a turn with other verdicts in the place of the one that is looked at.
    pub(super) fn regrade(&mut self, turn: &Turn) {
        self.take(&turn.items);
        let open = self.state.open_session();
        if let Some(last) = open.and_then(|open| open.turns.last_mut()) {
            last.clone_from(turn);
        }
    }

    /// Asks the graders about the rule items among `due`, on the session up to the turn that is looked at.
    pub(super) async fn rules(&mut self, due: &[(usize, &Item)]) -> Result<Graded, EpisodeError> {
        if due.iter().all(|(_, item)| grading::is_rubric(item)) {
            return Ok(Graded::default());
        }
        let (now, unread) = self.states().await?;
        let Some((open, record)) = self.session.as_ref().zip(self.state.session.as_ref()) else {
            return Ok(Graded::default());
        };
        let state = |(app, before): (&String, &Arc<str>)| AppState {
            app: app.clone(),
            before: before.clone(),
            now: now.get(app).unwrap_or(before).clone(),
        };
        let apps: Vec<AppState> = open.before.iter().map(state).collect();
        let turns = || record.turns.iter();
        let calls: Vec<_> = turns().flat_map(turn::calls).cloned().collect();
        let messages: Vec<_> = turns().flat_map(turn::messages).collect();
        let changes: Vec<_> = turns().flat_map(|turn| turn.changes.clone()).collect();
        let evidence = Evidence {
            turn: record.turns.last().map_or(0, |turn| turn.turn),
            calls: &calls,
            messages: &messages,
            changes: &changes,
            apps: &apps,
        };
        let view = self.workspace.view().clone();
        let protocol = self.plan.protocol;
        let graded = grading::grade(&self.graders, protocol, due, &evidence, &view).await;
        let RuleGrades { verdicts, faults } = graded;
        self.none_outside(evidence.turn, unread.iter().chain(&faults))?;
        Ok(Graded {
            verdicts,
            faults,
            unread,
        })
    }

    /// A fault of the machine, which says nothing of the record, ends it.
    fn none_outside<'f>(
        &self,
        turn: u32,
        faults: impl IntoIterator<Item = &'f Fault>,
    ) -> Result<(), EpisodeError> {
        let mut faults = faults.into_iter();
        let Some(fault) = faults.find(|fault| fault.kind == FaultKind::Infrastructure) else {
            return Ok(());
        };
        let spot = Spot {
            persona: &self.persona.id,
            run: self.run,
            session: self.session().map_or("", |session| session.id.as_str()),
        };
        Err(spot.infrastructure(turn, &fault.message))
    }

    /// The session in one file.
    pub(super) fn trajectory(
        &self,
        ended: &Ended<'_>,
        finished: SessionFinished,
    ) -> Result<Trajectory, FolderError> {
        let place = Place {
            suite: &self.plan.suite.id,
            persona: &self.persona.id,
            run: self.run,
            title: &ended.session.title,
            category: ended.session.category,
        };
        let SessionState { started, turns, .. } = ended.record.clone();
        Trajectory::new(&place, started, turns, finished, &self.plan.folder)
    }

    /// Tells of a blob that it is gone or not what its name says: once, however often it is named, for it may be large.
    pub(super) fn check_blob(&mut self, name: &str) -> Result<(), EpisodeError> {
        if self.seen.insert(name.to_owned()) {
            self.blob(name)?;
        }
        Ok(())
    }

    /// A blob's bytes. None, and a problem, when it is gone or not what its name says.
    fn blob(&mut self, name: &str) -> Result<Option<Vec<u8>>, EpisodeError> {
        match self.plan.folder.blob(name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error @ FolderError::Read { .. }) => {
                self.problem(format!("failed to {error}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn change(&mut self, changes: &[FileChange]) -> Result<(), EpisodeError> {
        // A second hold, since what cannot be read is told here.
        let mut workspace = self.workspace.share();
        follow(&mut workspace, changes, |blob| self.blob(blob))
    }

    /// The apps' states as graders see them, and those apps that could not say theirs.
    async fn states(&mut self) -> Result<(BTreeMap<String, Arc<str>>, Vec<Fault>), EpisodeError> {
        let (mut states, mut faults) = (BTreeMap::new(), Vec::new());
        for (name, mark) in self.state.apps.clone() {
            if let Some((at, state)) = self.told.get(&name)
                && *at == mark
            {
                states.insert(name, state.clone());
                continue;
            }
            let Some(snapshot) = self.blob(&mark.snapshot)? else {
                continue;
            };
            let key = app_key(self.plan.seed, self.run, &self.persona.id, &name);
            let plugin = self.plan.plugins.get(&name)?;
            let mut app =
                App::resume(plugin, self.plan.app_limits, key, snapshot, mark.calls).await?;
            match app.state().await {
                Ok(state) => {
                    self.told.insert(name.clone(), (mark, state.clone()));
                    states.insert(name, state);
                }
                Err(fault) => faults.push(guest_fault(&name, &fault)),
            }
        }
        Ok((states, faults))
    }

    /// The agent's folder holds what the journal says, and nothing else.
    pub(super) fn same_workspace(&mut self) -> Result<(), EpisodeError> {
        let kept = self.plan.folder.workspace(&self.persona.id, self.run);
        let is_there = is_folder(self.plan.folder.root(), &kept);
        let Some(kept) = Utf8Path::from_path(&kept).filter(|_| is_there) else {
            self.problem("the workspace is gone");
            return Ok(());
        };
        // It is looked at and not touched.
        let kept = View::open(kept, Quota::default())?;
        let files = |workspace: &View| -> Result<BTreeMap<String, Vec<u8>>, EpisodeError> {
            let entries = workspace.list(&WorkspacePath::ROOT, true)?;
            let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
            files
                .map(|entry| Ok((entry.path.to_string(), workspace.read(&entry.path)?)))
                .collect()
        };
        let (found, wanted) = (files(&kept)?, files(self.workspace.view())?);
        let mut differ = Vec::new();
        for (path, content) in &found {
            match wanted.get(path) {
                Some(wanted) if wanted == content => {}
                Some(_) => differ.push(format!("`{path}` was changed")),
                None => differ.push(format!("`{path}` was added")),
            }
        }
        let gone = wanted.keys().filter(|path| !found.contains_key(*path));
        differ.extend(gone.map(|path| format!("`{path}` is gone")));
        let entries = kept.list(&WorkspacePath::ROOT, true)?;
        let refused = entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Refused);
        differ.extend(refused.map(|entry| format!("`{}` is no file", entry.path)));
        for what in differ {
            self.problem(format!(
                "the workspace is not what the journal says: {what}"
            ));
        }
        Ok(())
    }
}

/// How a line's session and turn are named.
fn place(session: Option<&Session>, turns: &[Turn]) -> (String, String) {
    let name = session.map_or_else(String::new, |session| format!("/{}", session.id));
    let turn = session.and(turns.last());
    let turn = turn.map_or_else(String::new, |turn| format!(", turn {}", turn.turn));
    (name, turn)
}
