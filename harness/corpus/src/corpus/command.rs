//! Runs one command with a time limit.

use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sframe_judge::examine::stop::StopRequest;
use sframe_judge::process::child;
use wait_timeout::ChildExt as _;

/// The maximum number of bytes of a command's output that are read.
const READ: u64 = 1 << 20;
/// A command that writes more than this to a standard stream is killed.
const MOST: u64 = 64 << 20;
/// How often the output size is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The result of a command.
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// What it has written to standard output.
    pub stdout: String,
    /// What it has written to standard error.
    pub stderr: String,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It has exited, or a signal has ended it.
    ByItself(ExitStatus),
    /// It was killed at the limit.
    TimedOut(Duration),
    /// It was killed because it had written too much.
    TooMuch,
    /// It was killed because somebody has asked for an end.
    Stopped,
}

impl Ended {
    /// Whether its status is 0.
    pub fn is_success(self) -> bool {
        matches!(self, Self::ByItself(status) if status.success())
    }

    /// Whether it was ended by a signal, or had to be. Of what has crashed in a wrapper, shells and containers make
    /// status 128 and the signal's number.
    pub fn is_crash(self) -> bool {
        // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL and SIGSEGV, as Linux has them.
        const SIGNALS: [i32; 7] = [4, 5, 6, 7, 8, 9, 11];
        match self {
            Self::ByItself(status) => {
                let of_wrapper = status.code().and_then(|code| code.checked_sub(128));
                status.signal().is_some() || of_wrapper.is_some_and(|signal| SIGNALS.contains(&signal))
            }
            Self::TimedOut(_) | Self::TooMuch | Self::Stopped => true,
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByItself(status) => write!(f, "{status}"),
            Self::TimedOut(limit) => write!(f, "did not end within {} s", limit.as_secs_f64()),
            Self::TooMuch => write!(f, "more than {} MiB written to standard output or error", MOST >> 20),
            Self::Stopped => f.write_str("interrupted"),
        }
    }
}

/// Runs a command to its end. It is killed with all its children at its limit, if it has one, or as soon as an end is asked
/// for.
pub fn run_until(
    mut command: Command,
    input: Option<&str>,
    limit: Option<Duration>,
    stop: &StopRequest,
) -> std::io::Result<Ran> {
    // Files, not pipes: nothing has to write or read while the command runs.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    match input {
        None => command.stdin(Stdio::null()),
        Some(input) => {
            let mut file = tempfile::tempfile()?;
            file.write_all(input.as_bytes()).and_then(|()| file.rewind())?;
            command.stdin(file)
        }
    };
    let ended = if stop.reason().is_some() {
        Ended::Stopped
    } else {
        // A separate group, so that its children can be killed with it.
        let mut child = command.process_group(0).spawn()?;
        let written =
            || -> std::io::Result<u64> { Ok(stdout.metadata()?.len().max(stderr.metadata()?.len())) };
        let ended = wait(&mut child, limit, stop, &written);
        child::end(&mut child);
        ended?
    };
    let read = |file: &mut std::fs::File| -> std::io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Ran { ended, stdout: read(&mut stdout)?, stderr: read(&mut stderr)? })
}

fn wait(
    child: &mut Child,
    limit: Option<Duration>,
    stop: &StopRequest,
    written: &dyn Fn() -> std::io::Result<u64>,
) -> std::io::Result<Ended> {
    let start = Instant::now();
    loop {
        let left = limit.map_or(LOOK, |limit| limit.saturating_sub(start.elapsed()).min(LOOK));
        if let Some(status) = child.wait_timeout(left)? {
            return Ok(Ended::ByItself(status));
        }
        if stop.reason().is_some() {
            return Ok(Ended::Stopped);
        }
        if let Some(limit) = limit.filter(|limit| start.elapsed() >= *limit) {
            return Ok(Ended::TimedOut(limit));
        }
        if written()? > MOST {
            return Ok(Ended::TooMuch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: Option<&str>, limit: Option<Duration>) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_until(command, input, limit, &StopRequest::default()).unwrap()
    }

    #[test]
    fn a_command_is_given_its_input_and_what_it_writes_is_kept() {
        for limit in [None, Some(Duration::from_secs(60))] {
            let ran = shell("cat; echo no >&2; exit 3", Some("text"), limit);
            assert!(!ran.ended.is_success());
            assert_eq!(
                (ran.ended.to_string().as_str(), ran.stdout.as_str(), ran.stderr.as_str()),
                ("exit status: 3", "text", "no\n")
            );
        }
    }

    #[test]
    fn a_command_that_hangs_ends_with_its_children() {
        let start = Instant::now();
        let ran = shell("sleep 600 & echo $!; wait", None, Some(Duration::from_millis(300)));
        assert_eq!(ran.ended.to_string(), "did not end within 0.3 s");
        assert!(start.elapsed() < Duration::from_secs(60));
        let status = format!("/proc/{}/stat", ran.stdout.trim());
        for _ in 0..200 {
            // Gone, or waiting to be reaped.
            if std::fs::read_to_string(&status).map_or(true, |status| status.contains(") Z ")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the child is still there");
    }

    #[test]
    fn a_command_that_writes_without_end_is_ended() {
        let ran = shell("yes >&2", None, Some(Duration::from_secs(120)));
        assert_eq!(ran.ended, Ended::TooMuch);
        assert_eq!(ran.stderr.len() as u64, READ);
    }
}
