//! The doors for records that others wrote: outputs of the released code, foreign databases, journals.

use std::path::Path;
use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;

use super::{PROFILE, in_folder};
use pibench_agent::AgentPrompts;
use pibench_core::player::Players;
use pibench_core::vocabulary::{PROTOCOL_VERSION, Protocol, Scaffold, ScaffoldPrompt};
use pibench_engine::imported;
use pibench_engine::imported::take_over;
use pibench_engine::judge::Judge;
use pibench_engine::stop::Stop;
use pibench_engine::user::UserAgent;
use pibench_engine::{AgentRole, Plan, Roles, Spending, Toolboxes, outline, verify};
use pibench_import::results;
use pibench_import::tasks::{Databases, import};
use pibench_model::web::{Corpus, Web};
use pibench_record::event::{Event, EventKind, VERSION};
use pibench_record::folder::{Manifest, read_outline};
use pibench_record::trajectory::Timed;
use pibench_record::{Journal, RunFolder, journal as journals};
use pibench_report::follow;
use pibench_report::report::Report;
use pibench_report::run_record::RunRecord;
use pibench_report::{page, table};
use pibench_sandbox::{GuestLimits, Plugins};
use pibench_suite::load::load;
use pibench_suite::suite::Suite;

const SUITE: &[u8] = b"version = 1\nid = \"f\"\npersonas = [\"a\"]\n";
const PERSONA: &[u8] =
    b"version = 1\nid = \"a\"\nname = \"A\"\nprofile = \"x\"\nepisode = [{ session = \"s\" }]\n";
const SESSION: &[u8] =
    b"version = 1\nid = \"s\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Begin.\"\n\
    [[intents]]\nid = \"one\"\ncontent = \"In blue.\"\nsatisfied.all = [['blue']]\n\
    [[intents]]\nid = \"two\"\ncontent = \"By noon.\"\n\
    [[checklist]]\nid = \"c\"\ncriterion = \"It is short.\"\n";

thread_local! {
    static NO_PLUGINS: Arc<Plugins> =
        Arc::new(Plugins::new([].into(), Vec::new(), Path::new("/dev/null/none")));
    static PROMPTS: Arc<AgentPrompts> = Arc::new(
        AgentPrompts::new(ScaffoldPrompt::Neutral, None, None)
            .expect("the built-in prompts are tried by a test"),
    );
}

/// The suite that the records are of.
const FILES: [(&str, &[u8]); 3] = [
    ("suite/suite.toml", SUITE),
    ("suite/a/persona.toml", PERSONA),
    ("suite/a/sessions/s/session.toml", SESSION),
];

const MESSAGES: &[u8] = br#"{"role": "user", "message": "Begin.", "timestamp": 1770000000.0}
{"role": "assistant", "message": "In blue.", "timestamp": 1770000010.0}
{"role": "user", "message": "By noon.", "timestamp": 1770000020.0}
{"role": "assistant", "message": "Done.", "timestamp": 1770000030.0}
"#;
const LOG: &[u8] = br#"{"message": "Hidden intents initialized", "data": {"hidden_intents": [{"idx": 1, "content": "In blue.", "status": "not_provided"}, {"idx": 2, "content": "By noon.", "status": "not_provided"}]}}
{"message": "Intent satisfaction completed", "data": {"newly_inferred_indexes": [1], "decisions": [{"idx": 1, "decision": "YES"}, {"idx": 2, "decision": "NO"}]}}
{"message": "Targeted followup completed", "data": {"matched_indexes": [], "decisions": [{"idx": 2, "decision": "NO"}]}}
{"message": "Reply built", "data": {"updated_indexes": [2]}}
{"message": "Task finished task_id=s status=SUCCESS turns=2 elapsed_ms=9 detail=-", "data": {}}
"#;
const RESULT: &[u8] = br#"{"user_id": "a", "agent_id": "m", "task": {"task_id": "s", "checklist": {"turn_evaluations": [{"turn_index": 1, "criterion_scores": [{"index": 1, "criterion": "It is short.", "value": 1}]}]}, "proactiveness": {"inferred_intent_indexes": [1], "matched_intent_indexes": []}}}"#;
const TRACE: &[u8] = br#"{"messages": [{"role": "system", "content": "You assist."}, {"role": "user", "content": "Begin."}, {"role": "assistant", "content": "In blue."}], "tool_steps": []}"#;

/// A file of what the released code put out: the first byte says which. What is taken over verifies.
pub fn outputs(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let mut files = [
        (
            "outputs/m/a/s/history/20260202_100000-messages.jsonl",
            MESSAGES,
        ),
        ("outputs/m/a/s/history/20260202_100000-log.jsonl", LOG),
        (
            "outputs/m/a/s/eval/results/20260202_120000_result.json",
            RESULT,
        ),
        (
            "outputs/m/a/s/eval/trace_logs/20260202_120000/turn_1.json",
            TRACE,
        ),
    ];
    files[usize::from(kind % 4)].1 = text;
    in_folder(&[&FILES[..], &files[..]].concat(), |root| {
        let Some((suite, out)) = suite_and_out(root) else {
            return;
        };
        let outputs = match results::read(&root.join("outputs"), &suite, None) {
            Ok(outputs) => outputs,
            Err(nothing) => return assert!(!nothing.problems.0.is_empty()),
        };
        let (path, source) = (suite.path.to_string(), root.to_string());
        if take_over(&outputs, &suite, path, source, out.as_std_path()).is_err() {
            return;
        }
        let Ok((folder, manifest)) = RunFolder::read(out.as_std_path()) else {
            unreachable!("what was written is a run folder");
        };
        let written = read_outline(out.as_std_path()).ok().flatten();
        let verified = written.map(|outline| imported::verify(&folder, &manifest, &outline));
        let problems = verified
            .and_then(Result::ok)
            .map(|verified| verified.problems);
        assert_eq!(problems, Some(Vec::new()));
    });
}

/// The suite, and a path where nothing is: what an earlier input left is gone.
fn suite_and_out(root: &Utf8Path) -> Option<(Suite, camino::Utf8PathBuf)> {
    let out = root.join("out");
    if std::fs::remove_dir_all(&out).is_err() && out.exists() {
        return None;
    }
    let suite = load(&root.join("suite/suite.toml")).ok()?.suite;
    Some((suite, out))
}

const APPS: [&str; 8] = [
    "gmail",
    "amazon",
    "file_system",
    "simple_note",
    "splitwise",
    "spotify",
    "todoist",
    "phone",
];
const EPISODE: &[u8] = b"schema_version: v2\nepisode_id: e\nuser_id: a\ntasks:\n  - task_id: t\n";
const TASK: &[u8] = b"schema_version: v2\ntask_id: t\nuser_id: a\ntask_type: long_term\ntitle: T\n\
    trigger: {type: user}\nintent:\n  initial_input: Begin.\n  hidden_intent:\n    - content: In blue.\n";

/// A foreign database: the first byte says of which app. What is imported is a suite that loads.
pub fn databases(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else {
        return;
    };
    let app = APPS[usize::from(kind % 8)];
    let database = format!("apps/{app}.db");
    let files = [
        ("public/data/a/episode.yaml", EPISODE),
        ("public/data/a/profile.yaml", PROFILE),
        (
            "public/data/a/tools.yaml",
            b"schema_version: v2\ntools: []\n",
        ),
        ("public/data/a/tasks/t/task.yaml", TASK),
        (&database, content),
    ];
    in_folder(&files, |root| {
        let out = root.join("out");
        // What an earlier input left.
        if std::fs::remove_dir_all(&out).is_err() && out.exists() {
            return;
        }
        let dir = root.join("apps");
        let databases = Databases {
            dir: &dir,
            open_app: &mut |_, _, _| Ok(()),
        };
        let mut checks = |_: &str| Ok(vec!["met".to_owned()]);
        let imported = import(
            &root.join("public"),
            Some(databases),
            &out,
            &mut checks,
            &|_| true,
        );
        // Alone the next time.
        let _ = std::fs::remove_file(root.join(&database));
        match imported {
            Ok(_) => assert!(load(&out.join("suite.toml")).is_ok()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

#[derive(Deserialize)]
struct Tagged {
    event: EventKind,
}

/// A journal: the bytes as they are, then as the events of a chain that is whole, shown, reported and verified.
pub fn journal(bytes: &[u8]) {
    in_folder(&[&FILES[..], &[("raw.jsonl", bytes)]].concat(), |root| {
        let _ = journals::events(root.join("raw.jsonl").as_std_path());
        let event = |line| {
            let Tagged { event } = serde_json::from_slice(line).ok()?;
            event.read(line).ok()
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        let events: Vec<Event> = lines.filter_map(event).collect();
        let Some((suite, out)) = suite_and_out(root) else {
            return;
        };
        let Ok(folder) = RunFolder::create(out.as_std_path(), &manifest(&suite)) else {
            return;
        };
        let path = folder.journal("a", 1);
        let written = Journal::create(&path)
            .and_then(|mut journal| events.iter().try_for_each(|event| journal.append(event)));
        if written.is_err() {
            return;
        }
        assert_eq!(journals::events(&path).ok().as_ref(), Some(&events));
        let plan = Arc::new(plan(suite, folder));
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        let Ok(outline) = runtime.block_on(outline(&plan)) else {
            return;
        };
        let _ = plan.folder.put_outline(&outline);
        shown(&out);
        // Without a seal and results something is always wrong.
        if let Ok(verified) = runtime.block_on(verify(&plan, pibench_engine::Extent::Whole)) {
            assert!(!verified.problems.is_empty());
        }
    });
}

/// What looks at a run takes any.
fn shown(out: &Utf8Path) {
    let Ok(run) = RunRecord::so_far(out.as_std_path()) else {
        return;
    };
    let (state, results) = (follow::state(&run), table::results(&run.results));
    assert!(!state.is_empty() && !results.is_empty());
    let _ = Timed::new(out.as_std_path()).trajectory("a", 1, "s");
    let mut text = Vec::new();
    let Ok(report) = Report::new(vec![run], &[], 1) else {
        return;
    };
    let written = page::write(&report, &mut text);
    assert!(written.is_ok() && !text.is_empty());
}

fn manifest(suite: &Suite) -> Manifest {
    Manifest {
        version: VERSION,
        host: String::new(),
        started: String::new(),
        suite: suite.id.clone(),
        suite_path: suite.path.to_string(),
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        protocol: Protocol::Paper,
        protocol_version: PROTOCOL_VERSION,
        scaffold: Scaffold::default(),
        scaffold_prompt: None,
        scaffold_prompt_digest: None,
        agent: "nop".into(),
        user: "lexical".into(),
        judge: "lexical".into(),
        players: Players::named("nop", "lexical", "lexical"),
        models: [].into(),
        process: None,
        runs: 1,
        seed: 1,
        personas: Vec::new(),
        sessions: Vec::new(),
        ablate: None,
        shard: None,
        graded: None,
        set: Vec::new(),
        plugin_dirs: Vec::new(),
        prompts: None,
        prompts_version: None,
        prompts_digest: String::new(),
        policy: None,
        policy_digest: None,
        plugins: [].into(),
        limits: [].into(),
        imported: None,
        max_cost: None,
        published: None,
    }
}

fn plan(suite: Suite, folder: RunFolder) -> Plan {
    let GuestLimits {
        app,
        grader,
        python,
        shell,
        document,
        load: _,
    } = GuestLimits::default();
    Plan {
        suite: Arc::new(suite),
        protocol: Protocol::Paper,
        played_by: Protocol::Paper,
        scaffold: Scaffold::default(),
        web: Arc::new(Web::offline(Corpus::new(Vec::new()))),
        seed: 1,
        runs: 1,
        jobs: 1,
        sessions: Vec::new(),
        personas: Vec::new(),
        ablate: None,
        variants: false,
        shard: None,
        roles: Roles {
            agent: AgentRole::Nop,
            agent_name: "nop".into(),
            agent_prompts: PROMPTS.with(Arc::clone),
            user: UserAgent::Lexical,
            user_name: "lexical".into(),
            judge: Judge::Lexical,
            judge_name: "lexical".into(),
            unpriced: Vec::new(),
        },
        beside: false,
        plugins: NO_PLUGINS.with(Arc::clone),
        toolboxes: Toolboxes::default(),
        app_limits: app,
        grader_limits: grader,
        python_limits: python,
        shell_limits: shell,
        document_limits: document,
        folder,
        preflight: false,
        spending: Spending::default(),
        stop: Stop::default(),
        log: None,
    }
}
