//! Where a report comes from: which bench made it, when, how, and of what.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_inspect::{COMMIT, VERSION, version};
use sframe_kit::text::Text;

/// The program that users call.
const PROGRAM: &str = "sframe-testbench";

/// Where a report comes from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Provenance {
    /// The version of the bench.
    pub version: String,
    /// The commit that the bench was built of, in hexadecimal; `None` if it is a development build.
    pub commit: Option<String>,
    /// The command, as for a shell.
    pub command: String,
    /// When it was started, as `2026-01-31T12:00:00Z`: the time of `SOURCE_DATE_EPOCH`, if that is set.
    pub started: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The system that it ran on, and the number of processors: `linux 6.1.0 x86_64, 2 processors`.
    pub host: String,
    /// SHA-256 of what it was about, by name, in hexadecimal: `corpus` and `specs`, or the files.
    pub digests: BTreeMap<String, String>,
    /// Of a report that is made of others: where those come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

/// A command that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    at: DateTime<Utc>,
    clock: Instant,
}

impl Began {
    /// A command that begins now.
    #[must_use]
    pub fn now() -> Self {
        Self { at: started(), clock: Instant::now() }
    }

    /// How long it has taken.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Where a report comes from that is made now, of something with these digests.
    #[must_use]
    pub fn ended(&self, digests: impl IntoIterator<Item = (String, String)>) -> Provenance {
        Provenance {
            version: VERSION.to_owned(),
            commit: COMMIT.map(str::to_owned),
            command: command(),
            started: self.at.to_rfc3339_opts(SecondsFormat::Secs, true),
            seconds: (self.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            host: host(),
            digests: digests.into_iter().collect(),
            parts: Vec::new(),
        }
    }
}

impl Provenance {
    /// What it says, in a line each.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        text.line(format_args!("made by {PROGRAM} {}, {}, in {}", self.maker(), self.started, self.took()));
        text.line(format_args!("on {}", self.host));
        text.line(format_args!("command: {}", self.command));
        for (name, digest) in &self.digests {
            text.line(format_args!("SHA-256 of {name}: {digest}"));
        }
        for part in &self.parts {
            text.line(format_args!("of: {}", part.line()));
        }
        text
    }

    /// Where a part of a merged report comes from, in a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}, {}, in {}, on {}", self.command, self.started, self.took(), self.host)
    }

    /// How long it took, in words. Nothing takes no time.
    fn took(&self) -> String {
        let digits = if self.seconds < 0.1 { 3 } else { 1 };
        format!("{:.digits$} seconds", self.seconds.max(0.001))
    }

    /// The version and commit.
    #[must_use]
    pub fn maker(&self) -> String {
        if self.version == VERSION && self.commit.as_deref() == COMMIT {
            return version().to_owned();
        }
        let commit = self.commit.as_deref().map_or_else(String::new, |commit| format!(" ({commit})"));
        format!("{}{commit}", self.version)
    }

    /// When it ended, as it says when it started.
    #[must_use]
    pub fn ended(&self) -> Option<String> {
        let started = DateTime::parse_from_rfc3339(&self.started).ok()?;
        let took = Duration::try_from_secs_f64(self.seconds).ok()?;
        let ended = started.with_timezone(&Utc).checked_add_signed(chrono::Duration::from_std(took).ok()?)?;
        Some(ended.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

/// The time now, or that of `SOURCE_DATE_EPOCH`.
pub(crate) fn started() -> DateTime<Utc> {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().as_ref().map(Duration::as_secs);
    let seconds = set.or_else(now).and_then(|seconds: u64| i64::try_from(seconds).ok());
    seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)).unwrap_or_default()
}

/// The option by which the bench's child processes know that they are children. Users don't give it.
pub const IN_CHILD: &str = "--in-child";

/// The words of the user's command, quoted for a shell.
fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let own = std::iter::once(PROGRAM.to_owned());
    let words: Vec<String> = own.chain(words.filter(|word| word != IN_CHILD)).collect();
    // Arguments of processes have no NUL, which is all that can't be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

/// The system, its kernel and processors; nothing that names the machine.
fn host() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.trim();
    let space = if kernel.is_empty() { "" } else { " " };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let processors = sframe_kit::text::counted(processors as u64, "processor");
    format!("{}{space}{kernel} {}, {processors}", std::env::consts::OS, std::env::consts::ARCH)
}
