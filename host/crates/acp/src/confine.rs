//! What keeps an agent from the rest of the machine: namespaces of its own for files, processes and messages between them,
//! made by bubblewrap. It sees the workspace, the system's programs, its own installation (read-only) and an empty home.
//! The network is the machine's: an agent has to reach its model.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::bridge::seen;
use super::installation::{Installation, SYSTEM, program};
use super::process::Process;
use pibench_core::secrets::Secrets;

/// The program that makes the namespaces.
pub const BWRAP: &str = "bwrap";

/// Where a confined agent finds the workspace.
pub const WORKSPACE: &str = "/workspace";

/// Where it finds its home, which is empty.
const HOME: &str = "/agent";

/// Bytes of a home that ends with its process, and of its other places for what is to be forgotten: all of it is memory of the machine.
const FORGOTTEN: u64 = 512 << 20;

/// Bytes of what its processes share.
const SHARED: u64 = 64 << 20;

/// What one file may have, in the blocks of 512 bytes by which a shell counts: as much as a home.
const FILE_BLOCKS: u64 = FORGOTTEN / 512;

/// Becomes the agent, after it has bound its files for good, and how many a process has open where that is not bound lower.
const BOUNDED: &str = "ulimit -n 4096 2>/dev/null; ulimit -f \"$0\" && exec \"$@\"";

/// Configuration of the system without which programs find neither hosts nor certificates nor themselves.
const CONFIGURATION: [&str; 17] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
];

/// Private keys beside the certificates. Where root starts it, the agent's user is their owner.
const KEYS: [&str; 5] = [
    "/etc/pki/CA/private",
    "/etc/pki/consumer",
    "/etc/pki/entitlement",
    "/etc/pki/tls/private",
    "/etc/ssl/private",
];

/// Parts of /proc by which root could change the machine, whatever its capabilities.
const OF_THE_KERNEL: [&str; 9] = [
    "/proc/acpi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/pressure",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// An agent that is ready to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    pub installation: Installation,
    /// All that it is given of an environment.
    pub environment: BTreeMap<String, String>,
    /// What of that stands in nothing that is kept of its errors.
    pub secrets: Secrets,
    /// The workspace, as this program sees it.
    pub workspace: PathBuf,
    /// The folder of the workspace in which it works.
    pub directory: String,
    /// A home that outlives its process, where it is confined; None for one that does not.
    pub home: Option<PathBuf>,
    /// What hands on its messages, for an agent that takes MCP servers by standard input and output only.
    pub bridge: PathBuf,
    /// How it is confined; None where the operator wants it otherwise.
    pub confined: Option<Confinement>,
}

/// That agents can be confined here, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Bubblewrap's program.
    program: PathBuf,
    /// A user of its own, who is nobody else's: not to be had everywhere for root.
    own_user: bool,
}

/// Why an agent cannot be confined here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("confine the agent by bubblewrap: {0}")]
pub struct NotConfined(pub String);

/// Whether bubblewrap is in a folder of `path` (as in the variable `PATH`) and makes its namespaces here: tries it with a
/// program that does nothing.
pub fn probe(path: &OsStr) -> Result<Confinement, NotConfined> {
    let program = program(BWRAP, path, Path::new("/")).map_err(|error| {
        let remedy = if cfg!(target_os = "linux") {
            "install Debian's package bubblewrap"
        } else {
            "it is a program of Linux: confine agents there, or in a virtual machine with it"
        };
        NotConfined(format!("{error}; {remedy}"))
    })?;
    let mut refusal = String::new();
    for own_user in [true, false] {
        let confinement = Confinement {
            program: program.clone(),
            own_user,
        };
        let mut command = bubblewrap(&confinement);
        command.args(["--", "/bin/true"]);
        let tried = command.stdin(Stdio::null()).env_clear().output();
        match tried {
            Ok(output) if output.status.success() => return Ok(confinement),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.trim().lines().next_back().unwrap_or_default();
                refusal = format!("it says `{}`", said.chars().take(200).collect::<String>());
            }
            Err(error) => {
                refusal = format!("start {}: {error}", program.display());
            }
        }
        // Without a user of its own only root may make namespaces.
        if !rustix::process::geteuid().is_root() {
            break;
        }
    }
    Err(NotConfined(refusal))
}

/// A command line of the operator's, confined to one folder, which it finds as the workspace. It reads and writes the terminal
/// where it is started in one, and does not hold it.
pub fn confine_command(
    confinement: &Confinement,
    installation: &Installation,
    environment: &BTreeMap<String, String>,
    workspace: &Path,
) -> Command {
    let mut command = bubblewrap(confinement);
    show(&mut command, installation, workspace, WORKSPACE, None);
    command.arg("--").arg(&installation.program);
    command.args(&installation.arguments);
    give(&mut command, environment, true);
    command
}

impl Launch {
    /// The workspace's folder as the agent sees it.
    pub fn inside(&self) -> String {
        let root = self.root();
        if self.directory.is_empty() {
            root
        } else {
            format!("{root}/{}", self.directory)
        }
    }

    /// The workspace as the agent sees it.
    pub fn root(&self) -> String {
        match self.confined {
            Some(_) => WORKSPACE.to_owned(),
            None => self.workspace.to_string_lossy().into_owned(),
        }
    }

    /// Starts it. Of this program's own environment and descriptors it gets none.
    pub fn start(&self) -> std::io::Result<Process> {
        let Self {
            installation,
            environment,
            secrets: _,
            workspace,
            directory: _,
            home,
            bridge,
            confined,
        } = self;
        let mut command = if let Some(confinement) = confined {
            let mut command = bubblewrap(confinement);
            if !SYSTEM.iter().any(|folder| bridge.starts_with(folder)) {
                bind(&mut command, "--ro-bind", bridge);
            }
            let inside = self.inside();
            show(
                &mut command,
                installation,
                workspace,
                &inside,
                home.as_deref(),
            );
            command.args(["--", "/bin/sh", "-c", BOUNDED]);
            command.arg(FILE_BLOCKS.to_string());
            command.arg(&installation.program);
            command
        } else {
            let mut command = host_command(installation.program.as_os_str());
            command.current_dir(self.inside());
            command
        };
        command.args(&installation.arguments);
        give(&mut command, environment, confined.is_some());
        Process::start(command)
    }
}

/// The one place where a command of an agent's begins.
fn host_command(program: &OsStr) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator's own agent, and what confines it"
    )]
    Command::new(program)
}

/// The namespaces with the system's programs in them.
fn bubblewrap(confinement: &Confinement) -> Command {
    let mut command = host_command(confinement.program.as_os_str());
    command.args([
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--hostname",
        "agent",
    ]);
    if confinement.own_user {
        command.args(["--unshare-user", "--uid", "1000", "--gid", "1000"]);
    }
    // Whoever shares the terminal of a shell can type into it. Ctrl-C reaches bubblewrap alone, and all of it ends with that.
    command.args(["--new-session", "--die-with-parent", "--cap-drop", "ALL"]);
    for folder in SYSTEM {
        // Of a merged system all but the first are links.
        match std::fs::read_link(folder) {
            Ok(target) => command.arg("--symlink").arg(target).arg(folder),
            Err(_) => bind(&mut command, "--ro-bind-try", Path::new(folder)),
        };
    }
    for path in CONFIGURATION {
        bind(&mut command, "--ro-bind-try", Path::new(path));
    }
    let is_folder = |path: &&str| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    for path in KEYS.into_iter().filter(is_folder) {
        command.args(["--tmpfs", path, "--remount-ro", path]);
    }
    command.args(["--proc", "/proc"]);
    for path in OF_THE_KERNEL {
        bind(&mut command, "--ro-bind-try", Path::new(path));
    }
    command.args(["--dev", "/dev"]);
    for (place, bytes) in [("/tmp", FORGOTTEN), ("/dev/shm", SHARED)] {
        in_memory(&mut command, place, bytes);
    }
    command
}

/// Shows the workspace, the home, and the installation read-only. Nothing else can be written.
fn show(
    command: &mut Command,
    installation: &Installation,
    workspace: &Path,
    inside: &str,
    home: Option<&Path>,
) {
    for path in &installation.read {
        bind(command, "--ro-bind", path);
    }
    // It carries a suite with all that is hidden in it.
    for program in seen(&SYSTEM, &installation.read) {
        command.args(["--ro-bind", "/dev/null"]).arg(program);
    }
    command.arg("--bind").arg(workspace).arg(WORKSPACE);
    match home {
        Some(home) => drop(command.arg("--bind").arg(home).arg(HOME)),
        None => in_memory(command, HOME, FORGOTTEN),
    }
    // The folders that all this was mounted in are memory too, without a bound.
    command.args(["--remount-ro", "/dev", "--remount-ro", "/"]);
    command.args(["--chdir", inside]);
}

/// An empty folder that holds this much.
fn in_memory(command: &mut Command, place: &str, bytes: u64) {
    command.args(["--size", &bytes.to_string(), "--tmpfs", place]);
}

/// Shows a path under its own name.
fn bind<'a>(command: &'a mut Command, how: &str, path: &Path) -> &'a mut Command {
    command.arg(how).arg(path).arg(path)
}

/// Not as arguments: everybody on the machine can read those.
fn give(command: &mut Command, environment: &BTreeMap<String, String>, confined: bool) {
    command.env_clear().envs(environment);
    if confined {
        let own = [
            ("HOME", HOME),
            ("USER", "agent"),
            ("LOGNAME", "agent"),
            ("PWD", WORKSPACE),
        ];
        command.envs(own.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_is_given_stands_in_no_argument() {
        let environment = BTreeMap::from([("KEY".to_owned(), "secret-of-a-test".to_owned())]);
        let installation = Installation {
            program: "/bin/true".into(),
            arguments: vec!["x".into()],
            read: vec!["/opt/agent".into()],
        };
        let confinement = Confinement {
            program: "/usr/bin/bwrap".into(),
            own_user: true,
        };
        let command = confine_command(&confinement, &installation, &environment, Path::new("/w"));
        let all: Vec<&OsStr> = command.get_args().collect();
        assert!(
            all.windows(3)
                .any(|words| words == ["--bind", "/w", WORKSPACE])
        );
        assert!(
            all.windows(3)
                .any(|words| words == ["--ro-bind", "/opt/agent", "/opt/agent"])
        );
        assert!(all.ends_with(&[OsStr::new("--"), OsStr::new("/bin/true"), OsStr::new("x")]));
        assert!(all.contains(&OsStr::new("--new-session")));
        assert!(!format!("{all:?}").contains("secret-of-a-test"));
        assert!(
            command
                .get_envs()
                .any(|(name, value)| name == "KEY" && value.is_some())
        );
    }
}
