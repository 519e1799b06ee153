//! A child process and its three pipes. What it writes is read as fast as somebody waits for it, a line at a time, within
//! bounds; what it is told waits in a queue until it reads. Nothing here waits for one pipe alone, so no child can hold its
//! host up. It ends with its whole namespace, or at least with its process group.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep};

use super::held;
use pibench_core::secrets::Secrets;

/// Bytes of one line: a file of a few megabytes may stand in it.
const LINE: usize = 16 << 20;

/// Bytes of all lines between two looks of the host (see [`Process::begin`]).
const LINES: usize = 64 << 20;

/// Bytes that may wait for a child that does not read.
const QUEUE: usize = 64 << 20;

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;

/// Bytes that are kept of what it wrote to standard error last: the longest value that a variable can have, and far more than is
/// told of it.
const LAST_WORDS: usize = (128 + 16) << 10;

/// How long it may take to end by itself when nobody speaks to it any more.
const FAREWELL: Duration = Duration::from_millis(500);

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A command to start, and who waits for its child.
type Start = (Command, mpsc::Sender<std::io::Result<Child>>);

/// Starts a command on a thread that lives as long as this program: a confined child is killed when the thread ends that started
/// it (`--die-with-parent`), and those of a runtime come and go.
fn spawn(command: Command) -> std::io::Result<Child> {
    static STARTS: OnceLock<mpsc::Sender<Start>> = OnceLock::new();
    let starts = STARTS.get_or_init(|| {
        let (starts, asked) = mpsc::channel::<Start>();
        std::thread::spawn(move || {
            for (mut command, waits) in asked {
                // Who waited may have gone; then the child's pipes are closed, and it ends.
                let _ = waits.send(command.spawn());
            }
        });
        starts
    });
    let (waits, child) = mpsc::channel();
    let gone = |_| std::io::Error::other("the thread that starts processes has ended");
    starts
        .send((command, waits))
        .map_err(|_| gone(mpsc::RecvError))?;
    child.recv().map_err(gone)?
}

/// A running child.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: Option<pipe::Receiver>,
    /// What was read of a line that is not whole yet, and the whole ones before it.
    read: Vec<u8>,
    /// How much of `read` was looked through for a line's end.
    searched: usize,
    /// Bytes since the last look.
    bytes: usize,
    queue: Vec<u8>,
    last_words: Vec<u8>,
}

/// What a child did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A line, without its end.
    Line(Vec<u8>),
    /// It closed its standard output, as it does when it ends.
    Closed,
}

/// Why a child is not listened to any more.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("it wrote a line of more than {LINE} bytes")]
    Line,
    #[error("it wrote more than {LINES} bytes in one turn")]
    Lines,
    #[error("it does not read: {QUEUE} bytes wait for it")]
    Deaf,
    #[error("speak with it: {0}")]
    Io(#[from] std::io::Error),
}

impl Process {
    /// Starts it, in a process group of its own, with these pipes and no other descriptor.
    pub(super) fn start(mut command: Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = spawn(command)?;
        let pipes = pipes(&mut child);
        let (stdin, stdout, stderr) = match pipes {
            Ok(pipes) => pipes,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout,
            stderr: Some(stderr),
            read: Vec::new(),
            searched: 0,
            bytes: 0,
            queue: Vec::new(),
            last_words: Vec::new(),
        })
    }

    /// Why its processes hold more of deleted files than so many bytes; None where they do not.
    pub fn hoarded(&self, bytes: u64) -> Option<String> {
        held::hoarded(self.child.id(), bytes)
    }

    /// Bytes of memory that it and all that it started have for themselves.
    pub fn memory(&self) -> u64 {
        held::memory(self.child.id())
    }

    /// Begins to count anew what it writes: a turn begins.
    pub fn begin(&mut self) {
        self.bytes = self.read.len();
    }

    /// Tells it a line, as soon as it reads.
    pub fn tell(&mut self, line: &[u8]) -> Result<(), Broken> {
        if self.queue.len() + line.len() > QUEUE {
            return Err(Broken::Deaf);
        }
        self.queue.extend_from_slice(line);
        Ok(())
    }

    /// What it does next. It may be dropped at any moment: nothing is lost by that.
    pub async fn next(&mut self) -> Result<Event, Broken> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Event::Line(line));
            }
            let writes = !self.queue.is_empty();
            tokio::select! {
                biased;
                ready = self.stdout.readable() => {
                    ready?;
                    if self.read_some()? == Some(0) {
                        return Ok(Event::Closed);
                    }
                }
                ready = readable(self.stderr.as_ref()) => {
                    ready?;
                    self.hear_last_words();
                }
                ready = writable(self.stdin.as_ref()), if writes => {
                    ready?;
                    self.write_some();
                }
            }
        }
    }

    /// The first whole line that was read.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        let end = self.read[self.searched..]
            .iter()
            .position(|&byte| byte == b'\n');
        let Some(end) = end.map(|end| end + self.searched) else {
            self.searched = self.read.len();
            if self.read.len() > LINE {
                return Err(Broken::Line);
            }
            return Ok(None);
        };
        if end > LINE {
            return Err(Broken::Line);
        }
        let rest = self.read.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.read, rest);
        self.searched = 0;
        line.truncate(end);
        Ok(Some(line))
    }

    /// How many bytes there were; None where there are none now.
    fn read_some(&mut self) -> Result<Option<usize>, Broken> {
        let mut chunk = [0; CHUNK];
        match self.stdout.try_read(&mut chunk) {
            Ok(count) => {
                self.bytes += count;
                if self.bytes > LINES {
                    return Err(Broken::Lines);
                }
                self.read.extend_from_slice(&chunk[..count]);
                Ok(Some(count))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn hear_last_words(&mut self) {
        let mut chunk = [0; CHUNK];
        let Some(stderr) = &self.stderr else { return };
        match stderr.try_read(&mut chunk) {
            Ok(0) => self.stderr = None,
            Ok(count) => {
                self.last_words.extend_from_slice(&chunk[..count]);
                let over = self.last_words.len().saturating_sub(LAST_WORDS);
                self.last_words.drain(..over);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.stderr = None,
        }
    }

    /// A child that has closed its standard input is not told more: its end is heard elsewhere.
    fn write_some(&mut self) {
        let Some(stdin) = &self.stdin else { return };
        match stdin.try_write(&self.queue) {
            Ok(count) => drop(self.queue.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                self.stdin = None;
                self.queue.clear();
            }
        }
    }

    /// What it wrote to standard error last, in one line of bounded length, without its secrets.
    pub fn last_words(&mut self, secrets: &Secrets) -> String {
        // All that waits in the pipe: what is told ends where its last write did.
        for _ in 0..=LAST_WORDS / CHUNK {
            self.hear_last_words();
        }
        // Before it is shortened: a part of a secret would not be known. What is kept may itself begin within one, and end in one
        // while more is written.
        let mut kept: &[u8] = &self.last_words;
        if kept.len() >= LAST_WORDS {
            kept = secrets.without_torn_start(kept);
        }
        if self.stderr.is_some() {
            kept = secrets.without_torn_end(kept);
        }
        let text = secrets.cut(String::from_utf8_lossy(kept).into_owned());
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let from = lines.len().saturating_sub(6);
        let text = lines[from..].join(" | ");
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let over = text.chars().count().saturating_sub(600);
        text.chars().skip(over).collect()
    }

    /// Lets it end: nobody speaks to it any more, and after a moment it is killed with all that it started. How it ended, where
    /// it did so by itself.
    pub async fn end(mut self) -> Option<ExitStatus> {
        self.stdin = None;
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(status) => return status,
                Err(_) => return None,
            }
            self.drain(until);
            self.hear_last_words();
            sleep(LOOK).await;
        }
        None
    }

    /// What it still writes must not keep it from its end.
    fn drain(&mut self, until: Instant) {
        let mut chunk = [0; CHUNK];
        while matches!(self.stdout.try_read(&mut chunk), Ok(1..)) && Instant::now() < until {}
    }

    /// How it ended, when it has: it is given a moment.
    pub async fn status(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + FAREWELL;
        loop {
            self.hear_last_words();
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => sleep(LOOK).await,
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    /// Kills it, and its group: of a namespace that is all there is in it.
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Pipes = (pipe::Sender, pipe::Receiver, pipe::Receiver);

fn pipes(child: &mut Child) -> std::io::Result<Pipes> {
    let missing = || std::io::Error::other("a pipe is missing");
    let stdin: OwnedFd = child.stdin.take().ok_or_else(missing)?.into();
    let stdout: OwnedFd = child.stdout.take().ok_or_else(missing)?.into();
    let stderr: OwnedFd = child.stderr.take().ok_or_else(missing)?.into();
    Ok((
        pipe::Sender::from_owned_fd(stdin)?,
        pipe::Receiver::from_owned_fd(stdout)?,
        pipe::Receiver::from_owned_fd(stderr)?,
    ))
}

async fn readable(pipe: Option<&pipe::Receiver>) -> std::io::Result<()> {
    match pipe {
        Some(pipe) => pipe.readable().await,
        None => std::future::pending().await,
    }
}

async fn writable(pipe: Option<&pipe::Sender>) -> std::io::Result<()> {
    match pipe {
        Some(pipe) => pipe.writable().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test starts a shell")]
    fn shell(line: &str) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        Process::start(command).unwrap()
    }

    #[tokio::test]
    async fn a_child_is_told_lines_and_heard_by_the_line() {
        let mut process = shell("read a; echo \"got $a\"; printf 'b\\nc'; echo oh no >&2; exit 3");
        process.tell(b"hello\n").unwrap();
        assert_eq!(
            process.next().await.unwrap(),
            Event::Line(b"got hello".to_vec())
        );
        assert_eq!(process.next().await.unwrap(), Event::Line(b"b".to_vec()));
        assert_eq!(process.next().await.unwrap(), Event::Closed);
        assert_eq!(process.status().await.unwrap().code(), Some(3));
        assert_eq!(process.last_words(&Secrets::default()), "oh no");
    }

    #[tokio::test]
    async fn last_words_are_shortened_after_their_secrets_were_cut_out() {
        let secrets = Secrets::new([("KEY", "secret-of-a-test")]);
        // What is told of it begins within the secret.
        let mut process = shell("printf 'secret-of-a-test%0590d' 0 >&2; exit 1");
        assert_eq!(process.next().await.unwrap(), Event::Closed);
        process.status().await.unwrap();
        let told = process.last_words(&secrets);
        assert!(told.starts_with("[KEY]000"), "{told}");
        let told = process.last_words(&Secrets::default());
        assert!(told.starts_with("-of-a-test0"), "{told}");
    }

    /// As a key in JSON, which is so much longer than its name that what is left of the first one would be told.
    #[tokio::test]
    async fn last_words_that_begin_within_a_long_secret_are_told_without_its_end() {
        let secret = format!("<{}>", "secret".repeat(500));
        let secrets = Secrets::new([("KEY", secret.as_str())]);
        let line =
            format!("for i in $(seq 60); do printf '{secret}' >&2; done; printf ' oh no' >&2");
        let mut process = shell(&line);
        assert_eq!(process.next().await.unwrap(), Event::Closed);
        process.status().await.unwrap();
        let told = process.last_words(&secrets);
        assert!(told.ends_with("[KEY][KEY] oh no"), "{told}");
        assert!(!told.contains("secret"), "{told}");
        let told = process.last_words(&Secrets::default());
        assert!(told.contains("secret"), "{told}");
    }

    /// As bubblewrap has it, the child is killed when the thread ends that started it.
    #[tokio::test]
    async fn a_child_lives_on_when_the_thread_ends_that_asked_for_it() {
        let runtime = tokio::runtime::Handle::current();
        let asks = std::thread::spawn(move || {
            let _here = runtime.enter();
            shell("exec setpriv --pdeathsig KILL sh -c 'read a; echo \"got $a\"'")
        });
        let mut process = asks.join().unwrap();
        sleep(Duration::from_millis(300)).await;
        process.tell(b"hello\n").unwrap();
        let heard = process.next().await.unwrap();
        assert_eq!(heard, Event::Line(b"got hello".to_vec()));
    }

    #[tokio::test]
    async fn a_line_without_end_and_lines_without_end_are_cut_off() {
        let mut process = shell("exec head -c 100000000 /dev/zero");
        assert!(matches!(process.next().await, Err(Broken::Line)));
        let mut process = shell("yes x");
        let broken = loop {
            match process.next().await {
                Ok(_) => {}
                Err(broken) => break broken,
            }
        };
        assert!(matches!(broken, Broken::Lines), "{broken}");
    }

    #[tokio::test]
    async fn a_child_that_does_not_read_fills_a_bounded_queue_and_one_that_floods_stderr_is_heard()
    {
        let mut process = shell("head -c 1000000 /dev/zero >&2; echo done; sleep 60");
        for _ in 0..4 {
            process.tell(&vec![b'x'; QUEUE / 4]).unwrap();
        }
        assert!(matches!(process.tell(b"x"), Err(Broken::Deaf)));
        assert_eq!(process.next().await.unwrap(), Event::Line(b"done".to_vec()));
        assert!(process.last_words.len() <= LAST_WORDS);
    }

    #[tokio::test]
    async fn what_a_child_started_ends_with_it() {
        let mut process = shell("sleep 1000 & echo $!; wait");
        let Event::Line(pid) = process.next().await.unwrap() else {
            panic!("no line")
        };
        let pid = String::from_utf8(pid).unwrap();
        drop(process);
        let gone = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        for _ in 0..200 {
            if !gone() {
                return;
            }
            sleep(LOOK).await;
        }
        panic!("process {pid} lives on");
    }
}
