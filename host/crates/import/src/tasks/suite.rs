//! The suite that is made of what was read. It is loaded before anybody gets it: what our format refuses (a session, a
//! skill, a persona) is left out with its reason, and the rest is loaded again.

use std::collections::BTreeMap;
use std::io;

use super::{Importer, WITHOUT_TASKS};
use pibench_core::vocabulary::{Protocol, Scaffold, ScaffoldPrompt};
use pibench_suite::load::{SUITE, load};
use pibench_suite::manifest::{
    FilterFile, LimitOverrides, PersonaFile, SessionLimits, StateSettings, SuiteFile, VERSION,
    WebFile,
};
use pibench_suite::problem::{Problem, Problems};

impl Importer<'_> {
    /// Writes suite and personas, without what does not load; the problems where nothing can be done about them.
    pub(super) fn settle(&mut self) -> io::Result<Result<(), Problems>> {
        while !self.personas.is_empty() {
            self.write()?;
            let Err(Problems(mut problems)) = load(&self.staging.path(SUITE)) else {
                break;
            };
            problems.retain(Problem::is_error);
            if !self.drop_unloadable(&problems)? {
                return Ok(Err(Problems(problems)));
            }
        }
        self.count();
        self.report.notes.push(
            "the data has no reference workflows or offline matchers: scripted models find no intent satisfied".to_owned(),
        );
        Ok(Ok(()))
    }

    fn count(&mut self) {
        let report = &mut self.report;
        report.personas = self.personas.len();
        for session in self.made.values().filter_map(|made| made.session.as_ref()) {
            let rules = session.checklist.iter().filter(|item| item.rule.is_some());
            let rules = rules.count();
            report.sessions += 1;
            report.intents += session.intents.len();
            report.rules += rules;
            report.rubrics += session.checklist.len() - rules;
            report.files += session.files.len();
        }
    }

    fn write(&self) -> io::Result<()> {
        for persona in &self.personas {
            let path = format!("personas/{}/persona.toml", persona.id);
            self.staging.write_toml(&path, persona)?;
        }
        self.staging.write_toml(SUITE, &suite(&self.personas))
    }

    /// Takes out what the problems stand in, a line each; whether there was something.
    fn drop_unloadable(&mut self, problems: &[Problem]) -> io::Result<bool> {
        let root = self.staging.path("");
        let mut by_folder: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
        for problem in problems {
            let path = problem.file().strip_prefix(&root).unwrap_or(problem.file());
            let within = |folder: &&String| path.starts_with(folder);
            // A session's folder stands in its persona's.
            let folder = self.made.keys().filter(within).max_by_key(|it| it.len());
            let Some(folder) = folder.cloned() else {
                return Ok(false);
            };
            // The place is one of a file that nobody gets.
            let refused = format!("refused by the suite's format: {}", problem.message());
            let mut refused = Problem::of_file(problem.file(), refused);
            if let Some(remedy) = problem.remedy() {
                refused = refused.help(remedy);
            }
            by_folder.entry(folder).or_default().push(refused);
        }
        for (folder, problems) in &by_folder {
            let source = self.made.remove(folder).map(|made| made.source);
            self.leave_out_for(&source.unwrap_or_default(), problems);
            self.drop_folder(folder)?;
        }
        let (empty, others) = std::mem::take(&mut self.personas)
            .into_iter()
            .partition(|persona| persona.episode.is_empty());
        self.personas = others;
        for PersonaFile { id, .. } in empty {
            let made = self.made.remove(&format!("personas/{id}"));
            self.leave_out(&made.map_or(id, |made| made.source), WITHOUT_TASKS);
        }
        Ok(!by_folder.is_empty())
    }

    /// Takes out `personas/<id>`, or `sessions/<id>` or `skills/<id>` below it.
    fn drop_folder(&mut self, folder: &str) -> io::Result<()> {
        let parts: Vec<&str> = folder.split('/').collect();
        let [_, id, rest @ ..] = parts.as_slice() else {
            return Ok(());
        };
        let below = format!("{folder}/");
        self.made.retain(|path, _| !path.starts_with(&below));
        if rest.is_empty() {
            self.personas.retain(|persona| persona.id != *id);
        }
        for persona in self.personas.iter_mut().filter(|it| it.id == *id) {
            if let ["skills", skill] = rest {
                persona.skills.retain(|one| one != skill);
            }
            if let ["sessions", session] = rest {
                persona.episode.retain(|entry| entry.session != *session);
                for entry in &mut persona.episode {
                    entry.depends_on.retain(|one| one != session);
                }
            }
        }
        self.staging.remove(folder)
    }
}

fn suite(personas: &[PersonaFile]) -> SuiteFile {
    let folder = |persona: &PersonaFile| format!("personas/{}", persona.id);
    SuiteFile {
        version: VERSION,
        id: "pi-bench".to_owned(),
        title: "π-Bench".to_owned(),
        personas: personas.iter().map(folder).collect(),
        protocol: Protocol::Paper,
        scaffold: Scaffold::default(),
        scaffold_prompt: ScaffoldPrompt::default(),
        // The data has no reference workflows to play, so the scripted agent that needs none.
        agent: "nop".to_owned(),
        user: None,
        judge: None,
        runs: None,
        seed: 0,
        filter: FilterFile::default(),
        jobs: None,
        memory: None,
        session: SessionLimits::default(),
        state: StateSettings::default(),
        ablate: None,
        plugins: BTreeMap::new(),
        policy: None,
        lock: None,
        limits: LimitOverrides::default(),
        providers: BTreeMap::new(),
        models: BTreeMap::new(),
        agents: BTreeMap::new(),
        web: WebFile::default(),
    }
}
