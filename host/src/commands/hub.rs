//! `pibench-host hub`: a host for the agents of others, and the tokens by which they come in.

use std::sync::Arc;

use anyhow::anyhow;
use serde_json::json;
use tracing::level_filters::LevelFilter;

use super::run::{check_spelling, unnamed, wanted};
use super::{load_suite, machine, runtime, talk};
use crate::cli::hub::{HubArgs, HubCommand, TokenCommand};
use crate::cli::{RunArgs, SettingArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::AgentRole;
use pibench_engine::plan::Shared;
use pibench_hub::{Hub, HubError, HubFile, Ledger, LedgerError, PreflightError, open_door, serve};
use pibench_report::escape::line;
use pibench_signature::SigningKey;
use pibench_suite::load::Assignment;

/// Seconds from a signal to the end: turns that have begun are played on until then.
const GRACE: u32 = 10;

pub(super) fn hub(args: &HubArgs) -> Result<Exit, Failure> {
    let file = HubFile::read(&args.config).or_exit(Exit::InvalidInput)?;
    match &args.command {
        None => host(file, args),
        Some(HubCommand::Token(args)) => tokens(&file, &args.command),
    }
}

fn tokens(file: &HubFile, command: &TokenCommand) -> Result<Exit, Failure> {
    if !matches!(command, TokenCommand::Add { .. }) && !file.data.exists() {
        return Err(anyhow!(
            "read the hub's books in {}: there is no such folder; the first token that is added makes it",
            file.data
        ))
        .or_exit(Exit::InvalidInput);
    }
    let ledger = Ledger::open(file.data.as_std_path())?;
    match command {
        TokenCommand::Add { name } => {
            let token = ledger.add_token(name)?;
            if !talk().quiet {
                pibench_report::tell!("The token of {name}; it is shown this once:");
            }
            println!("{token}");
        }
        TokenCommand::List { json: true } => {
            println!("{}", json!({ "tokens": ledger.tokens()? }));
        }
        TokenCommand::List { json: false } => {
            for known in ledger.tokens()? {
                let state = match &known.revoked {
                    Some(at) => format!("revoked {at}"),
                    None => "valid".into(),
                };
                println!(
                    "{}  {}  made {}  {state}  {}, {} finished",
                    line(&known.name),
                    known.id,
                    known.made,
                    count(known.runs, "run"),
                    known.finished
                );
            }
        }
        TokenCommand::Revoke { name } => ledger.revoke_token(name)?,
    }
    Ok(Exit::Complete)
}

fn host(file: HubFile, args: &HubArgs) -> Result<Exit, Failure> {
    let config = &args.config;
    let set = file.set.iter().map(|text| {
        text.parse::<Assignment>()
            .map_err(|reason| anyhow!("read {config}: `set`: {reason}"))
    });
    let run = RunArgs {
        settings: SettingArgs {
            suite: file.suite.clone(),
            agent: vec![AgentRole::EXTERNAL.into()],
            user: file.user.clone(),
            judge: file.judge.clone(),
            runs: file.runs,
            jobs: Some(file.limits.episodes),
            plugins: file.plugins.clone(),
            policy: file.policy.clone(),
            set: set.collect::<Result<_, _>>().or_exit(Exit::InvalidInput)?,
            ..SettingArgs::default()
        },
        no_preflight: true,
        log_level: Some(LevelFilter::OFF),
        grace: Some(GRACE),
        ..RunArgs::default()
    };
    let suite = load_suite(&run.settings)?;
    check_spelling(&suite)?;
    if let Some((told, _)) = unnamed(&suite) {
        return Err(anyhow!(
            "{told}: name them in {config}, as `user = \"PROVIDER/MODEL\"` and `judge = [\"PROVIDER/MODEL\"]`; `lexical` matches \
             patterns, and every score is then marked so"
        ))
        .or_exit(Exit::Usage);
    }
    let passphrase = || std::env::var("PIBENCH_KEY_PASSPHRASE").ok();
    let key = SigningKey::read(file.key.as_std_path(), passphrase).or_exit(Exit::InvalidInput)?;
    let (machine, wanted) = (machine()?, wanted(&run)?);
    let Some(playing) = wanted.playing.clone() else {
        return Err(anyhow!("host runs that are not played")).or_exit(Exit::Bug);
    };
    let runtime = runtime()?;
    // Before anything is compiled: an address may be another program's.
    let door = runtime.block_on(open_door(&file)).or_exit(Exit::Io)?;
    let shared = Shared::of(machine.clone(), suite, wanted, playing)?;
    let ended = runtime.block_on(async {
        let hub = Arc::new(Hub::open(file, machine, shared, key)?);
        if !args.no_preflight {
            for told in hub.preflight().await? {
                pibench_report::tell!("preflight: {}", line(&told));
            }
        }
        let address = door.address();
        let answer = async {
            pibench_report::tell!(
                "The hub answers at http://{address}/v1; a proxy in front of it has to bring TLS."
            );
            println!("{}", json!({ "url": format!("http://{address}/v1") }));
            serve(Arc::clone(&hub), door).await;
            Ok(())
        };
        tokio::select! {
            // It hears signals before anybody is told that there is a hub.
            biased;
            ended = hub.attend() => ended.map_err(Failure::from),
            ended = answer => ended,
        }
    });
    runtime.shutdown_background();
    ended.map(|()| Exit::Complete)
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let exit = match error {
            LedgerError::Asked(_) => Exit::Usage,
            _ => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Ledger(error) | HubError::Preflight(PreflightError::Ledger(error)) => {
                error.into()
            }
            HubError::Plan(error) | HubError::Preflight(PreflightError::Plan(error)) => {
                error.into()
            }
            HubError::Preflight(error @ PreflightError::Setup(_)) => Self {
                exit: Exit::Setup,
                error: error.into(),
            },
            HubError::Preflight(error @ PreflightError::Infrastructure(_)) => Self {
                exit: Exit::Infrastructure,
                error: error.into(),
            },
            error @ HubError::Broken(_) => Self {
                exit: Exit::Bug,
                error: error.into(),
            },
            error @ HubError::Unpriced { .. } => Self {
                exit: Exit::InvalidInput,
                error: error.into(),
            },
            error => Self {
                exit: Exit::Io,
                error: error.into(),
            },
        }
    }
}
