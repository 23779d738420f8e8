//! The document of a study, and what is printed of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sframe_inspect::command::Volume;
use sframe_judge::compare::Reliabilities;
use sframe_judge::finding::{Blame, Confidence, Finding};
use sframe_judge::study::{Executed, ImageSizes, Popped, PoppedSlots, Skipped, Study, StudyOptions, WAYS};
use sframe_judge::target::{Origin, Target};
use sframe_judge::vocabulary::{Topmost, Verdict};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::percent::share;
use sframe_kit::text::{Text, counted, first_of, grouped};

use super::document::SCHEMA;
use super::no_result::NoResult;

mod page;

pub use page::{PageError, study_page};

/// The output of `study --json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StudyReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The executable as given.
    pub file: String,
    /// Its ABI.
    pub abi: String,
    /// Stacks were walked at one in this many instructions.
    pub every: u64,
    /// Instructions executed that were observed.
    pub instructions: u64,
    /// Those at which walks with SFrame were compared with the call stack, so that its rows were judged.
    #[serde(default)]
    pub comparisons: u64,
    /// Those that were not: of other processes, and of a program that took this one's place and could not be followed.
    #[serde(default)]
    pub unobserved: u64,
    /// Why the run is not valid, if it isn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// The executable first.
    pub images: Vec<ImageStudy>,
    /// What executed outside of all images.
    pub elsewhere: Executed,
}

/// An image.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ImageStudy {
    /// The library's name, or that of the executable's file.
    pub name: String,
    /// Where its section comes from.
    pub section: Origin,
    /// The compilers that it names.
    #[serde(default)]
    pub compilers: String,
    /// What executed there.
    pub executed: Executed,
    /// The sizes of its tables.
    pub sizes: ImageSizes,
    /// What its section lacks; `None` if that is not known.
    pub skipped: Option<Skipped>,
    /// Rows that were found to be wrong.
    pub wrong_rows: Vec<WrongRow>,
    /// Findings that are about no row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_row: BTreeMap<Verdict, u64>,
}

/// A row that gave a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct WrongRow {
    /// The function, or its address.
    pub function: String,
    /// Start of the row, in bytes from the start of the function.
    pub row: String,
    /// Its rules.
    pub rules: String,
    /// What is wrong.
    pub verdict: Verdict,
    /// Which component needs the fix.
    pub blame: Blame,
    /// How certain that is.
    pub confidence: Confidence,
}

impl ImageStudy {
    /// How often FP is below SP in the topmost row.
    fn popped(&self) -> Popped {
        Popped { walks: self.executed.sframe.worth().total(), below_sp: self.executed.popped_slots }
    }
}

impl StudyReport {
    /// Makes the document. `file` is the executable as given.
    #[must_use]
    pub fn new(
        file: &str,
        target: &Target<'_>,
        study: &Study,
        options: &StudyOptions,
        broken: Option<String>,
    ) -> Self {
        let executable = file.rsplit('/').next().unwrap_or(file);
        let images = target.modules.iter().zip(&study.images).map(|(module, executed)| {
            let findings = study.examination.findings.iter().filter(|finding| finding.image == module.name);
            let (mut wrong_rows, mut without_row) = (Vec::new(), BTreeMap::new());
            for finding in findings {
                match WrongRow::of(finding) {
                    // Functions of one name have rows at different addresses.
                    Some(row) => wrong_rows.push((row, finding.row_pc)),
                    None => *without_row.entry(finding.verdict).or_default() += 1,
                }
            }
            wrong_rows.sort();
            wrong_rows.dedup();
            ImageStudy {
                name: module.name.clone().unwrap_or_else(|| executable.to_owned()),
                section: Origin::of(module),
                compilers: PoppedSlots::compilers(module),
                executed: executed.clone(),
                sizes: ImageSizes::of(module),
                skipped: Skipped::of(module),
                wrong_rows: wrong_rows.into_iter().map(|(row, _)| row).collect(),
                without_row,
            }
        });
        Self {
            schema: SCHEMA,
            file: file.to_owned(),
            abi: target.executable().image.cpu.abi.name().to_owned(),
            every: options.every.get(),
            instructions: study.examination.counts.instructions - study.examination.unobserved,
            comparisons: study.examination.counts.comparisons,
            unobserved: study.examination.unobserved,
            broken,
            images: images.collect(),
            elsewhere: study.elsewhere.clone(),
        }
    }

    /// Returns the number of moments at which stacks were walked.
    #[must_use]
    pub fn walked(&self) -> u64 {
        let images = self.images.iter().map(|image| &image.executed);
        let walks = images.chain([&self.elsewhere]).map(|executed| executed.sframe.worth().total());
        walks.fold(0, u64::saturating_add)
    }

    /// Returns the report as text: wrong rows first, and one sentence about all walks last.
    #[must_use]
    pub fn text(&self, volume: Volume) -> Text {
        let mut text = Text::default();
        if volume != Volume::Quiet {
            text.line(format!("{}: {}", self.file, self.abi));
        }
        for image in &self.images {
            image.show_wrong(&mut text, volume);
        }
        if volume == Volume::Normal {
            self.show_topmost(&mut text);
        }
        if volume == Volume::Verbose {
            self.show_walks(&mut text);
            self.images.iter().for_each(|image| image.show_tables(&mut text));
            text.blank();
        }
        match &self.broken {
            None if volume == Volume::Quiet => {}
            _ => self.conclusion().show(&mut text),
        }
        text
    }

    /// What executed anywhere.
    pub(crate) fn all(&self) -> Executed {
        let executed = self.images.iter().map(|image| &image.executed).chain([&self.elsewhere]);
        executed.fold(Executed::default(), |mut all, executed| {
            all.add(executed, 1);
            all
        })
    }

    /// How many walks are complete, in each way.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let all = self.all();
        let count = |of| self.count(of);
        let (rows, beyond) =
            (count(|row| !row.is_beyond_the_format()), count(WrongRow::is_beyond_the_format));
        // That somebody has stopped it, its verdict says.
        let is_stopped = |reason: &&String| NoResult::ending(reason) == Ending::Interrupted;
        let broken = self.broken.as_ref().filter(|reason| !is_stopped(reason));
        let mut facts: Vec<String> = broken.cloned().into_iter().collect();
        if rows > 0 {
            facts.push(format!("{} of SFrame wrong", counted(rows, "row")));
        }
        let without_row = self.without_row();
        if !without_row.is_empty() {
            let count = without_row.values().sum();
            let verdicts: Vec<String> = without_row.keys().map(ToString::to_string).collect();
            facts.push(format!("{} without a row: {}", counted(count, "finding"), verdicts.join(", ")));
        }
        if self.comparisons == 0 && self.walked() > 0 {
            facts.push("no row of SFrame was compared with the call stack".to_owned());
        }
        facts.push(format!(
            "stacks walked at {} of {}",
            grouped(self.walked()),
            counted(self.instructions, "executed instruction"),
        ));
        for (way, of) in WAYS {
            let worth = of(&all).worth();
            let complete = || format!("{way}: {} complete", share(worth.complete, worth.total()));
            facts.extend((worth.total() > 0).then(complete));
        }
        if all.popped_slots > 0 {
            let share = share(all.popped_slots, all.sframe.worth().total());
            facts.push(format!(
                "FP below SP in the topmost row, where some readers give up: {share} of the walks"
            ));
            let mut by_compiler = PoppedSlots::default();
            for image in &self.images {
                by_compiler.add(&image.compilers, image.popped());
            }
            let shares = by_compiler.shares().into_iter();
            let shares: Vec<String> = shares.map(|(name, _, share)| format!("{share} of {name}")).collect();
            facts.push(format!("by who has made the code: {}", first_of(&shares, 3)));
        }
        let made = self.images.iter().filter(|image| image.section == Origin::EhFrame);
        let made: Vec<&str> = made.map(|image| image.name.as_str()).collect();
        if !made.is_empty() {
            facts.push(format!("SFrame is synthesized from .eh_frame in {}", first_of(&made, 3)));
        }
        let others = [
            (all.unsettled, "more excluded, where the correct answer is undecidable".to_owned()),
            (all.too_deep, "more with call stacks too deep to walk".to_owned()),
            (
                beyond,
                format!("{} that can't be expressed in SFrame", if beyond == 1 { "row" } else { "rows" }),
            ),
            (self.unobserved, "instructions of other programs were not observed".to_owned()),
        ];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        facts.extend(others.map(|(count, what)| format!("{} {what}", grouped(count))));
        let ending = match &self.broken {
            Some(reason) => NoResult::ending(reason),
            None if self.wrong() > 0 => Ending::Fail,
            None if self.walked() == 0 || self.comparisons == 0 => Ending::Inconclusive,
            None => Ending::Pass,
        };
        Conclusion { ending, facts }
    }

    /// How many rows of SFrame are wrong, and how many findings are about no row, such as an FDE that can't be decoded.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.count(|row| !row.is_beyond_the_format()) + self.without_row().values().sum::<u64>()
    }

    /// The findings that are about no row.
    fn without_row(&self) -> BTreeMap<Verdict, u64> {
        let mut all = BTreeMap::new();
        for (verdict, count) in self.images.iter().flat_map(|image| &image.without_row) {
            *all.entry(*verdict).or_default() += count;
        }
        all
    }

    fn count(&self, of: fn(&WrongRow) -> bool) -> u64 {
        let rows = self.images.iter().flat_map(|image| &image.wrong_rows);
        rows.filter(|row| of(row)).count() as u64
    }

    /// How many walks were complete in each way, by what the topmost frame was in.
    fn show_topmost(&self, text: &mut Text) {
        let all = self.all();
        let of = |topmost| {
            let of = WAYS.map(|(_, of)| of(&all).by_topmost.0.get(topmost).copied());
            of[0].map(|first| (topmost, first.total(), of.map(Option::unwrap_or_default)))
        };
        let known: Vec<_> = Topmost::ALL.iter().filter_map(of).collect();
        if known.is_empty() {
            return;
        }
        let ways = WAYS.map(|(way, _)| format!("{way:>16}")).concat();
        text.line(format!("complete, by topmost frame {:>11}{ways}", "walks"));
        for (topmost, walks, of) in known {
            let shares = of.map(|of| format!("{:>16}", share(of.complete, of.total()))).concat();
            text.line(format!("    {:<22} {:>11}{shares}", topmost.to_string(), grouped(walks)));
        }
    }

    /// How the walks in each image ended, in each way.
    fn show_walks(&self, text: &mut Text) {
        let executed = self.images.iter().map(|image| (image.name.as_str(), &image.executed));
        for (name, executed) in executed.chain([("elsewhere", &self.elsewhere)]) {
            if executed.instructions == 0 {
                continue;
            }
            text.blank();
            let unsettled = match executed.unsettled {
                0 => String::new(),
                count => format!(", {} of them not settled", grouped(count)),
            };
            let _ = writeln!(text, "{name}: {}{unsettled}", counted(executed.instructions, "instruction"));
            for (way, of) in WAYS {
                show_worth(text, way, &of(executed).worth());
            }
        }
        let all = self.all();
        for topmost in Topmost::ALL {
            let of = WAYS.map(|(way, of)| (way, of(&all).by_topmost.0.get(topmost).copied()));
            let [(_, Some(first)), ..] = of else { continue };
            text.blank();
            let _ = writeln!(text, "topmost frame in {topmost}: {}", counted(first.total(), "walk"));
            for (way, worth) in of {
                show_worth(text, way, &worth.unwrap_or_default());
            }
        }
    }
}

/// What the walks of a way were worth, in a line.
fn show_worth(text: &mut Text, way: &str, worth: &Reliabilities) {
    let shares = worth.counts().map(|(of, count)| format!("{:>7} {of}", share(count, worth.total())));
    let _ = writeln!(text, "    {way:<14} {}", shares.join(", "));
}

impl ImageStudy {
    fn show_tables(&self, text: &mut Text) {
        let ImageSizes {
            code,
            sframe,
            sframe_functions,
            sframe_rows,
            eh_frame,
            eh_frame_hdr,
            cfi_functions,
            ..
        } = self.sizes;
        let made = if self.section == Origin::EhFrame { ", synthesized from .eh_frame" } else { "" };
        text.blank();
        let _ = writeln!(text, "{}: {}", self.name, counted(code, "byte") + " of code");
        let _ = writeln!(
            text,
            "    .sframe   {}: {}, {}{made}",
            counted(sframe, "byte"),
            counted(sframe_functions, "function"),
            counted(sframe_rows, "row"),
        );
        let _ = writeln!(
            text,
            "    .eh_frame {}: {}, with .eh_frame_hdr",
            counted(eh_frame.saturating_add(eh_frame_hdr), "byte"),
            counted(cfi_functions, "function"),
        );
        if let Some(Skipped { functions, bytes, reasons }) = &self.skipped {
            let bytes =
                bytes.map_or_else(String::new, |bytes| format!(", {} of the code", share(bytes, code)));
            let _ =
                writeln!(text, "    without an FDE in .sframe: {}{bytes}", counted(*functions, "function"));
            for (reason, count) in reasons {
                let _ = writeln!(text, "        {}: {reason}", grouped(*count));
            }
        }
    }

    /// Shows the rows that are wrong.
    fn show_wrong(&self, text: &mut Text, volume: Volume) {
        let Self { name, .. } = self;
        // What the format can't express is nobody's fault.
        let is_shown = |row: &&WrongRow| volume != Volume::Quiet || !row.is_beyond_the_format();
        for wrong in self.wrong_rows.iter().filter(is_shown) {
            let WrongRow { function, row, verdict, blame, confidence, .. } = wrong;
            let what = if wrong.is_beyond_the_format() { "format" } else { "wrong" };
            let _ = writeln!(
                text,
                "{what:<11} {name}: {verdict} in {function}, row +{row}: {blame} (confidence {confidence})"
            );
        }
        for (verdict, count) in &self.without_row {
            let _ = writeln!(text, "without row {name}: {verdict}: {}", grouped(*count));
        }
    }
}

impl WrongRow {
    /// Whether it is nobody's fault: SFrame can't express what would be right.
    fn is_beyond_the_format(&self) -> bool {
        self.blame == Blame::Format
    }

    fn of(finding: &Finding) -> Option<Self> {
        let row = finding.row.as_ref()?;
        let address = || finding.pc.map_or_else(String::new, |pc| pc.to_string());
        Some(Self {
            function: finding.function.clone().unwrap_or_else(address),
            row: row.start.to_string(),
            rules: row.rules.to_string(),
            verdict: finding.verdict,
            blame: finding.blame,
            confidence: finding.confidence,
        })
    }
}
