//! The results of `diff`, for people and for machines.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::blame::{Blamed, Evidence};
use super::reason::Reason;
use super::rules::Field;
use crate::hazard::{self, Hazard, HazardKind};
use crate::known::{Known, KnownFindings, Place};
use sframe_elf::function_code::FunctionCode;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::percent::Percent;
use sframe_kit::text::{Text, counted, first_of, grouped};
use sframe_kit::{Address, Blame, Confidence, FindingRow};

/// The output of `diff --json`.
///
/// Addresses of a relocatable file are relative to their section.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DiffReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The file name as given.
    pub file: String,
    /// Its ABI.
    pub abi: &'static str,
    /// Version of its section.
    pub sframe_version: u8,
    /// Functions that either describes.
    pub functions: u64,
    /// Their instructions.
    pub pcs: u64,
    /// Instructions that both have an FDE for.
    pub compared: u64,
    /// Those at which both agree.
    pub agree: u64,
    /// Those at which the caller's FP is lost, according to the call frame
    /// information: no version can express that, so it is not a difference.
    pub lost_fp: u64,
    /// The parts of the section that can't be read: FDEs, and rows. `dump` and
    /// `lint` report the same.
    pub errors: Vec<String>,
    /// The differences: one for each field, row and function.
    pub findings: Vec<Difference>,
    /// Functions that have call frame information and no FDE in `.sframe`.
    pub uncovered: Vec<Uncovered>,
    /// Those of them that the version can express, by what seems to be their cause.
    pub missing: Vec<Missing>,
    /// Functions that have an FDE in `.sframe` and no call frame information.
    pub only_sframe: Vec<Extent>,
    /// Hazards of the section's rules, whether or not they agree.
    pub hazards: Vec<Hazard>,
    /// Differences, and functions without an FDE, that are known, and are not among the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownFindings>,
}

/// A field in which the two differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The first instruction.
    pub pc: Address,
    /// The section that contains it, in a relocatable file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The function, or its address if no symbol names it.
    pub function: String,
    /// The function's code, for those of one name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FunctionCode>,
    /// The first instruction, in bytes from the start of the function.
    pub offset: Address,
    /// The field.
    pub field: Field,
    /// The value in `.sframe`.
    pub sframe: String,
    /// The value in the call frame information.
    pub eh_frame: String,
    /// Number of instructions with the same rules on both sides.
    pub pcs: u64,
    /// The last of them.
    pub last_pc: Address,
    /// The last byte of the first instruction, if that is what differs: it is a call, and for walks through
    /// it the return address - 1 is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_up: Option<Address>,
    /// The row of `.sframe`.
    pub row: Option<FindingRow>,
    /// The FDE that should cover the instructions, if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fde: Option<FdePlace>,
    /// The call frame information that it differs from; `None` if the section as a
    /// whole is at fault, or if only a symbol says what belongs to the function.
    #[serde(flatten)]
    pub cfi: Option<CfiPlace>,
    /// The first instructions, and the one before them.
    pub instructions: Vec<Line>,
    /// Which component needs the fix.
    pub blame: Blame,
    /// How certain that is.
    pub confidence: Confidence,
    /// The evidence for the blame.
    pub evidence: Vec<Evidence>,
    /// The known bug that seems to be its cause, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The whole finding in a sentence.
    pub message: String,
    /// Fields that differ at the same instructions have the same number.
    #[serde(skip)]
    pub(super) group: usize,
}

/// An FDE of `.sframe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FdePlace {
    /// Its position in the section.
    pub index: u32,
    /// The start of its code.
    pub start: Address,
    /// The size of its code in bytes.
    pub size: u64,
}

/// The rules that call frame information has for an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CfiPlace {
    /// `.eh_frame` or `.debug_frame`.
    pub cfi_section: String,
    /// Offset of the FDE in that section.
    pub cfi_offset: Address,
    /// The rules there as equations.
    pub cfi_rules: String,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its address.
    pub pc: Address,
    /// In assembly syntax.
    pub text: String,
    /// Whether the finding is about this instruction.
    pub differs: bool,
}

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// The function, or its address if no symbol names it.
    pub function: String,
    /// What tells it from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FunctionCode>,
    /// The section that contains it, in a relocatable file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Its start.
    pub start: Address,
    /// Its size in bytes, by its FDE.
    pub size: u64,
    /// Number of its instructions that only one of the two describes.
    pub pcs: u64,
}

/// A function without an FDE in `.sframe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uncovered {
    /// Where it is.
    #[serde(flatten)]
    pub extent: Extent,
    /// `.eh_frame` or `.debug_frame`.
    pub cfi_section: String,
    /// The likely cause in its call frame information, if any.
    pub reason: Option<Reason>,
    /// The first place with it, in bytes from the start of the function.
    pub offset: Option<Address>,
    /// The reason in words.
    pub message: String,
}

/// Functions that should have an FDE in `.sframe`: their call frame information can be expressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The functions.
    pub functions: Vec<Extent>,
    /// Which component needs the fix.
    pub blame: Blame,
    /// How certain that is.
    pub confidence: Confidence,
    /// The evidence for the blame.
    pub evidence: Vec<Evidence>,
    /// The known bug that seems to be its cause, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The whole finding in a sentence.
    pub message: String,
}

/// What functions without an FDE are called in lists of known findings.
pub const MISSING_FDE: &str = "missing-fde";

/// The maximum number of differences, or of functions in a list, that are shown;
/// JSON has all.
const SHOWN: usize = 20;
/// The maximum number of examples.
const EXAMPLES: usize = 4;

/// The name of a function, if it is not its address that stands for it.
fn name_of(function: &str) -> Option<&str> {
    Some(function).filter(|name| !name.starts_with("0x"))
}

impl DiffReport {
    /// Takes out what is known.
    pub fn settle(&mut self, known: &dyn Known) {
        let mut all = KnownFindings::of(&self.file, &mut self.findings, known, |finding| Place {
            rule: [finding.field.name(); 2],
            function: name_of(&finding.function),
            code: finding.code.as_ref(),
            row: finding.row.as_ref(),
            fault: finding.fault.as_deref(),
            places: finding.pcs,
        });
        let causes = std::mem::take(&mut self.missing);
        let of_cause = |(cause, missing): (usize, &Missing)| {
            let fault = missing.fault.clone();
            missing
                .functions
                .iter()
                .map(move |function| (cause, fault.clone(), function.clone()))
                .collect::<Vec<_>>()
        };
        let mut functions: Vec<_> = causes.iter().enumerate().flat_map(of_cause).collect();
        all.extend(KnownFindings::of(&self.file, &mut functions, known, |(_, fault, function)| Place {
            rule: [MISSING_FDE; 2],
            function: name_of(&function.function),
            code: function.code.as_ref(),
            row: None,
            fault: fault.as_deref(),
            places: 1,
        }));
        for (cause, missing) in causes.into_iter().enumerate() {
            let left = functions.iter().filter(|(of, ..)| *of == cause);
            let left: Vec<Extent> = left.map(|(.., function)| function.clone()).collect();
            if left.len() == missing.functions.len() {
                self.missing.push(missing);
            } else if !left.is_empty() {
                let Missing { blame, confidence, evidence, fault, .. } = missing;
                let missing = Missing::by(left, Blamed { blame, confidence, evidence });
                self.missing.push(Missing { fault, ..missing });
            }
        }
        self.known = all;
    }

    /// Returns the report as text.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = self.differences();
        self.show_coverage(&mut text);
        self.show_hazards(&mut text);
        text.blank();
        text
    }

    /// Returns what is wrong as text, and nothing if nothing is: the report without what is not in one of the sections,
    /// and without hazards and figures.
    #[must_use]
    pub fn brief(&self) -> Text {
        let is_clean = self.findings.is_empty() && self.errors.is_empty() && self.functions_missing() == 0;
        if is_clean { Text::default() } else { self.differences() }
    }

    fn differences(&self) -> Text {
        let mut text = Text::default();
        let _ = writeln!(text, "{}: {}, SFrame version {}", self.file, self.abi, self.sframe_version);
        for error in self.errors.iter().take(SHOWN) {
            text.blank();
            let _ = writeln!(text, "malformed: {error}");
        }
        if self.errors.len() > SHOWN {
            text.blank();
            let _ =
                writeln!(text, "and {} more that are malformed", grouped((self.errors.len() - SHOWN) as u64));
        }
        let groups: Vec<&[Difference]> =
            self.findings.chunk_by(|one, other| one.group == other.group).collect();
        for group in groups.iter().take(SHOWN) {
            show(&mut text, group);
        }
        if groups.len() > SHOWN {
            text.blank();
            let _ = writeln!(text, "and {} more differences", grouped((groups.len() - SHOWN) as u64));
        }
        for missing in &self.missing {
            missing.show(&mut text);
        }
        text
    }

    /// The number of functions that should have an FDE in `.sframe`.
    #[must_use]
    pub fn functions_missing(&self) -> u64 {
        self.missing.iter().map(|missing| missing.functions.len() as u64).sum()
    }

    /// The instructions of these, and those that both describe: together, all that the version can express.
    #[must_use]
    pub fn expressible(&self) -> (u64, u64) {
        let functions = self.missing.iter().flat_map(|missing| &missing.functions);
        let missing: u64 = functions.map(|function| function.pcs).sum();
        (missing, self.compared.saturating_add(missing))
    }

    /// How many instructions have call frame information that can't be read, if these are more than 1 % of all.
    #[must_use]
    pub fn too_many_unread(&self) -> Option<u64> {
        let is_unread = |it: &&Uncovered| it.reason == Some(Reason::Malformed);
        let unread: u64 = self.uncovered.iter().filter(is_unread).map(|it| it.extent.pcs).sum();
        (unread.saturating_mul(100) > self.pcs).then_some(unread)
    }

    /// Whether no function has call frame information.
    #[must_use]
    pub const fn has_no_cfi(&self) -> bool {
        self.compared == 0 && self.uncovered.is_empty()
    }

    /// Whether this share of the instructions that the version can express has an FDE.
    #[must_use]
    pub fn reaches(&self, share: Percent) -> bool {
        let (missing, expressible) = self.expressible();
        expressible == 0 || share.is_reached_by(expressible - missing, expressible)
    }

    /// How much differs, of how much.
    #[must_use]
    pub fn conclusion(&self, ending: Ending) -> Conclusion {
        let groups = self.findings.chunk_by(|one, other| one.group == other.group).count();
        let missing = match self.functions_missing() {
            0 => String::new(),
            missing => format!(", {} without an FDE", counted(missing, "function")),
        };
        let mut facts = vec![
            counted(groups as u64, "difference") + &missing,
            format!(
                "{}, {}: {} compared, {} agree",
                counted(self.functions, "function"),
                counted(self.pcs, "instruction"),
                grouped(self.compared),
                grouped(self.agree),
            ),
        ];
        if let Some(unread) = self.too_many_unread() {
            facts.push(format!(
                "not enough for a verdict: {} of {} have call frame information that can't be read",
                grouped(unread),
                counted(self.pcs, "instruction")
            ));
        }
        if self.lost_fp > 0 {
            facts.push(format!(
                "not compared: {} at which the caller's FP is lost, which can't be expressed in SFrame",
                counted(self.lost_fp, "instruction")
            ));
        }
        facts.extend(self.known.iter().map(KnownFindings::fact));
        Conclusion { ending, facts }
    }

    fn show_coverage(&self, text: &mut Text) {
        let mut by_reason: BTreeMap<(Reason, &str), Vec<&Extent>> = BTreeMap::new();
        for Uncovered { extent, reason, message, .. } in &self.uncovered {
            let Some(reason) = *reason else { continue };
            // Those of each object by themselves.
            let why = if reason == Reason::NoSection { message } else { reason.text() };
            by_reason.entry((reason, why)).or_default().push(extent);
        }
        for ((_, why), extents) in by_reason {
            text.blank();
            let _ = writeln!(text, "not in .sframe: {} ({why})", counted(extents.len() as u64, "function"));
            list(text, &extents);
        }
        if !self.only_sframe.is_empty() {
            let count = counted(self.only_sframe.len() as u64, "function");
            text.blank();
            let _ = writeln!(text, "in .sframe only: {count}");
            list(text, &self.only_sframe.iter().collect::<Vec<_>>());
        }
    }

    fn show_hazards(&self, text: &mut Text) {
        for (kind, rows, instructions) in hazard::totals(&self.hazards) {
            let instructions = counted(instructions, "instruction");
            let unit = if kind == HazardKind::EndsEarly { "place" } else { "row" };
            let counted_rows = counted(rows as u64, unit);
            text.blank();
            let _ = writeln!(text, "hazard: {kind}: {}; {instructions} of {counted_rows}", kind.text());
            for hazard in self.hazards.iter().filter(|hazard| hazard.kind == kind).take(EXAMPLES) {
                let row = hazard.row.as_ref().map(|row| format!(" row +{}: {}", row.start, row.rules));
                let row = row.unwrap_or_else(|| " has no row".to_owned());
                let _ = writeln!(text, "    {}{row} ({})", hazard.function, hazard.instructions);
            }
            if rows > EXAMPLES {
                let _ = writeln!(text, "    and {} more", grouped((rows - EXAMPLES) as u64));
            }
        }
    }
}

impl Missing {
    /// The functions, of which a sentence names the first.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.functions.iter().map(|function| &*function.function).collect();
        first_of(&names, EXAMPLES)
    }

    /// Functions with one cause.
    pub(super) fn by(functions: Vec<Extent>, blamed: Blamed) -> Self {
        let Blamed { blame, confidence, evidence } = blamed;
        let (count, have) = (functions.len() as u64, if functions.len() == 1 { "has" } else { "have" });
        let message = format!(
            "{} {have} call frame information that can be expressed, and no FDE",
            counted(count, "function")
        );
        Self { functions, blame, confidence, evidence, fault: None, message }
    }

    fn show(&self, text: &mut Text) {
        text.blank();
        let _ = writeln!(text, "{MISSING_FDE}: {}", self.message);
        list(text, &self.functions.iter().collect::<Vec<_>>());
        show_blame(text, self.blame, self.confidence, &self.evidence);
        self.fault.iter().for_each(|fault| text.line(format!("      = matches known bug {fault}")));
    }
}

/// Says who needs the fix, if that is known, and why.
fn show_blame(text: &mut Text, blame: Blame, confidence: Confidence, evidence: &[Evidence]) {
    let _ = match blame {
        Blame::Unknown => writeln!(text, "    cause unknown"),
        blame => writeln!(text, "    likely cause: {blame} (confidence {confidence})"),
    };
    for evidence in evidence {
        let _ = writeln!(text, "      = {}: {}", evidence.witness, evidence.says);
    }
}

/// Shows the fields that differ at the same instructions.
fn show(text: &mut Text, group: &[Difference]) {
    let Some(first) = group.first() else { return };
    if let Some(cfi) = &first.cfi {
        show_rules(text, group, first, cfi);
    } else if first.field == Field::NoFde {
        show_head(text, group, first);
        let _ = writeln!(text, "    .sframe  no FDE: {}", first.eh_frame);
        show_instructions(text, first);
    } else {
        text.blank();
        let _ = writeln!(text, "difference: {}, {}", first.field, counted(first.pcs, "instruction"));
        let _ = writeln!(text, "    {}", first.message);
    }
    show_blame(text, first.blame, first.confidence, &first.evidence);
    let faults: BTreeSet<&String> = group.iter().filter_map(|finding| finding.fault.as_ref()).collect();
    faults.iter().for_each(|fault| text.line(format!("      = matches known bug {fault}")));
}

/// Shows where fields differ.
fn show_head(text: &mut Text, group: &[Difference], first: &Difference) {
    let fields: Vec<String> = group.iter().map(|finding| finding.field.to_string()).collect();
    let section = first.section.as_ref().map_or_else(String::new, |section| format!("{section}: "));
    text.blank();
    let _ = writeln!(
        text,
        "difference: {} of {}+{} ({section}{}), {}",
        fields.join(", "),
        first.function,
        first.offset,
        first.pc,
        counted(first.pcs, "instruction")
    );
    if let Some(looked_up) = first.looked_up {
        let _ = writeln!(text, "    callers are looked up at the call's last byte, {looked_up}");
    }
}

fn show_rules(text: &mut Text, group: &[Difference], first: &Difference, cfi: &CfiPlace) {
    show_head(text, group, first);
    let CfiPlace { cfi_section, cfi_offset, cfi_rules } = cfi;
    let width = cfi_section.len();
    let start = first.row.as_ref().map_or_else(String::new, |row| format!("    (row +{})", row.start));
    for finding in group {
        let _ = writeln!(text, "    {:<width$}  {}: {}", ".sframe", finding.field, finding.sframe);
        let _ = writeln!(text, "    {cfi_section:<width$}  {}: {}", finding.field, finding.eh_frame);
    }
    if first.field == Field::NoFde {
        let _ = writeln!(text, "    {cfi_section:<width$}  {cfi_rules}    (FDE at {cfi_offset})");
    }
    if let Some(row) = first.row.filter(|_| first.field != Field::Row) {
        let _ = writeln!(text, "    in full:");
        let _ = writeln!(text, "    {:<width$}  {}{start}", ".sframe", row.rules);
        let _ = writeln!(text, "    {cfi_section:<width$}  {cfi_rules}    (FDE at {cfi_offset})");
    }
    show_instructions(text, first);
}

fn show_instructions(text: &mut Text, first: &Difference) {
    let width = first.instructions.iter().map(|line| line.pc.to_string().len()).max().unwrap_or(0);
    for line in &first.instructions {
        let mark = if line.differs { ">" } else { " " };
        let _ = writeln!(text, "  {mark} {:>width$} | {}", line.pc.to_string(), line.text);
    }
}

fn list(text: &mut Text, extents: &[&Extent]) {
    for extent in extents.iter().take(SHOWN) {
        let section = extent.section.as_ref().map_or_else(String::new, |section| format!("{section}: "));
        let _ = writeln!(
            text,
            "    {} ({section}{}), {}",
            extent.function,
            extent.start,
            counted(extent.pcs, "instruction")
        );
    }
    if extents.len() > SHOWN {
        let _ = writeln!(text, "    and {} more", grouped((extents.len() - SHOWN) as u64));
    }
}
