//! Tables of many studies, in Markdown.
//!
//! Names come from the files under test: they are in code spans, where nothing is interpreted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sframe_elf::file::read;
use sframe_engine::Version;
use sframe_judge::compare::Reliabilities;
use sframe_judge::study::{Executed, ImageSizes, PoppedSlots, VersionSize, WAYS, Walks};
use sframe_judge::target::Origin;
use sframe_judge::vocabulary::Topmost;
use sframe_kit::percent::share;
use sframe_kit::text::{counted, grouped};
use sframe_vectors::words::of_json;

use super::{ImageStudy, StudyReport, WrongRow};
use crate::report::markdown::cell;

/// The largest report that is read, in bytes.
const MAX_REPORT: u64 = 256 << 20;

/// Images that executed fewer instructions are not listed, but summed: their shares say little.
const SMALLER: u64 = 100_000;

/// The most reasons that are shown for an image.
const REASONS: usize = 4;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A folder or a file can't be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file is not the output of `study --json`.
    #[error("{}: not the output of study --json: {}", path.display(), of_json(source))]
    NotAReport {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is nothing to show.
    #[error("{}: no reports in it: GROUP/PROGRAM.json is expected", .0.display())]
    Empty(PathBuf),
}

/// The studies of a group: of programs that share a C library and an ABI.
#[derive(Debug, Default)]
struct Group {
    programs: u64,
    instructions: u64,
    walked: u64,
    executed: Executed,
    /// The images by name. Images of one name are one file in all programs of a group.
    images: BTreeMap<String, ImageStudy>,
    /// The programs whose run was not valid, which are not counted, and why.
    broken: BTreeMap<String, String>,
    /// By ABI, and by who has made the code.
    popped: BTreeMap<String, PoppedSlots>,
    every: BTreeSet<u64>,
}

/// Makes tables of the reports in a folder. Those in one folder within are a group, which is named
/// like that folder: `GROUP/PROGRAM.json`, where `GROUP` may have several parts.
///
/// # Errors
/// A report can't be read, or no report exists.
pub fn study_page(folder: &Path) -> Result<String, PageError> {
    let mut files = Vec::new();
    reports(folder, &mut files)?;
    files.sort();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for path in files {
        let bytes = read(&path, MAX_REPORT);
        let bytes = bytes.map_err(|source| PageError::Read { path: path.clone(), source })?;
        let report: StudyReport = serde_json::from_slice(&bytes)
            .map_err(|source| PageError::NotAReport { path: path.clone(), source })?;
        let group = path.parent().and_then(|parent| parent.strip_prefix(folder).ok());
        let group = group.map(|group| group.display().to_string()).unwrap_or_default();
        let program = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        groups.entry(group).or_default().add(program, report);
    }
    if groups.is_empty() {
        return Err(PageError::Empty(folder.to_owned()));
    }
    let mut text = overview(&groups);
    for (name, group) in &groups {
        let _ = writeln!(text, "\n## {}", cell(name));
        text += &group.tables();
    }
    Ok(text)
}

fn reports(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), PageError> {
    let failed = |source| PageError::Read { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            reports(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

impl Group {
    fn add(&mut self, program: String, report: StudyReport) {
        if let Some(reason) = report.broken {
            self.broken.insert(program, reason);
            return;
        }
        self.programs += 1;
        self.instructions = self.instructions.saturating_add(report.instructions);
        self.walked = self.walked.saturating_add(report.walked());
        self.every.insert(report.every);
        self.executed.add(&report.elsewhere, report.every);
        for mut image in report.images {
            let mut executed = Executed::default();
            executed.add(&image.executed, report.every);
            image.executed = executed;
            self.executed.add(&image.executed, 1);
            self.popped.entry(report.abi.clone()).or_default().add(&image.compilers, image.popped());
            match self.images.get_mut(&image.name) {
                Some(seen) => {
                    seen.executed.add(&image.executed, 1);
                    seen.wrong_rows.extend(image.wrong_rows);
                    seen.wrong_rows.sort();
                    seen.wrong_rows.dedup();
                    for (verdict, count) in image.without_row {
                        let most = seen.without_row.entry(verdict).or_default();
                        *most = count.max(*most);
                    }
                }
                None => drop(self.images.insert(image.name.clone(), image)),
            }
        }
    }

    fn tables(&self) -> String {
        let mut text = String::new();
        text += &self.walks();
        text += &self.by_topmost();
        text += &self.sizes();
        text += &self.skipped();
        text += &self.wrong_rows();
        for (program, reason) in &self.broken {
            let _ = writeln!(text, "\nNot counted: {}: {}.", cell(program), cell(reason));
        }
        text
    }

    /// Returns what each image is called in the tables, and then the sums of those that are too
    /// small: one for each kind of them.
    fn listed(&self, kind: fn(&ImageStudy) -> &'static str) -> Vec<(String, ImageStudy)> {
        let (mut listed, mut sums) = (Vec::new(), BTreeMap::<&str, (u64, ImageStudy)>::new());
        for (name, image) in &self.images {
            if image.executed.instructions >= SMALLER {
                listed.push((cell(name), image.clone()));
                continue;
            }
            match sums.get_mut(kind(image)) {
                Some((count, sum)) => {
                    *count += 1;
                    sum.executed.add(&image.executed, 1);
                    sum.sizes.add(&image.sizes);
                    if let Some(skipped) = &image.skipped {
                        sum.skipped.get_or_insert_default().add(skipped);
                    }
                }
                None => drop(sums.insert(kind(image), (1, image.clone()))),
            }
        }
        let sums = sums.into_values();
        listed.extend(sums.map(|(count, sum)| (counted(count, "smaller image"), sum)));
        listed
    }

    fn walks(&self) -> String {
        let mut text = format!("\n{}", head("image | instructions"));
        for (name, image) in self.listed(|_| "") {
            let executed = &image.executed;
            let of = shares(|walks| walks(executed).worth());
            let _ = writeln!(text, "| {name} | {} | {of} |", grouped(executed.instructions));
        }
        text
    }

    /// The same walks, by what the topmost frame was in.
    fn by_topmost(&self) -> String {
        let mut text = format!("\n{}", head("topmost frame in | walks"));
        for topmost in Topmost::ALL {
            let of = |walks: &Walks| walks.by_topmost.0.get(topmost).copied().unwrap_or_default();
            let [(_, first), ..] = WAYS;
            let walks = of(first(&self.executed)).total();
            if walks > 0 {
                let of = shares(|walks| of(walks(&self.executed)));
                let _ = writeln!(text, "| {topmost} | {} | {of} |", grouped(walks));
            }
        }
        text
    }

    fn sizes(&self) -> String {
        let mut text = String::from(
            "\n| image | code | section | `.sframe` | functions | rows | `.eh_frame` and `_hdr` | functions \
             | `.sframe` to it |\n|---|--:|---|--:|--:|--:|--:|--:|--:|\n",
        );
        for (name, image) in self.listed(section) {
            let sizes = image.sizes;
            let ImageSizes { code, sframe, eh_frame, eh_frame_hdr, .. } = sizes;
            let cfi = eh_frame.saturating_add(eh_frame_hdr);
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
                grouped(code),
                section(&image),
                grouped(sframe),
                grouped(sizes.sframe_functions),
                grouped(sizes.sframe_rows),
                grouped(cfi),
                grouped(sizes.cfi_functions),
                share(sframe, cfi)
            );
        }
        text
    }

    fn skipped(&self) -> String {
        let mut text = String::new();
        for (name, image) in self.listed(section) {
            let Some(skipped) = image.skipped.as_ref().filter(|skipped| skipped.functions > 0) else {
                continue;
            };
            let mut reasons: Vec<(&String, &u64)> = skipped.reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let more = reasons.len().saturating_sub(REASONS);
            let mut why: Vec<String> = reasons
                .iter()
                .take(REASONS)
                .map(|(reason, count)| format!("{}: {}", grouped(**count), cell(reason)))
                .collect();
            why.extend((more > 0).then(|| format!("{more} more reasons")));
            let part = skipped.bytes.map_or_else(|| "-".to_owned(), |bytes| share(bytes, image.sizes.code));
            let _ =
                writeln!(text, "| {name} | {} | {part} | {} |", grouped(skipped.functions), why.join("; "));
        }
        if text.is_empty() {
            return text;
        }
        let head =
            "\n| image | functions with CFI and no FDE | their part of the code | why |\n|---|--:|--:|---|\n";
        head.to_owned() + &text
    }

    fn wrong_rows(&self) -> String {
        let mut text = String::new();
        for (name, image) in &self.images {
            let mut kinds: BTreeMap<_, Vec<&WrongRow>> = BTreeMap::new();
            for row in &image.wrong_rows {
                kinds.entry((row.verdict, row.blame, row.confidence)).or_default().push(row);
            }
            for ((verdict, blame, confidence), rows) in kinds {
                let example = rows.first().map(|row| format!("{}+{}", row.function, row.row));
                let _ = writeln!(
                    text,
                    "| {} | {verdict} | {} | {blame} ({confidence}) | {} |",
                    cell(name),
                    grouped(rows.len() as u64),
                    cell(&example.unwrap_or_default())
                );
            }
            for (verdict, count) in &image.without_row {
                let _ = writeln!(
                    text,
                    "| {} | {verdict} | {}, outside of rows | | |",
                    cell(name),
                    grouped(*count)
                );
            }
        }
        if text.is_empty() {
            return "\nNo row was found to be wrong.\n".to_owned();
        }
        "\n| image | verdict | rows | likely cause (confidence) | for example |\n|---|---|--:|---|---|\n"
            .to_owned()
            + &text
    }
}

/// Where an image's section comes from.
const fn section(image: &ImageStudy) -> &'static str {
    match image.section {
        Origin::Sframe => "its own",
        Origin::EhFrame => "made",
        Origin::None => "none",
    }
}

fn overview(groups: &BTreeMap<String, Group>) -> String {
    let mut text = format!("## All\n\n{}", head(" | programs | instructions | walked | one in"));
    for (name, group) in groups {
        let every: Vec<String> = group.every.iter().map(|every| grouped(*every)).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            cell(name),
            grouped(group.programs),
            grouped(group.instructions),
            grouped(group.walked),
            every.join(", "),
            shares(|walks| walks(&group.executed).worth())
        );
    }
    let total = |of: &dyn Fn(&Executed) -> u64| {
        grouped(groups.values().map(|group| of(&group.executed)).fold(0, u64::saturating_add))
    };
    let _ = writeln!(
        text,
        "\nStacks were walked at one in this many instructions: at every one, or at random.\nNot counted, by the same \
         estimate: {} instructions where the correct answer was undecidable, {} with a\ncall stack that was too deep.",
        total(&|executed| executed.unsettled),
        total(&|executed| executed.too_deep),
    );
    text + &popped(groups) + &sizes(groups)
}

/// How often the topmost row reads FP from below SP, by ABI and compiler.
fn popped(groups: &BTreeMap<String, Group>) -> String {
    let mut all: BTreeMap<&str, PoppedSlots> = BTreeMap::new();
    for (abi, popped) in groups.values().flat_map(|group| &group.popped) {
        let sum = all.entry(abi).or_default();
        popped.0.iter().for_each(|(name, more)| sum.add(name, *more));
    }
    let mut text = String::from(
        "\n### FP below SP in the topmost row\n\n| ABI | compilers of the file | walks | share |\n|---|---|--:|--:|\n",
    );
    for (abi, popped) in &all {
        for (name, walks, share) in popped.shares() {
            let _ = writeln!(text, "| {abi} | {} | {} | {share} |", cell(name), grouped(walks));
        }
    }
    text
}

/// What the same functions cost in each version, and in the call frame information, by group: of all images that have
/// both.
fn sizes(groups: &BTreeMap<String, Group>) -> String {
    let versions = Version::ALL.map(|version| version.number());
    let mut text = String::from("\n### Sizes\n\n| | functions | rows |");
    for version in versions {
        let _ = write!(text, " version {version}: bytes a function | a row | left out |");
    }
    text += " `.eh_frame` and `_hdr`: bytes a function |\n|---|--:|--:|";
    text += &"--:|--:|--:|".repeat(versions.len());
    text += "--:|\n";
    for (name, group) in groups {
        let mut sum = ImageSizes::default();
        let has_both = |image: &&ImageStudy| image.sizes.sframe > 0 && image.sizes.eh_frame > 0;
        group.images.values().filter(has_both).for_each(|image| sum.add(&image.sizes));
        let ImageSizes { sframe_functions, sframe_rows, cfi_functions, eh_frame, eh_frame_hdr, .. } = sum;
        let _ = write!(text, "| {} | {} | {} |", cell(name), grouped(sframe_functions), grouped(sframe_rows));
        for VersionSize { bytes, functions, rows } in sum.versions {
            let left_out = grouped(sframe_functions.saturating_sub(functions));
            let _ = write!(text, " {} | {} | {left_out} |", ratio(bytes, functions), ratio(bytes, rows));
        }
        let _ = writeln!(text, " {} |", ratio(eh_frame.saturating_add(eh_frame_hdr), cfi_functions));
    }
    text
}

/// One number for each of another, in tenths.
fn ratio(all: u64, of: u64) -> String {
    if of == 0 {
        return "-".to_owned();
    }
    let tenths = (u128::from(all) * 10 + u128::from(of) / 2) / u128::from(of);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The head of a table whose last columns are of all ways; `first` are the names of the others.
fn head(first: &str) -> String {
    let [first_worth, others @ ..] = Reliabilities::default().counts().map(|(of, _)| of.as_str());
    let others = others.join(" | ");
    let ways = WAYS.map(|(way, _)| format!("{way}: {first_worth} | {others}")).join(" | ");
    let numbers = first.matches('|').count() + (1 + 3) * WAYS.len();
    format!("| {first} | {ways} |\n|---|{}\n", "--:|".repeat(numbers))
}

/// Cells for all ways.
fn shares(of: impl Fn(fn(&Executed) -> &Walks) -> Reliabilities) -> String {
    let cells = |worth: Reliabilities| worth.counts().map(|(_, part)| share(part, worth.total())).join(" | ");
    WAYS.map(|(_, walks)| cells(of(walks))).join(" | ")
}
