//! `--base-url`, `--temperature` and `--max-output-tokens`: how the agent's model is asked, as settings of the suite file. So
//! they are checked, shown and remembered as those are, and a run that is gone on with has them.

use anyhow::anyhow;
use camino::Utf8Path;
use serde::Serialize;
use toml::{Table, Value};

use super::talk;
use crate::cli::SettingArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::player;
use pibench_model::provider::for_agent;
use pibench_report::grid::paragraph;
use pibench_suite::catalog;
use pibench_suite::catalog::{Catalog, built_in};
use pibench_suite::load::{Assignment, is_http, read_catalog};
use pibench_suite::suite::Suite;

/// The name of the model's entry where the agent is PROVIDER/MODEL, and nothing is known of that.
const NAME: &str = "as-asked";

/// The settings, for every model among the agents of a suite in this file.
pub(super) fn assignments(
    args: &SettingArgs,
    suite: &Utf8Path,
) -> Result<Vec<Assignment>, Failure> {
    let SettingArgs {
        agent,
        base_url,
        temperature,
        max_output_tokens,
        ..
    } = args;
    if base_url.is_none() && temperature.is_none() && max_output_tokens.is_none() {
        return Ok(Vec::new());
    }
    if let Some(url) = base_url {
        check_address(url)?;
    }
    let catalog = built_in();
    let servers = if base_url.is_some() {
        // What is wrong with the suite is told when it is loaded.
        read_catalog(suite, &args.assignments())
    } else {
        Catalog::default()
    };
    let mut all = Vec::new();
    for (at, agent) in agent.iter().enumerate() {
        if !player::is_model(agent) {
            return Err(anyhow!(
                "ask `{agent}` as --base-url, --temperature or --max-output-tokens say: it is scripted, and no model"
            ))
            .or_exit(Exit::Usage);
        }
        if let Some(url) = base_url {
            all.push(server(agent, url, &servers)?);
        }
        all.extend(model(
            agent,
            at,
            *temperature,
            *max_output_tokens,
            &catalog,
        )?);
    }
    Ok(all)
}

/// What the suite file would be told of, in the words of the option. An address with a user in it is not shown.
fn check_address(url: &str) -> Result<(), Failure> {
    if is_http(url) {
        return Ok(());
    }
    let shown = match url {
        "" => " (it is empty)".into(),
        secret if secret.contains('@') => String::new(),
        shown => format!(" `{shown}`"),
    };
    Err(anyhow!(
        "use --base-url{shown}: it is no http or https address; want http://HOST:PORT/v1 or https://HOST/v1"
    ))
    .or_exit(Exit::Usage)
}

/// Says who is not asked at `--base-url`, though the agent by the same name is.
pub(super) fn say_who_stays(args: &SettingArgs, suite: &Suite) {
    if args.base_url.is_none() || talk().quiet {
        return;
    }
    let agents: Vec<&str> = catalog::panel(&suite.agent).collect();
    let known = Catalog::with(&suite.providers, &suite.models);
    let is_apart = |name: &&str| {
        let own = provider_of(name, &known);
        own.is_some_and(|own| suite.providers.contains_key(&for_agent(&own)))
    };
    for (role, named) in [("user agent", &suite.user), ("judge", &suite.judge)] {
        let same = named.iter().flat_map(|named| catalog::panel(named));
        for name in same.filter(|name| agents.contains(name) && is_apart(name)) {
            let said = format!(
                "--base-url is the agent's alone: the {role} `{name}` is asked at its provider's own address."
            );
            pibench_report::tell!("{}", paragraph(&said));
        }
    }
}

/// The name of a model's provider.
fn provider_of(name: &str, catalog: &Catalog) -> Option<String> {
    let preset = catalog.models.get(name);
    let preset = preset.map(|model| model.provider.clone());
    preset.or_else(|| Some(name.split_once('/')?.0.to_owned()))
}

/// The agent's provider at another address, for the agent alone: its habits stay, and its key where there is one.
fn server(agent: &str, url: &str, catalog: &Catalog) -> Result<Assignment, Failure> {
    let provider = provider_of(agent, catalog).ok_or_else(|| {
        anyhow!("ask `{agent}` at {url}: want PROVIDER/MODEL, or a model of the built-in list")
    });
    let provider = provider.or_exit(Exit::Usage)?;
    // A provider that is not known has no other address and no key: whoever is of it is asked there.
    let Some(known) = catalog.providers.get(&provider) else {
        return set(&["providers", &provider, "base_url"], &url.into());
    };
    let mut known = known.clone();
    url.clone_into(&mut known.base_url);
    known.base_url_env = None;
    // A server of one's own may need none, and the bound is the provider's own server's.
    known.key_env = known.key_env.filter(|name| is_set(name));
    known.max_tools = None;
    set(
        &["providers", &for_agent(&provider)],
        &table(&known)?.into(),
    )
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The agent's model with these habits beside its own.
fn model(
    agent: &str,
    at: usize,
    temperature: Option<f64>,
    most: Option<u32>,
    catalog: &Catalog,
) -> Result<Vec<Assignment>, Failure> {
    if temperature.is_none() && most.is_none() {
        return Ok(Vec::new());
    }
    let same = |(provider, model)| {
        let mut all = catalog.models.iter();
        all.find(move |(_, known)| known.provider == provider && known.model == model)
    };
    let named = catalog.models.get_key_value(agent);
    let known = named.or_else(|| agent.split_once('/').and_then(same));
    let mut all = Vec::new();
    let name = match (known, agent.split_once('/')) {
        (Some((name, known)), _) => {
            all.push(set(&["models", name], &table(known)?.into())?);
            name.clone()
        }
        (None, Some((provider, model))) => {
            let name = format!("{NAME}-{}", at + 1);
            all.push(set(&["models", &name, "provider"], &provider.into())?);
            all.push(set(&["models", &name, "model"], &model.into())?);
            name
        }
        // One of the suite's own.
        (None, None) => agent.to_owned(),
    };
    if let Some(temperature) = temperature {
        let key = ["models", &name, "thinking", "temperature"];
        all.push(set(&key, &temperature.into())?);
    }
    if let Some(most) = most {
        let key = ["models", &name, "max_output_tokens"];
        all.push(set(&key, &i64::from(most).into())?);
    }
    Ok(all)
}

fn table(entry: &impl Serialize) -> Result<Table, Failure> {
    Table::try_from(entry).or_exit(Exit::Bug)
}

/// As `--set` would have it.
fn set(path: &[&str], value: &Value) -> Result<Assignment, Failure> {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let quoted = |part: &&str| match *part {
        plain if plain.chars().all(bare) => plain.to_owned(),
        other => Value::from(other).to_string(),
    };
    let key: Vec<String> = path.iter().map(quoted).collect();
    let text = format!("{}={value}", key.join("."));
    text.parse::<Assignment>()
        .map_err(|reason| anyhow!("set {text}: {reason}"))
        .or_exit(Exit::Usage)
}
