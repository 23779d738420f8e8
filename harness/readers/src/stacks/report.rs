//! What an unwinder has answered about exported moments.

use serde::Serialize;
use sframe_judge::external::{External, ExternalError, Walk, WalkDifference};
use sframe_judge::moments::{Program, Stacks, StacksError};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::{Text, counted, grouped};

/// The most differences shown to people; the document has all of them.
const SHOWN: usize = 40;

/// The answers of an unwinder.
#[derive(Clone, Debug, Serialize)]
pub struct StacksReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The unwinder.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The moments of the document.
    pub moments: u64,
    /// Those at which it was asked.
    pub asked: u64,
    /// Those at which something was compared, without a difference.
    pub agree: u64,
    /// Those at which nothing could be compared.
    pub nothing_compared: u64,
    /// How often it had to be restarted.
    pub restarts: u32,
    /// What differs.
    pub differences: Vec<Difference>,
    /// Programs that it does not support, and why.
    pub skipped: Vec<Skipped>,
    /// Whether it was interrupted, before all was asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// A difference from the call stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The program.
    pub program: String,
    /// The moment's position in it, from 0.
    pub moment: usize,
    /// The kind.
    pub verdict: Verdict,
    /// The frame, 0 for the topmost.
    pub frame: usize,
    /// In a sentence.
    pub message: String,
}

/// A program about which nothing was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The program.
    pub program: String,
    /// What the unwinder said.
    pub reason: String,
}

impl StacksReport {
    fn new(name: &str, version: &str, stacks: &Stacks) -> Self {
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            version: version.to_owned(),
            moments: stacks.moments(),
            asked: 0,
            agree: 0,
            nothing_compared: 0,
            restarts: 0,
            differences: Vec::new(),
            skipped: Vec::new(),
            interrupted: false,
        }
    }

    fn add(&mut self, program: &Program, index: usize, walk: Walk) {
        self.asked += 1;
        if walk.differences.is_empty() {
            let depth = program.moments.get(index).map_or(0, |moment| moment.frames.len());
            if walk.end.has_compared(depth) {
                self.agree += 1;
            } else {
                self.nothing_compared += 1;
            }
        }
        self.differences.extend(walk.differences.into_iter().map(
            |WalkDifference { verdict, frame, message }| Difference {
                program: program.name.clone(),
                moment: index,
                verdict,
                frame,
                message,
            },
        ));
    }

    /// Whether anything was compared.
    #[must_use]
    pub const fn has_compared(&self) -> bool {
        self.asked > self.nothing_compared
    }

    /// How many moments were compared, and what came of it.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let ending = match self.differences.len() {
            _ if self.interrupted => Ending::Interrupted,
            0 if self.has_compared() => Ending::Pass,
            0 => Ending::Inconclusive,
            _ => Ending::Fail,
        };
        let asked = format!(
            "{} {} was asked at {} of {}",
            self.name,
            self.version,
            grouped(self.asked),
            counted(self.moments, "moment")
        );
        let results = format!(
            "{} agree, {}",
            grouped(self.agree),
            counted(self.differences.len() as u64, "difference")
        );
        let nothing = (self.nothing_compared > 0)
            .then(|| format!("{} with nothing to compare", counted(self.nothing_compared, "moment")));
        let restarts = (self.restarts > 0).then(|| counted(self.restarts.into(), "restart"));
        let facts = [results, asked].into_iter().chain(nothing).chain(restarts).collect();
        Conclusion { ending, facts }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for Difference { program, moment, verdict, message, .. } in self.differences.iter().take(SHOWN) {
            text.line(format_args!("{verdict:<13} {program}, moment {moment}: {message}"));
        }
        let more = self.differences.len().saturating_sub(SHOWN);
        if more > 0 {
            text.line(format_args!("and {more} more: see --json"));
        }
        for Skipped { program, reason } in self.skipped.iter().take(SHOWN) {
            text.line(format_args!("not asked: {program}: {reason}"));
        }
        let more = self.skipped.len().saturating_sub(SHOWN);
        if more > 0 {
            text.line(format_args!("not asked: {more} more"));
        }
        self.conclusion().show(&mut text);
        text
    }
}

/// Asks the engine of this project.
///
/// # Errors
/// A section can't be opened.
pub fn ask_engine(stacks: &Stacks) -> Result<StacksReport, StacksError> {
    let mut report = StacksReport::new("sframe-engine", env!("CARGO_PKG_VERSION"), stacks);
    for program in &stacks.programs {
        let sections = program.sections()?;
        for (index, moment) in program.moments.iter().enumerate() {
            let (end, found) = program.compare_engine(&sections, moment);
            let differences = found.iter().map(|found| WalkDifference::of(found, &sections)).collect();
            report.add(program, index, Walk { end, differences });
        }
    }
    Ok(report)
}

/// Asks an unwinder in a separate process.
///
/// # Errors
/// It can't be asked, or was restarted too often.
pub fn ask_external(stacks: &Stacks, external: &External) -> Result<StacksReport, ExternalError> {
    let hello = external.hello();
    let mut report = StacksReport::new(&hello.name, &hello.version, stacks);
    for program in &stacks.programs {
        // A document is checked when it is read.
        let Ok(sections) = program.sections() else { continue };
        let asked = external.walks(program, &sections, &mut |index, walk| report.add(program, index, walk));
        match asked {
            Ok(restarts) => report.restarts += restarts,
            Err(ExternalError::Unsupported(reason)) => {
                report.skipped.push(Skipped { program: program.name.clone(), reason });
            }
            Err(ExternalError::Stopped) => {
                report.interrupted = true;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}
