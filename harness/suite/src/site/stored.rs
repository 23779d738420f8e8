//! Reports that are stored, and are shown by a site.

use serde::Deserialize;
use serde::de::IgnoredAny;
use sframe_links::LinksReport;

use crate::report::{Partial, Report, StudyReport};

/// A stored report.
#[derive(Debug)]
pub enum Stored {
    /// Of `run` or `merge`.
    Run(Box<Report>),
    /// Of `links`: one linker after another.
    Links(Vec<LinksReport>),
    /// Of `vectors`.
    Reader(Reader),
    /// Of `study`.
    Study(Box<StudyReport>),
}

/// What a reader has answered to the vectors: what `vectors --json` says, as far as it is shown.
#[derive(Clone, Debug, Deserialize)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How many vectors there are.
    pub vectors: u64,
    /// How many of them it has answered rightly.
    pub agree: u64,
    /// How many it has answered rightly in part.
    pub partly: u64,
    /// What it does not read, by vector.
    pub skipped: Vec<IgnoredAny>,
    /// Wrong answers.
    pub differences: Vec<IgnoredAny>,
    /// The mistakes that it seems to make.
    pub mistakes: Vec<ReaderMistake>,
    /// How the command has ended.
    pub verdict: String,
}

/// A mistake that a reader seems to make.
#[derive(Clone, Debug, Deserialize)]
pub struct ReaderMistake {
    /// What it is.
    pub summary: String,
    /// The clause that it breaks.
    pub clause: String,
    /// What the clause says.
    pub sentence: String,
    /// How many answers show it.
    pub answers: u64,
}

/// Why a document can't be shown.
#[derive(Debug, thiserror::Error)]
pub enum NoStored {
    /// It is no JSON, or lacks what such a report has.
    #[error("not a report that can be shown: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is another report than those that are shown.
    #[error("not a report of `run`, `links`, `vectors` or `study`")]
    Other,
    /// It was interrupted.
    #[error("the command was interrupted: what it has not tried would seem to be no result")]
    Interrupted,
    /// It is of a part of a run.
    #[error(transparent)]
    Partial(#[from] Partial),
    /// The program that was studied could not be run to its end.
    #[error("the program was not run to its end: what it has not executed would seem to be no result")]
    Unfinished,
}

/// The keys that tell reports from one another.
#[derive(Deserialize)]
struct Keys {
    cases: Option<IgnoredAny>,
    run: Option<IgnoredAny>,
    linker: Option<IgnoredAny>,
    agree: Option<IgnoredAny>,
    vectors: Option<IgnoredAny>,
    elsewhere: Option<IgnoredAny>,
    verdict: Option<String>,
}

impl Stored {
    /// Reads a document.
    ///
    /// # Errors
    /// It is not such a report, or one that proves nothing.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoStored> {
        let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let keys: Vec<Keys> =
            if is_list { serde_json::from_slice(bytes)? } else { vec![serde_json::from_slice(bytes)?] };
        if keys.iter().any(|keys| keys.verdict.as_deref() == Some("INTERRUPTED")) {
            return Err(NoStored::Interrupted);
        }
        let all = |has: fn(&Keys) -> bool| !keys.is_empty() && keys.iter().all(has);
        match () {
            () if all(|keys| keys.linker.is_some()) => Ok(Self::Links(match is_list {
                true => serde_json::from_slice(bytes)?,
                false => vec![serde_json::from_slice(bytes)?],
            })),
            () if is_list => Err(NoStored::Other),
            () if all(|keys| keys.cases.is_some() && keys.run.is_some()) => {
                let report: Report = serde_json::from_slice(bytes)?;
                if report.interrupted {
                    return Err(NoStored::Interrupted);
                }
                report.is_whole()?;
                Ok(Self::Run(Box::new(report)))
            }
            () if all(|keys| keys.agree.is_some() && keys.vectors.is_some()) => {
                Ok(Self::Reader(serde_json::from_slice(bytes)?))
            }
            () if all(|keys| keys.elsewhere.is_some() && keys.verdict.as_deref() == Some("ERROR")) => {
                Err(NoStored::Unfinished)
            }
            () if all(|keys| keys.elsewhere.is_some()) => Ok(Self::Study(serde_json::from_slice(bytes)?)),
            () => Err(NoStored::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_report_is_refused() {
        for text in ["[]", "{}", "[{\"case\": 1}]", "{\"file\": \"a\", \"rows\": 1}"] {
            assert!(matches!(Stored::parse(text.as_bytes()), Err(NoStored::Other)), "{text}");
        }
        for text in ["", "text", "1", "{\"linker\": \"ld\"}", "{\"agree\": 1, \"vectors\": 2}"] {
            assert!(matches!(Stored::parse(text.as_bytes()), Err(NoStored::Malformed(_))), "{text}");
        }
        let interrupted = "{\"verdict\": \"INTERRUPTED\", \"agree\": 1, \"vectors\": 2}";
        assert!(matches!(Stored::parse(interrupted.as_bytes()), Err(NoStored::Interrupted)));
        let ended = "{\"verdict\": \"ERROR\", \"elsewhere\": 1}";
        assert!(matches!(Stored::parse(ended.as_bytes()), Err(NoStored::Unfinished)));
    }
}
