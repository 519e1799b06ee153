//! The command line. The doc comments are the help.

pub mod board;
pub mod hub;
pub mod pack;
pub mod signing;

use std::str::FromStr;

use camino::Utf8PathBuf;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde_json::Value;
use tracing::level_filters::LevelFilter;

use pibench_core::player;
use pibench_core::size::Memory;
use pibench_engine::plan::Answers;
use pibench_record::folder::Shard;
use pibench_report::format::Format;
use pibench_suite::load::{Assignment, SCAFFOLD_PROMPT};

/// Seconds of `--grace` where it is not given.
pub const GRACE: u32 = 10;

/// What this program is, to the commit; `-V` says the first line only.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit ",
    env!("PIBENCH_COMMIT"),
    "\nengine wasmtime ",
    env!("PIBENCH_ENGINE")
);

/// Measures whether a personal-assistant agent acts on what its user has not said (π-Bench).
#[derive(Debug, Parser)]
#[command(name = "pibench-host", version, long_version = VERSION, about, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub talk: TalkArgs,
    /// A private key that opens private packs and the runs of them: age's or OpenSSH's (may be repeated). Default: that of
    /// `$PIBENCH_IDENTITY`, if it is set.
    #[arg(
        long,
        global = true,
        value_name = "KEY",
        help_heading = "Private packs"
    )]
    pub identity: Vec<Utf8PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct TalkArgs {
    /// Say nothing on stderr but what went wrong.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what happens on stderr; twice: in detail. `PIBENCH_LOG` says the same by parts of the program.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

impl TalkArgs {
    /// As tracing's directives; None where nothing was asked for.
    pub fn filter(self) -> Option<&'static str> {
        match self.verbose {
            0 => None,
            1 => Some("info"),
            _ => Some("debug"),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Play a suite: agent, user agent, graders and judge, to a table of scores and a run folder.
    Run(RunArgs),
    /// Play a suite with an agent of your own, which speaks the Model Context Protocol.
    Serve(ServeArgs),
    /// Show every problem of suites, personas, sessions and plugins, each with its place and remedy.
    Check(CheckArgs),
    /// Show what a suite holds: sessions, intents, rubrics, rules, tools.
    List(ListArgs),
    /// Write the built-in suite out, or begin one of your own.
    Suite(SuiteArgs),
    /// Write the built-in prompts out, to be rewritten and given to `run --prompts`.
    Prompts(PromptsArgs),
    /// Begin a persona of a suite.
    Persona(PersonaArgs),
    /// Begin a session of a persona.
    Session(SessionArgs),
    /// Tell whether one run is better than another: differences, intervals, p-values, what the suite can detect.
    Compare(CompareArgs),
    /// Make one run of the parts that `run --shard` played.
    Merge(MergeArgs),
    /// Print what the scheduler of a cluster takes to play a suite in parts: a script for Slurm, manifests for Kubernetes.
    Script(ScriptArgs),
    /// Make tables, figures and a page to look at from finished runs.
    Report(ReportArgs),
    /// Write finished runs in the formats of other tools.
    Export(ExportArgs),
    /// Look at runs in a browser, also while they play.
    View(ViewArgs),
    /// Follow runs in the terminal while another process plays them.
    Show(ShowArgs),
    /// Print sessions of a run whole, as JSON: messages, reasoning, calls with their results, file diffs, usage, timing.
    Trajectory(TrajectoryArgs),
    /// Tell whether a run would work here: asks each model one question, looks at plugins, cache, open files, certificates,
    /// disk and keys.
    Doctor(DoctorArgs),
    /// Check that a finished run's scores follow from its record: hashes, rules, graders, sums; and who signed it, a plugin or
    /// a pack.
    Verify(VerifyArgs),
    /// Sign a plugin, a pack or a finished run, as OpenSSH does.
    Sign(signing::SignArgs),
    /// Make one archive of a suite, or install, list and compare those of others.
    Pack(pack::PackArgs),
    /// Write a run as it may be shown while its suite stays private: scores, and of what was said what you allow.
    Publish(pack::PublishArgs),
    /// Score a finished run again by other graders, judges or rules, without playing it.
    Grade(GradeArgs),
    /// Send runs to a board: prepare an archive, or check one.
    Submit(board::SubmitArgs),
    /// Build a board of submissions.
    Board(board::BoardArgs),
    /// Host the agents of others on a suite that they do not see: tokens, quotas, signed results.
    Hub(hub::HubArgs),
    /// List the simulator's doubtful moves for a person to look at: ended early, answered what was not asked, leaked an
    /// intent.
    Review(ReviewArgs),
    /// Judge a sample of a finished run's sessions again and tell how far the verdicts agree.
    Audit(AuditArgs),
    /// Print the JSON Schema of a task format or of a file of the run folder.
    Schema(SchemaArgs),
    /// Turn foreign task data into a suite, and foreign results into a run folder.
    Import(ImportArgs),
    /// Make, build, test and look at plugins: for those who write them.
    Plugin(PluginArgs),
    /// Run a command that sees one folder, the system's programs and its own installation, and nothing else of the machine: as
    /// `run` does with agents. For an agent of yours beside `serve`. It reads and writes the terminal, but does not hold it: Ctrl-C
    /// kills it with all that it started, and /dev/tty, Ctrl-Z and a shell's job control are not there.
    Confine(ConfineArgs),
    /// Print a script that completes command lines, for a shell to load.
    Completions { shell: Shell },
    /// Print the manual page, or write those of all commands into a folder.
    Man {
        /// The folder, made when it is missing.
        #[arg(long, value_name = "DIR")]
        out: Option<Utf8PathBuf>,
    },
    /// Compile the component on stdin to stdout, under limits that this process sets itself: the host runs it.
    #[command(hide = true)]
    CompileComponent(CompileArgs),
    /// Be an agent's MCP server on standard input and output.
    #[command(hide = true)]
    McpBridge,
}

#[derive(Debug, Args)]
pub struct ConfineArgs {
    /// The folder that it works in; it finds it as /workspace.
    #[arg(long, value_name = "DIR")]
    pub workspace: Utf8PathBuf,
    /// An environment variable that it is given (may be repeated). Others it has none but PATH, HOME and the language.
    #[arg(long = "env", value_name = "NAME")]
    pub environment: Vec<String>,
    /// A file or folder of its installation that it can read, beside those that its program lies in (may be repeated).
    #[arg(long, value_name = "PATH")]
    pub read: Vec<String>,
    /// A folder of which it is shown nothing: what would show it is refused (may be repeated). Suites, personas and runs in its
    /// workspace, beside its program and in what --read names are hidden by themselves.
    #[arg(long, value_name = "DIR")]
    pub hide: Vec<Utf8PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What a run is of: a suite, and what goes in the place of its settings.
#[derive(Debug, Clone, Default, Args)]
pub struct SettingArgs {
    /// The suite file, or its folder. Default: tasks/suite.toml here, as in a checkout; else the suite that the program carries.
    #[arg(value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// The agent under test: reference, reactive, nop, cheat, a known model's name, PROVIDER/MODEL, or an agent of your own that
    /// speaks the Agent Client Protocol, `acp:NAME` or 'acp:COMMAND ARGS'. Several are played side by side, each to a run folder of its own below --out (may be repeated).
    #[arg(long, value_name = "M")]
    pub agent: Vec<String>,
    /// Let agents that are processes of their own (`--agent acp:...`) run without confinement: they can then read the suite with
    /// its hidden intents, and the scores say so.
    #[arg(long, requires = "agent")]
    pub agent_unconfined: bool,
    /// The user agent: lexical, a known model's name, or PROVIDER/MODEL. Default: the suite's; lexical for a scripted agent.
    #[arg(long, value_name = "M")]
    pub user: Option<String>,
    /// The judge of rubric items: lexical, a known model's name, or PROVIDER/MODEL. Several decide by majority (may be
    /// repeated). Default: the suite's; lexical for a scripted agent.
    #[arg(long, value_name = "M")]
    pub judge: Vec<String>,
    /// Play only this persona (may be repeated).
    #[arg(long, value_name = "P")]
    pub persona: Vec<String>,
    /// Play only this session and those that it depends on (may be repeated).
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,
    /// Independent trajectories of each session. Default: 1 when all models are scripted, else 3.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// Episodes played at the same time. Default: the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub jobs: Option<u32>,
    /// Memory of the program itself, such as 4G: near it no new episode begins, and the guest, answer or workspace that holds
    /// most is ended, named, and never scored. Default: no bound.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,
    /// The rules: the paper's, or those of the released code.
    #[arg(long, value_parser = PROTOCOLS)]
    pub protocol: Option<String>,
    /// The tools of the built-in scaffold: the paper's, or those of the released code.
    #[arg(long, value_parser = SCAFFOLDS)]
    pub scaffold: Option<String>,
    /// The agent's system prompt. `neutral` says nothing of what users leave unsaid or of when to ask; `coached` gives
    /// advice on both, to measure its effect. Default: neutral.
    #[arg(long, value_parser = SCAFFOLD_PROMPTS, value_name = "WORDING")]
    pub scaffold_prompt: Option<String>,
    /// The seed of everything drawn at random.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Put any setting of the suite file in the place of its own, such as `session.max_turns=5` (may be repeated).
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Assignment>,
    /// The address of the agent's server, as in `http://127.0.0.1:8000/v1`, in the place of its provider's; user agent and
    /// judge stay at theirs. A provider that is not known is made by it: `--agent lab/MODEL --base-url URL`.
    #[arg(long, value_name = "URL", requires = "agent")]
    pub base_url: Option<String>,
    /// The temperature that the agent is asked with. Default: none is sent.
    #[arg(long, value_name = "T", requires = "agent")]
    pub temperature: Option<f64>,
    /// The longest answer of the agent's model, in tokens, thinking among them.
    #[arg(long, value_name = "N", requires = "agent", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_output_tokens: Option<u32>,
    /// Take something away from the agent. `dependencies`: the final session of each group alone, with the files and
    /// records of the others and nothing that was made in them. `none`: play all, whatever the suite says.
    #[arg(long, value_parser = ABLATIONS, value_name = "WHAT")]
    pub ablate: Option<String>,
    /// A folder of plugins, `<name>.wasm`.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// What plugins of others may use. Default: nothing.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<Utf8PathBuf>,
}

/// The words of files, as options take them.
const PROTOCOLS: [&str; 2] = ["paper", "pi-bench"];
const SCAFFOLDS: [&str; 2] = ["nanobot-0.1.5", "nanobot-0.1.4"];
const SCAFFOLD_PROMPTS: [&str; 2] = ["neutral", "coached"];
const ABLATIONS: [&str; 2] = ["dependencies", "none"];

impl SettingArgs {
    /// What goes in the place of the suite's settings, but for what the agent's server and model are asked by.
    pub fn assignments(&self) -> Vec<Assignment> {
        let Self {
            suite: _,
            agent,
            agent_unconfined,
            user,
            judge,
            persona,
            session,
            runs,
            jobs,
            memory,
            protocol,
            scaffold,
            scaffold_prompt,
            seed,
            set,
            ablate,
            plugins: _,
            policy,
            base_url: _,
            temperature: _,
            max_output_tokens: _,
        } = self;
        let several = |names: &[String]| (!names.is_empty()).then(|| names.join(",").into());
        let agents = agent.iter().map(|name| match player::process(name) {
            Some((what, true)) if *agent_unconfined => format!("{}{what}", player::UNCONFINED),
            _ => name.clone(),
        });
        let agents: Vec<String> = agents.collect();
        let list = |ids: &[String]| (!ids.is_empty()).then(|| ids.into());
        let word = |word: &Option<String>| word.clone().map(Value::from);
        let chosen: [(&'static str, Option<Value>); 14] = [
            ("agent", several(&agents)),
            ("user", word(user)),
            ("judge", several(judge)),
            ("persona", list(persona)),
            ("session", list(session)),
            ("runs", runs.map(Value::from)),
            ("jobs", jobs.map(Value::from)),
            ("memory", memory.map(|memory| memory.to_string().into())),
            ("protocol", word(protocol)),
            ("scaffold", word(scaffold)),
            (SCAFFOLD_PROMPT, word(scaffold_prompt)),
            ("seed", seed.map(Value::from)),
            ("policy", policy.as_ref().map(|path| path.as_str().into())),
            ("ablate", word(ablate)),
        ];
        let chosen = chosen.into_iter();
        let chosen = chosen.filter_map(|(option, value)| Some((option, value?)));
        let chosen = chosen.map(|(option, value)| Assignment::chosen(option, value));
        set.iter().cloned().chain(chosen).collect()
    }
}

#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RunArgs {
    /// Go on with a run that was cut off. Everything is as it was; only --jobs, --memory, --max-cost, --no-preflight and what is
    /// recorded may differ.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "agent", "agent_unconfined", "user", "judge", "persona", "session", "runs", "protocol", "scaffold", "scaffold_prompt", "plugins",
        "policy", "prompts", "out", "seed", "ablate", "shard", "dry_run", "set", "print_config", "base_url", "temperature",
        "max_output_tokens",
    ])]
    pub resume: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print every setting, its value and where that comes from, and play nothing.
    #[arg(long, conflicts_with = "dry_run")]
    pub print_config: bool,
    /// Play only this part of the episodes, such as 2/4, or go on with it where --out holds it already; `merge` makes one run
    /// of the parts. `auto`: the part whose task of a scheduler this is, in the folder part-I of --out.
    #[arg(long, value_name = "I/N|auto")]
    pub shard: Option<ShardArg>,
    /// Sync each turn to the disk, so that it survives a power cut. Default: where a real model takes part.
    #[arg(long, overrides_with = "no_sync")]
    pub sync: bool,
    /// Leave it to the system when what was played reaches the disk: after a power cut the last turns may be missing.
    #[arg(long, overrides_with = "sync")]
    pub no_sync: bool,
    /// How long the scheduler waits between SIGTERM or SIGUSR1 and its kill. No turn begins after the signal; those that have
    /// begun are played on until five seconds are left. Default: 10.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub grace: Option<u32>,
    /// Exit with 0 when everything is played to its end, whatever broke in it (else 5, 8 or 9): for schedulers that take every
    /// other code for a failure.
    #[arg(long)]
    pub exit_zero: bool,
    /// A folder of prompts that replace the built-in ones of the same file name; `system.md` and `subagent.md` are the
    /// agent's, the others those of user agent and judge. `pibench-host prompts export DIR` writes the built-in ones.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    /// Begin no further turn once the run has cost so much. Exit code 7; --resume goes on, within the same bound unless it is
    /// given another (`inf` for none).
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<f64>,
    /// Estimate calls, tokens and cost for each role, and play nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Ask no model anything before the first session.
    #[arg(long)]
    pub no_preflight: bool,
    /// Take what the run's record says of servers, keys and programs for your own word, where nobody with your cache said it before.
    #[arg(long)]
    pub trust_record: bool,
    #[command(flatten)]
    pub tape: TapeArgs,
    // Not as documentation, which would take the angles for markup.
    #[arg(
        long,
        value_name = "DIR",
        help = "The run folder. Default: runs/<suite>-<UTC time>"
    )]
    pub out: Option<Utf8PathBuf>,
    /// What goes into log.jsonl of the run folder: off, error, warn, info, debug or trace. Default: info.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<LevelFilter>,
    /// Send the spans of the log to a collector of OpenTelemetry at this HTTP address: what was played when, models, tokens,
    /// tools and scores, and no text of any message. Default: that of `OTEL_EXPORTER_OTLP_ENDPOINT`, else none.
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Send the collector messages too: all that the three models are shown and answer, hidden intents among it, and what the
    /// tools' calls are given and give. Also by `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`.
    #[arg(long)]
    pub otlp_messages: bool,
    /// Print the results as one JSON object on stdout; talk goes to stderr.
    #[arg(long)]
    pub json: bool,
}

/// Which part of the episodes is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardArg {
    /// As the scheduler says.
    Auto,
    Given(Shard),
}

impl FromStr for ShardArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Given)
    }
}

#[derive(Debug, Clone, Default, Args)]
#[group(multiple = false)]
pub struct TapeArgs {
    /// Write every answer of a model into this new folder.
    #[arg(long, value_name = "DIR")]
    pub record: Option<Utf8PathBuf>,
    /// Take every answer from a recording: no model is asked, and no key is needed.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<Utf8PathBuf>,
    /// Ask judges only what this folder has no answer to, and add the answers to it.
    #[arg(long, value_name = "DIR")]
    pub judge_cache: Option<Utf8PathBuf>,
}

impl TapeArgs {
    pub fn answers(&self) -> Answers {
        let Self {
            record,
            replay,
            judge_cache,
        } = self;
        match (record, replay, judge_cache) {
            (Some(dir), ..) => Answers::Recorded(dir.clone()),
            (_, Some(dir), _) => Answers::Replayed(dir.clone()),
            (.., Some(dir)) => Answers::Cached(dir.clone()),
            (None, None, None) => Answers::Asked,
        }
    }
}

#[derive(Debug, Args)]
// What an agent from outside has no use for.
#[command(mut_arg("agent", |arg| arg.hide(true)), mut_arg("agent_unconfined", |arg| arg.hide(true)), mut_arg("dry_run", |arg| arg.hide(true)), mut_arg("jobs", |arg| arg.hide(true)),
    mut_arg("base_url", |arg| arg.hide(true)), mut_arg("temperature", |arg| arg.hide(true)),
    mut_arg("max_output_tokens", |arg| arg.hide(true)))]
pub struct ServeArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Speak on standard input and output instead of HTTP.
    #[arg(long, conflicts_with = "port")]
    pub stdio: bool,
    /// The port on 127.0.0.1. Default: any that is free.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Suites, personas, sessions (a file or its folder) or plugins (`.wasm`).
    #[arg(required = true)]
    pub paths: Vec<Utf8PathBuf>,
    /// Of a suite, play only this session and those that it depends on (may be repeated). Default: all.
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,
    /// A folder of plugins, `<name>.wasm`.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// What plugins of others may use. Default: nothing.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<Utf8PathBuf>,
    /// Hold the suite's patterns against the verdicts of a run that models judged (may be repeated): how far they agree,
    /// and where not.
    #[arg(long, value_name = "RUN")]
    pub against: Vec<Utf8PathBuf>,
    /// Print how that run went as an entry of this name for `pilots.toml` beside the suite file.
    #[arg(long, value_name = "ID", requires = "against")]
    pub pilot: Option<String>,
    /// Print everything as one JSON object on stdout; talk goes to stderr.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ListArgs {
    #[command(subcommand)]
    pub what: Option<ListCommand>,
    /// The suite file. Default: tasks/suite.toml here, as in a checkout; else the suite that the program carries.
    #[arg(value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// A folder of plugins, `<name>.wasm`.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// Each session: persona, id, category, title, and on which it depends.
    Sessions {
        /// The suite file. Default: tasks/suite.toml here, as in a checkout; else the suite that the program carries.
        #[arg(value_name = "SUITE.toml")]
        suite: Option<Utf8PathBuf>,
        /// Print one JSON list.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct SuiteArgs {
    #[command(subcommand)]
    pub command: SuiteCommand,
}

#[derive(Debug, Subcommand)]
pub enum SuiteCommand {
    /// Write the suite that the program carries into a new folder, to be read, changed and played by its path.
    Export {
        /// The folder; must not be there yet.
        dir: Utf8PathBuf,
    },
    /// Write a new suite with a persona and a session, sound as it is, to be rewritten.
    New {
        /// The folder; must not be there yet. Its name is the suite's id.
        dir: Utf8PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct PromptsArgs {
    #[command(subcommand)]
    pub command: PromptsCommand,
}

#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// Write the prompts of agent, user agent and judge into a new folder. docs/protocols.md says what each may show.
    Export {
        /// The folder; must not be there yet.
        dir: Utf8PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct PersonaArgs {
    #[command(subcommand)]
    pub command: PersonaCommand,
}

#[derive(Debug, Subcommand)]
pub enum PersonaCommand {
    /// Add a persona with one session to a suite, sound as they are, to be rewritten.
    New {
        /// The suite file, or its folder: the persona is added to its list, and written into the folder `personas` beside it.
        #[arg(value_name = "SUITE.toml")]
        suite: Utf8PathBuf,
        /// Lower case letters, digits, `-` and `_`; names the folder.
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    pub command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Add a session to the end of a persona's episode, sound as it is, to be rewritten.
    New {
        /// The persona's folder.
        persona: Utf8PathBuf,
        /// Lower case letters, digits, `-` and `_`; names the folder.
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The run folders of all parts; or the one folder that holds them, as `run --shard auto --out DIR` makes it.
    #[arg(required = true, value_name = "RUN")]
    pub parts: Vec<Utf8PathBuf>,
    /// The folder of the whole run. Default: `run` in the folder that holds all parts.
    #[arg(long, value_name = "DIR")]
    pub out: Option<Utf8PathBuf>,
    /// Exit with 0 when all is merged, whatever broke while it was played (else 5, 8 or 9).
    #[arg(long)]
    pub exit_zero: bool,
    /// Print the results as one JSON object on stdout; talk goes to stderr.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    Slurm,
    Kubernetes,
}

#[derive(Debug, Args)]
pub struct ScriptArgs {
    pub scheduler: Scheduler,
    /// How many parts the run has. Default: one for each episode.
    #[arg(long, value_name = "N")]
    pub parts: Option<u32>,
    /// Parts that are played at the same time at most. Default: as many as there is room for.
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    pub at_once: Option<u32>,
    /// The folder of all parts, which every node sees.
    #[arg(long, value_name = "OUT")]
    pub out: Utf8PathBuf,
    /// The image of the containers (Kubernetes). Default: `pibench-host` of this version.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// The queue of Kueue that lets the Job go (Kubernetes).
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Write the manifests into this new folder, for Kustomize: `base`, and the overlay `overlays/mine` to say what your cluster has
    /// of its own (Kubernetes). Default: print them.
    #[arg(long, value_name = "DIR")]
    pub kustomize: Option<Utf8PathBuf>,
    /// What `run` is told: the suite's file and options.
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// The command line of `run` by itself.
#[derive(Debug, Parser)]
#[command(name = "run", no_binary_name = false)]
pub struct RunLine {
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A run folder.
    pub a: Utf8PathBuf,
    /// Another run of the same suite: the difference is this one minus the first.
    pub b: Utf8PathBuf,
    /// The seed of the resampling.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run folders: one for each model. Default: the newest in runs/.
    #[arg(value_name = "RUN")]
    pub runs: Vec<Utf8PathBuf>,
    /// Write index.html, the tables in every format and the figures into this folder; must not be there yet.
    #[arg(long, value_name = "DIR")]
    pub out: Option<Utf8PathBuf>,
    /// What `audit --json` printed, for Table 6 (may be repeated).
    #[arg(long, value_name = "FILE")]
    pub audit: Vec<Utf8PathBuf>,
    /// Print every table as text. Default: the scores and how sure they are.
    #[arg(long)]
    pub all: bool,
    /// How the tables are printed on stdout; all of them but as text.
    #[arg(long, value_enum, default_value = "text")]
    pub format: FormatArg,
    /// The seed of the resampling.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Text,
    Markdown,
    Csv,
    Json,
    Latex,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Text => Self::Text,
            FormatArg::Markdown => Self::Markdown,
            FormatArg::Csv => Self::Csv,
            FormatArg::Json => Self::Json,
            FormatArg::Latex => Self::Latex,
        }
    }
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run folders, or folders that hold those of several agents.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<Utf8PathBuf>,
    /// What is written: `inspect` a log for each run that `inspect view` opens, `atif` a trajectory for each session (ATIF-v1.8),
    /// `parquet` tables with a type for each column, `jsonl` the same as JSON lines, `hf` a data-set folder of these with its card.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// The new folder; must not be there yet.
    #[arg(long, value_name = "DIR")]
    pub out: Utf8PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Inspect,
    Atif,
    Parquet,
    Jsonl,
    Hf,
}

impl From<ExportFormat> for pibench_report::export::Format {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Inspect => Self::Inspect,
            ExportFormat::Atif => Self::Atif,
            ExportFormat::Parquet => Self::Parquet,
            ExportFormat::Jsonl => Self::Jsonl,
            ExportFormat::Hf => Self::Hf,
        }
    }
}

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Run folders. Default: the newest in runs/.
    #[arg(value_name = "RUN")]
    pub runs: Vec<Utf8PathBuf>,
    /// The port on 127.0.0.1. Default: any that is free.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// The seed of the resampling.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run folders, or a folder of several agents' runs. Default: the newest in runs/.
    #[arg(value_name = "RUN")]
    pub runs: Vec<Utf8PathBuf>,
    /// Print how far they are, and stop.
    #[arg(long)]
    pub once: bool,
}

#[derive(Debug, Args)]
pub struct TrajectoryArgs {
    /// The run folder.
    #[arg(value_name = "RUN")]
    pub dir: Utf8PathBuf,
    /// Only this persona's (may be repeated).
    #[arg(long, value_name = "P")]
    pub persona: Vec<String>,
    /// Only this session (may be repeated). Default: all that are played to their end.
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,
    /// Only that of this run: 1, 2, 3, ...
    #[arg(long, value_name = "N")]
    pub run: Option<u32>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Where the run folder is to be.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: Utf8PathBuf,
    /// Print one JSON list.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The run folder, or one that holds those of several agents; or a plugin (NAME.wasm) or the folder of a pack, of which the
    /// signature is verified. Default: the newest run in runs/.
    #[arg(value_name = "RUN|FILE|PACK")]
    pub run: Option<Utf8PathBuf>,
    /// The suite file, where it is elsewhere than when the run was played. With --foreign: else the one that the
    /// program carries; beside a folder of plugins, as in a checkout, it has to be named.
    #[arg(long, value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// The run is a stranger's: no place that its record names is looked at.
    #[arg(long)]
    pub foreign: bool,
    /// A folder of plugins, `<name>.wasm`, before the host's own.
    #[arg(long, value_name = "DIR", requires = "foreign")]
    pub plugins: Option<Utf8PathBuf>,
    /// The policy, what plugins of others may use, where its file is elsewhere than when the run was played. With --foreign: else
    /// they may use nothing.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<Utf8PathBuf>,
    /// The folder of prompts of a run that was played by own ones, where it is elsewhere than when the run was played. With
    /// --foreign it has to be named.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub signers: signing::SignersArgs,
    /// Print what was found of a run for programs.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct GradeArgs {
    /// The run folder, whole. It stays as it is.
    #[arg(value_name = "RUN")]
    pub run: Utf8PathBuf,
    /// The new run folder. One that was begun by the same command is gone on with.
    #[arg(long, value_name = "DIR")]
    pub out: Utf8PathBuf,
    /// The judge of rubric items; several decide by majority (may be repeated). Default: the run's.
    #[arg(long, value_name = "M")]
    pub judge: Vec<String>,
    /// The rules of graders, judges and sums. Default: the run's.
    #[arg(long, value_parser = PROTOCOLS)]
    pub protocol: Option<String>,
    /// A folder of plugins, `<name>.wasm`, before those of the run.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// What plugins of others may use. Default: the run's.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<Utf8PathBuf>,
    /// A folder of prompts to judge by, whatever the run was judged by. Default: the run's own, as they were; of a run without
    /// own ones the built-in ones of this program.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    /// The suite with the rules and rubrics to grade by. Default: the run's, as it is now.
    #[arg(long, value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// Episodes graded at the same time. Default: the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub jobs: Option<u32>,
    /// Take what the run's record says of servers, keys and programs for your own word, where nobody with your cache said it before.
    #[arg(long)]
    pub trust_record: bool,
    #[command(flatten)]
    pub tape: TapeArgs,
    /// Print the results as one JSON object on stdout; talk goes to stderr.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompileArgs {
    /// The engine's profile.
    pub profile: String,
    /// Most real time, in milliseconds.
    pub wall_ms: u64,
    /// Most address space, in bytes.
    pub memory: usize,
}

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The run folder.
    #[arg(value_name = "RUN")]
    pub run: Utf8PathBuf,
    /// The suite file, where it is elsewhere than when the run was played.
    #[arg(long, value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// The folder of prompts of a run that was played by own ones, likewise.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    /// Print one JSON list.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Run folders, or folders that hold those of several agents.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<Utf8PathBuf>,
    /// Who judges again: a known model's name, or PROVIDER/MODEL (may be repeated: each is an audit of its own).
    #[arg(long, value_name = "M", required_unless_present_any = ["sheet", "human"])]
    pub judge: Vec<String>,
    /// Write a page on which a person judges the sample, without seeing who played it or what the judges said.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["judge", "human", "json"])]
    pub sheet: Option<Utf8PathBuf>,
    /// Read what people saved from that page, a file for each: the majority of them is one audit.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub human: Vec<Utf8PathBuf>,
    /// Sessions to judge again: as many of each agent as of the others, drawn uniformly from those that are scored.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: u32,
    /// The seed of the sample and of the resampling.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The folder of prompts of runs that were played by own ones, where it is elsewhere than when they were played.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    /// Take what the run's record says of servers, keys and programs for your own word, where nobody with your cache said it before.
    #[arg(long)]
    pub trust_record: bool,
    #[command(flatten)]
    pub tape: TapeArgs,
    /// Print one JSON list.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which one. Without it, the names.
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    pub format: ImportFormat,
}

#[derive(Debug, Subcommand)]
pub enum ImportFormat {
    /// The public π-Bench format, schema v2.
    PiBench {
        /// The folder that holds `data/<user>/`.
        dir: Utf8PathBuf,
        /// A folder of AppWorld-like databases, one for each app (`gmail.db`, `amazon.db`, ...), that the apps start from.
        #[arg(long, value_name = "DIR")]
        apps: Option<Utf8PathBuf>,
        /// The new suite's folder; must not be there yet.
        #[arg(long, value_name = "DIR")]
        out: Utf8PathBuf,
        /// A folder of plugins, `<name>.wasm`.
        #[arg(long, value_name = "DIR")]
        plugins: Option<Utf8PathBuf>,
    },
    /// The outputs of π-Bench's released code, as a run that report, compare, view and verify take.
    Results {
        /// The folder that holds `<model>/<user>/<task>/`, as the released code writes it (`outputs`).
        dir: Utf8PathBuf,
        /// The suite that was imported from the same data.
        #[arg(long, value_name = "SUITE.toml")]
        suite: Utf8PathBuf,
        /// Whose outputs, where there are those of several models.
        #[arg(long, value_name = "M")]
        model: Option<String>,
        /// The new run folder; must not be there yet.
        #[arg(long, value_name = "DIR")]
        out: Utf8PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write a new project that builds and passes its tests.
    New(PluginNewArgs),
    /// Build a project to NAME.wasm, with cargo or componentize-py.
    Build(PluginBuildArgs),
    /// Run the standard suite that every plugin must pass.
    Test(PluginTestArgs),
    /// Call the tools of an app: a line of JSON on stdin is a call, a line on stdout its answer.
    Call(PluginCallArgs),
    /// Pin every component of a folder: writes pibench.lock beside them.
    Lock(PluginLockArgs),
    /// Fetch a component and pin it beside the others of a folder.
    Add(pack::PluginAddArgs),
    /// Show what a plugin is: world, imports, digest, size, tools or checks.
    Inspect(PluginInspectArgs),
}

#[derive(Debug, Args)]
pub struct PluginLockArgs {
    /// The folder. Default: the one beside the program.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// Write beside them what their tools are, too: runs that play without an app then need not compile it. For the program's
    /// own folder.
    #[arg(long, hide = true)]
    pub tools: bool,
}

#[derive(Debug, Args)]
pub struct PluginNewArgs {
    /// What it is to be.
    #[arg(value_enum)]
    pub world: WorldArg,
    /// Lower case letters, digits and single underscores; an app's name is the prefix of its tools.
    pub name: String,
    /// What it is written in.
    #[arg(long, value_enum, default_value = "rust")]
    pub lang: LangArg,
    /// The new project's folder; must not be there yet. Default: NAME.
    #[arg(long, value_name = "DIR")]
    pub out: Option<Utf8PathBuf>,
    /// The folder of the crate pibench-sdk: plugins/sdk of a checkout of the project. Default: that of the checkout that this
    /// program was built in. Python needs none.
    #[arg(long, value_name = "DIR")]
    pub sdk: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorldArg {
    /// A simulated service with tools and a state.
    ToolApp,
    /// A judge of rule items.
    Grader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LangArg {
    Rust,
    Python,
}

#[derive(Debug, Args)]
pub struct PluginBuildArgs {
    /// The project's folder.
    #[arg(default_value = ".")]
    pub dir: Utf8PathBuf,
    /// A Python virtual environment that has componentize-py. Default: .venv of the project, made when it is missing.
    #[arg(long, value_name = "DIR")]
    pub venv: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct PluginTestArgs {
    /// The component, or the name of one of the program's own.
    #[arg(value_name = "FILE.wasm|NAME")]
    pub file: Utf8PathBuf,
    /// A configuration that the grader must take, or a seed that the app must open on (may be repeated). Default: {}, or
    /// two people and no records.
    #[arg(long, value_name = "JSON")]
    pub config: Vec<String>,
    /// Calls that an app must answer as written, in the place of the standard suite: lines of JSON, each a seed,
    /// {"seed": {"people": [...], "records": {...}}}, or a life that begins on the seed before it, {"calls": [{"call": "login",
    /// "arguments": {...}, "at": "2026-03-02T09:00:00", "answer": {...}}, ...]}. A refusal has "status": 422, "message": "..." in
    /// the place of "answer", "*" for a text stands for any, and a login with `"keep_token": true` gives the calls after it its
    /// token.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub calls: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct PluginCallArgs {
    /// The app's component, or the name of one of the program's own.
    #[arg(value_name = "FILE.wasm|NAME")]
    pub file: Utf8PathBuf,
    /// What it opens on: {"people": [...], "records": {...}}. Default: nobody and nothing.
    #[arg(long, value_name = "FILE.json")]
    pub seed: Option<Utf8PathBuf>,
    /// The session clock until a call says another.
    #[arg(long, value_name = "TIME", default_value = "2026-03-02T09:00:00")]
    pub at: jiff::civil::DateTime,
}

#[derive(Debug, Args)]
pub struct PluginInspectArgs {
    /// The component, or the name of one of the program's own.
    #[arg(value_name = "FILE.wasm|NAME")]
    pub file: Utf8PathBuf,
    /// A configuration whose checks a grader shows.
    #[arg(long, value_name = "JSON")]
    pub config: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::vocabulary::{Ablation, Protocol, Scaffold, ScaffoldPrompt};

    #[test]
    fn the_words_of_options_are_those_of_files() {
        fn check<T: serde::de::DeserializeOwned>(words: &[&str]) {
            for word in words {
                let read = serde_json::from_value::<T>((*word).into());
                assert!(read.is_ok(), "{word}");
            }
        }
        check::<Protocol>(&PROTOCOLS);
        check::<Scaffold>(&SCAFFOLDS);
        check::<ScaffoldPrompt>(&SCAFFOLD_PROMPTS);
        check::<Ablation>(&ABLATIONS[..1]);
        assert_eq!(ABLATIONS[1], "none");
    }
}
