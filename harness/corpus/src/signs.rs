//! Which page describes what a finding shows: by its verdict, sections, rules and instructions, and by who made the file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sframe_elf::object_file::ObjectFile;
use sframe_elf::source::Source;
use sframe_engine::{Abi, RecoveryRule};
use sframe_inspect::diff::{DiffReport, Field};
use sframe_isa::Disassembly;
use sframe_judge::finding::{Address, Answer, Evidence, Finding, FunctionCode, KnownFault, Side, Witness};
use sframe_judge::target::{Linked, Loaded, Module, Target};
use sframe_judge::vocabulary::{LayoutFact, Verdict};
use sframe_kit::Blame;

use crate::spec::{CfaError, Compiler, Component, Fault, Faults, Known, Producer, RowBegins, Sign};

mod makers;
mod spread;

use makers::{Makers, MakersOfCode};
use spread::SeenBeside;
pub use spread::WrongRow;

/// What is seen of a cause.
#[derive(Clone, Debug)]
pub struct SeenCause<'s> {
    /// A verdict, or a difference.
    pub wrong: &'s str,
    /// The sections that may be meant, as pages say it.
    pub sections: &'s [&'s str],
    /// Who seems to be the culprit.
    pub blame: Blame,
    /// The rules of the row, with their numbers, or with `N` where these are not known.
    pub row: String,
    /// How wrong it is, and where in the row.
    pub place: SeenPlace,
    /// The instruction before the row's first one, in the text.
    pub before_row: Option<&'s str>,
    /// The instructions before the first one that is wrong, and that one.
    pub around: Option<(Vec<String>, String)>,
    /// What the layout of the file shows.
    pub layout: Vec<LayoutFact>,
    /// The flags that the file was made with, if they are known.
    pub flags: Option<&'s [String]>,
    /// The section of the code, if linkers make it.
    pub code_in: Option<&'s str>,
    /// The function, if it has a name.
    pub function: Option<&'s str>,
    /// The first instructions of the function, without their numbers.
    pub entry: Vec<String>,
    /// The name that the library gives itself. Files without such a name may have a library linked in.
    pub library: Option<&'s str>,
}

/// How wrong a row is at an instruction, and where in the row that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenPlace {
    /// How wrong the CFA is, if that is what is wrong, and known.
    pub cfa: Option<CfaError>,
    /// Where the row begins, if that is known.
    pub row_begins: Option<RowBegins>,
    /// Whether the row ends with the instruction, as far as that is known.
    pub row_ends: bool,
}

impl SeenPlace {
    /// That of a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        let at = finding.listing.iter().position(|line| Some(line.pc) == finding.pc);
        let next = at.and_then(|at| Some((finding.listing.get(at)?, finding.listing.get(at + 1)?)));
        Self {
            cfa: CfaError::of(finding),
            row_begins: finding.pc.zip(finding.row_pc).map(|(pc, row)| RowBegins::of(pc == row)),
            row_ends: next.is_some_and(|(line, next)| line.row.is_some() && line.row != next.row),
        }
    }

    /// Whether it is the place of a known cause.
    fn is(&self, known: &Sign) -> bool {
        known.cfa.is_none_or(|known| self.cfa.is_some_and(|seen| known.includes(seen)))
            && (known.row_begins.is_none() || known.row_begins == self.row_begins)
            && (!known.row_ends || self.row_ends)
    }
}

impl SeenCause<'_> {
    /// Whether it is the cause that a page of a component knows. All that the page says of it must be so.
    #[must_use]
    pub fn is(&self, known: &Sign, blame: Blame) -> bool {
        // Triage does not always know.
        (self.blame == blame || self.blame == Blame::Unknown)
            && known.wrong == self.wrong
            && known.section.iter().any(|section| self.sections.contains(&section.as_str()))
            && known.row.iter().any(|row| is_instruction(row, &self.row))
            && self.place.is(known)
            && self.begins_after(known)
            && self.has_flags_of(known)
            && known.layout.is_none_or(|fact| self.layout.contains(&fact))
            && known.code_in.as_ref().is_none_or(|known| self.code_in == Some(known))
            && self.is_in_function(known)
            && self.is_of_library(known)
            && self.is_at(known)
    }

    /// Whether it is in the function of a known cause, if it names one: by the name, or by the code where the file has
    /// no name for it.
    fn is_in_function(&self, known: &Sign) -> bool {
        let Some(pattern) = &known.function else { return true };
        match self.function {
            Some(name) => pattern.matches(name),
            None => self.has_entry_of(known),
        }
    }

    /// Whether the function begins as that of a known cause, which says how it begins.
    fn has_entry_of(&self, known: &Sign) -> bool {
        let is_same = |(known, this): (&String, &String)| is_instruction(known, this);
        !known.entry.is_empty()
            && known.entry.len() <= self.entry.len()
            && known.entry.iter().zip(&self.entry).all(is_same)
    }

    /// Whether it is in the library of a known cause, if it is one of a library: in the file of that name, or linked into
    /// one that has none, such as a program. There the code must be that of the library, and not only the name.
    fn is_of_library(&self, known: &Sign) -> bool {
        match (&known.library, self.library) {
            (None, _) => true,
            (Some(known), Some(library)) => known == library,
            (Some(_), None) => {
                // Of what is in no other function, the instructions on both sides may do.
                let is_name = known.function.as_ref().is_some_and(|name| !name.to_string().contains('*'));
                let is_between = known.entry.is_empty() && known.at.is_some() && !known.after.is_empty();
                known.function.is_some() && (self.has_entry_of(known) || is_name && is_between)
            }
        }
    }

    /// Whether the flags of a known cause were given. Where none are known, its place must do.
    fn has_flags_of(&self, known: &Sign) -> bool {
        match self.flags {
            Some(flags) => known.with.iter().all(|with| flags.contains(with)),
            None => known.has_place(),
        }
    }

    /// Whether the row begins after an operation that a known cause names, if it names any.
    fn begins_after(&self, known: &Sign) -> bool {
        let before = self.before_row.and_then(|text| text.split_whitespace().next());
        known.begins_after.is_empty()
            || before.is_some_and(|operation| known.begins_after.iter().any(|known| known == operation))
    }

    /// Whether the instructions of a known cause are where it is wrong.
    fn is_at(&self, known: &Sign) -> bool {
        if known.at.is_none() && known.after.is_empty() {
            return known.has_place() || !known.with.is_empty();
        }
        let Some((before, at)) = &self.around else { return false };
        let last = before.len().checked_sub(known.after.len()).map(|first| &before[first..]);
        let is_before = last.is_some_and(|last| {
            known.after.iter().zip(last).all(|(known, this)| is_instruction(known, this))
        });
        known.at.as_ref().is_none_or(|known| known.iter().any(|known| is_instruction(known, at))) && is_before
    }
}

/// The registers of amd64 that callees need not save.
const VOLATILE: [&str; 9] = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"];

/// The names of SP, and of its lower half.
const SP: [&str; 5] = ["rsp", "esp", "sp", "wsp", "%r15"];

/// Whether a page means this instruction, or these rules: an `R` stands for any register but SP, a `V` for one that callees
/// need not save, an `N` for any number, a `J` for a conditional jump, and a `*` at the end for any operands; between
/// ` | `, each is meant.
fn is_instruction(known: &str, this: &str) -> bool {
    known.split(" | ").any(|known| is_one_instruction(known, this))
}

fn is_one_instruction(known: &str, this: &str) -> bool {
    let is_register = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase() || first == '%') && !SP.contains(&word)
    };
    let is_number = |word: &str| word == "N" || word.bytes().all(|digit| digit.is_ascii_digit());
    let means = |known: &str, this: &str| {
        known == this
            || known == "R" && is_register(this)
            || known == "V" && VOLATILE.contains(&this)
            || known == "J" && this.starts_with('j') && this != "jmp"
            || known == "N" && is_number(this)
            || this == "N" && is_number(known)
    };
    if let Some(start) = known.strip_suffix('*') {
        return this.starts_with(start);
    }
    let (known, this) = (words(known), words(this));
    known.len() == this.len() && known.iter().zip(this).all(|(known, this)| means(known, this))
}

/// Splits an instruction into words and what is between them.
fn words(instruction: &str) -> Vec<&str> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '%';
    let mut words = Vec::new();
    let mut rest = instruction;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|char| is_word(char) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// Returns text without its numbers, except those of registers.
#[must_use]
pub fn without_numbers(text: &str) -> String {
    let mut shape = String::new();
    let mut is_number = false;
    for character in without_addresses(text).chars() {
        let is_of_name = shape.ends_with(|before: char| before.is_ascii_alphanumeric()) && !is_number;
        if character.is_ascii_digit() && !is_of_name {
            if !is_number {
                shape.push('N');
            }
            is_number = true;
        } else {
            shape.push(character);
            is_number = false;
        }
    }
    shape
}

/// Returns text without addresses.
#[must_use]
pub fn without_addresses(text: &str) -> String {
    let mut words = text.split("0x");
    let mut shape = words.next().unwrap_or_default().to_owned();
    for word in words {
        shape.push('N');
        shape.push_str(word.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    shape
}

/// The signs that a cause has, each with its page: what says most comes first.
type PagesOfSigns<'f> = Vec<(&'f str, &'f Sign)>;

/// Whether signs that a cause has, in a file whose flags are not known, say which page it is.
fn is_sure(signs: &[(&str, &Sign)]) -> bool {
    !signs.iter().any(|(_, sign)| sign.rests_on_flags())
}

/// The known causes that builds of one toolchain and ABI can have.
#[derive(Clone, Debug, Default)]
pub struct KnownCauses<'f>(Vec<(&'f str, Blame, &'f Sign)>);

impl<'f> KnownCauses<'f> {
    /// Some, each with its page, and who is to blame.
    #[must_use]
    pub const fn new(causes: Vec<(&'f str, Blame, &'f Sign)>) -> Self {
        Self(causes)
    }

    /// Those of the pages of some components.
    fn of_components(faults: &'f Faults, abi: Abi, can_have: impl Fn(&Component) -> bool) -> Self {
        let pages = faults.iter().filter(|(_, fault, _)| can_have(&fault.component));
        let causes = pages.flat_map(|(name, fault, _): (_, &Fault, _)| {
            let causes = fault.signs.iter().filter(move |cause| cause.abi.iter().any(|of| *of == abi));
            causes.map(move |cause| (name, fault.blame(), cause))
        });
        Self::new(causes.collect())
    }

    /// Those that builds of a producer can have.
    #[must_use]
    pub fn of(faults: &'f Faults, producer: &Producer, abi: Abi) -> Self {
        Self::of_components(faults, abi, |component| component.contains(producer))
    }

    /// Returns the page of a cause of which no other code is known.
    #[must_use]
    pub fn page_of(&self, seen: &SeenCause<'_>) -> Option<&'f str> {
        let signs = self.signs_of(seen);
        let is_sure = seen.flags.is_some() || is_sure(&signs);
        signs.into_iter().find(|(_, sign)| is_sure && !sign.needs_code()).map(|(page, _)| page)
    }

    /// Returns the page of each of the places at which a row is wrong, by ascending addresses: that of its own sign, or of
    /// another place from which the fault goes on to it.
    pub fn pages_of(
        &self,
        places: &[(u64, SeenCause<'_>)],
        code: impl Fn(u64) -> Arc<Disassembly>,
        row: Option<WrongRow<'_>>,
    ) -> Vec<Option<&'f str>> {
        let signs: Vec<_> = places.iter().map(|(pc, seen)| (*pc, self.signs_of(seen))).collect();
        spread::pages(&signs, code, row, &SeenBeside::default())
    }

    /// Returns the signs that a cause has, with their pages, as far as that is seen without the code of the function. A
    /// sign that names the function, such as a thunk's, says more than one of code that may be in any, and comes first.
    fn signs_of(&self, seen: &SeenCause<'_>) -> PagesOfSigns<'f> {
        let signs = self.0.iter().filter(|(_, blame, known)| seen.is(known, *blame));
        let mut signs: Vec<_> = signs.map(|(page, _, sign)| (*page, *sign)).collect();
        signs.sort_by_key(|(_, sign)| sign.function.is_none());
        signs
    }
}

/// Says of each finding what tells its function from others, and which page describes its cause, if one does: see
/// [`Finding::code`] and [`Finding::fault`]. Who has made the files is told by themselves where `producer` does not say it. `ran` is what a run has executed and compared, if there was one:
/// what a sign says that comes before a place has to have been executed, and not to have been wrong already.
pub fn point_out<'i>(
    findings: impl Iterator<Item = &'i mut Finding>,
    target: &Target<'_>,
    faults: &Faults,
    producer: Option<&Producer>,
    ran: Option<&BTreeMap<u64, bool>>,
) {
    let mut images: BTreeMap<Option<String>, Option<CausesOfImage<'_, '_, '_>>> = BTreeMap::new();
    let mut findings: Vec<&mut Finding> = findings.collect();
    let (mut signs, mut unsaid_signs) = (Vec::new(), Vec::new());
    let mut codes: HashMap<(Option<String>, u64), Option<FunctionCode>> = HashMap::new();
    let (mut functions, mut unsure) = (Vec::new(), HashSet::new());
    for finding in &mut findings {
        let image = images.entry(finding.image.clone()).or_insert_with_key(|image| {
            let module = target.modules.iter().find(|module| module.name == *image)?;
            let (abi, makers) = (module.subject.abi()?, MakersOfCode::of(&module.subject));
            Some(CausesOfImage { module, abi, makers, causes: HashMap::new() })
        });
        let start = finding.row_pc.zip(finding.row).map(|(pc, row)| pc.0.wrapping_sub(row.start.0));
        let start = start.or(finding.pc.map(|pc| pc.0));
        let function = start.map(|start| (finding.image.clone(), start));
        finding.code = image.as_ref().zip(function.clone()).and_then(|(image, function)| {
            let start = Linked(function.1);
            codes.entry(function).or_insert_with(|| image.module.function_code(start)).clone()
        });
        let finding = &**finding;
        let seen = image.as_mut().map(|image| {
            let module = image.module;
            let (causes, unnamed) = image.causes_at(start.unwrap_or_default(), faults, producer);
            let said = Some(signs_of(finding, causes, module)).filter(|signs| !signs.is_empty());
            // What nobody says is no reason to accept anything: the flags, or the maker's name, which may have been
            // removed.
            let (said, unsaid) = match said {
                Some(said) if is_sure(&said) => (said, Vec::new()),
                Some(said) => (Vec::new(), said),
                None => {
                    let unsaid = signs_of(finding, unnamed, module);
                    if unsaid.first().is_some_and(|(page, _)| is_of_compiler(faults, page)) {
                        unsure.extend(function.clone());
                    }
                    (Vec::new(), unsaid)
                }
            };
            [said, unsaid].map(|signs| SeenSigns { module: Some(module), signs })
        });
        let [said, unsaid] = seen.unwrap_or_default();
        functions.push(function);
        signs.push(said);
        unsaid_signs.push(unsaid);
    }
    // A function is of one compiler: if it may have a bug of another one, no bug of this one is certain.
    let of_function = functions.into_iter().zip(signs.iter_mut().zip(&mut unsaid_signs));
    for (function, (said, unsaid)) in of_function {
        let is_of_one = said.signs.first().is_some_and(|(page, _)| is_of_compiler(faults, page));
        if is_of_one && function.is_some_and(|function| unsure.contains(&function)) {
            std::mem::swap(said, unsaid);
        }
    }
    let (named, unsaid) = (pages(&findings, &signs, ran), pages(&findings, &unsaid_signs, ran));
    let known_as = |name: &str| Some(faults.get(name)?.known_as(name));
    for (finding, (page, unsaid)) in findings.iter_mut().zip(named.into_iter().zip(unsaid)) {
        finding.fault = page.and_then(known_as);
        if let Some(fault) = unsaid.filter(|_| page.is_none() && finding.hint.is_none()).and_then(known_as)
            && let Some(Some(image)) = images.get(&finding.image)
        {
            finding.hint = Some(looks_like_a(&fault, faults, &image.makers.file).into());
        }
    }
}

/// Whether a page is of a compiler's bug.
fn is_of_compiler(faults: &Faults, page: &str) -> bool {
    faults.get(page).is_some_and(|page| matches!(page.component, Component::Compiler(_)))
}

/// The known causes that code of a module can have.
struct CausesOfImage<'m, 't, 'f> {
    module: &'m Module<'t>,
    abi: Abi,
    makers: MakersOfCode<'m>,
    /// By who has made the code: those that it can have, and those of tools that the file need not name.
    causes: HashMap<Makers, (KnownCauses<'f>, KnownCauses<'f>)>,
}

impl<'f> CausesOfImage<'_, '_, 'f> {
    /// Those of the code at an address, if `producer` does not say who has made it all.
    fn causes_at(
        &mut self,
        address: u64,
        faults: &'f Faults,
        producer: Option<&Producer>,
    ) -> &(KnownCauses<'f>, KnownCauses<'f>) {
        let makers = if producer.is_some() { self.makers.file.clone() } else { self.makers.at(address) };
        self.causes.entry(makers).or_insert_with_key(|makers| match producer {
            Some(producer) => (KnownCauses::of(faults, producer, self.abi), KnownCauses::default()),
            None => (
                KnownCauses::of_components(faults, self.abi, |it| makers.may_have(it)),
                KnownCauses::of_components(faults, self.abi, |it| makers.may_be_unnamed(it)),
            ),
        })
    }
}

/// What the hint says at a fault that a file may have.
fn looks_like_a(fault: &KnownFault, faults: &Faults, makers: &Makers) -> String {
    let lacks = match faults.get(&fault.name).map(|page| &page.component) {
        Some(Component::Library(_)) => "does not say which version it has",
        Some(Component::Linker(_)) => "does not say how it was linked",
        Some(Component::Compiler(range))
            if range.name == Compiler::Clang && makers.may_be_of_clang(Compiler::Gcc) =>
        {
            "names GCC as well, and this function has what looks like a bug of GCC, too"
        }
        _ if makers.may_be_of_clang(Compiler::Gcc) => {
            "names a compiler with LLVM as well, and GCC's start files are in each program"
        }
        _ => "has no .comment that names its compiler",
    };
    format!("{}a bug of {}; but the file {lacks}", looks_like(&fault.name), fault.component)
}

/// How a hint begins at a fault that a file may have.
fn looks_like(name: &str) -> String {
    format!("this matches {name}, ")
}

/// Whether a finding comes from the fault that an entry names, if it names one: where the page has signs of such a finding,
/// they decide; elsewhere the person who has written the entry does, and so they do of a file that does not say who has
/// made it.
#[must_use]
pub fn is_of_its_fault(known: &Known, finding: &Finding, abi: Abi) -> bool {
    known.fault.as_ref().is_none_or(|name| {
        !known.signs.contains(&abi)
            || finding.fault.as_ref().is_some_and(|fault| fault.name == *name)
            || may_look_like(finding, name)
    })
}

/// Whether a finding has the signs of a fault, in a file that does not say whether it was made by what has the fault.
pub fn may_look_like(finding: &Finding, name: &str) -> bool {
    finding.hint.as_ref().is_some_and(|hint| hint.to_string().starts_with(&looks_like(name)))
}

/// The signs that a finding has, and the module of it.
#[derive(Default)]
struct SeenSigns<'m, 't, 'f> {
    module: Option<&'m Module<'t>>,
    signs: PagesOfSigns<'f>,
}

/// The page of each finding: that of its own sign, or of another wrong place of the same row from which the fault goes
/// on to it. A row may be wrong for several reasons, and the first of them is not that of the others.
fn pages<'f>(
    findings: &[&mut Finding],
    seen: &[SeenSigns<'_, '_, 'f>],
    ran: Option<&BTreeMap<u64, bool>>,
) -> Vec<Option<&'f str>> {
    let mut pages: Vec<Option<&str>> =
        seen.iter().map(|seen| seen.signs.first().map(|(page, _)| *page)).collect();
    let mut causes: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if let (Some(cause), Some(_)) = (finding.cause(), finding.pc) {
            causes.entry(cause).or_default().push(index);
        }
    }
    // All places at which something is wrong, by image.
    let mut wrong_in: HashMap<_, BTreeSet<u64>> = HashMap::new();
    for (finding, seen) in findings.iter().zip(seen) {
        if let (Some(module), Some(pc)) = (seen.module, finding.pc) {
            wrong_in.entry(finding.image.clone()).or_default().insert(module.loaded(Linked(pc.0)).0);
        }
    }
    for mut places in causes.into_values() {
        places.sort_by_key(|place| findings[*place].pc);
        let with_signs = places.iter().find(|place| !seen[**place].signs.is_empty());
        let Some((module, finding)) =
            with_signs.and_then(|place| Some((seen[*place].module?, &findings[*place])))
        else {
            continue;
        };
        let wrong = places.iter().filter_map(|place| {
            let pc = module.loaded(Linked(findings[*place].pc?.0)).0;
            Some((pc, seen[*place].signs.clone()))
        });
        let row = module.subject.abi().and_then(|abi| WrongRow::of(finding, abi, module));
        let code = |pc| module.code_around(Loaded(pc));
        let seen_beside = SeenBeside { ran, wrong: wrong_in.get(&finding.image) };
        let of_row = spread::pages(&wrong.collect::<Vec<_>>(), code, row, &seen_beside);
        places.into_iter().zip(of_row).for_each(|(place, page)| pages[place] = page);
    }
    pages
}

/// Says of each difference between `.sframe` and call frame information which page describes its cause, if one does.
pub fn point_out_differences(source: Source<'_>, report: &mut DiffReport, faults: &Faults) {
    if report.findings.is_empty() && report.missing.is_empty() {
        return;
    }
    let Ok(subject) = ObjectFile::parse(source) else { return };
    let Some(abi) = subject.abi() else { return };
    let makers = MakersOfCode::of(&subject);
    let causes_of = |makers: &Makers| KnownCauses::of_components(faults, abi, |it| makers.may_have(it));
    let mut causes = HashMap::new();
    for difference in &mut report.findings {
        let wrong = match difference.field {
            Field::Cfa => Verdict::WrongCfa,
            Field::Ra => Verdict::WrongRa,
            Field::Fp => Verdict::WrongFp,
            _ => continue,
        };
        let lines = &difference.instructions;
        let at = lines.iter().position(|line| line.differs);
        let shape = |line: usize| without_numbers(&lines[line].text);
        let row = difference.row.as_ref();
        let row_pc =
            row.map(|row| difference.pc.0.wrapping_sub(difference.offset.0).wrapping_add(row.start.0));
        let before = |pc: u64| lines.iter().rfind(|line| line.pc.0 < pc).map(|line| line.text.as_str());
        let seen = SeenCause {
            wrong: wrong.as_str(),
            sections: &[".sframe"],
            blame: difference.blame,
            row: row.map_or_else(|| "none".to_owned(), |row| row.rules.to_string()),
            place: SeenPlace {
                cfa: row.filter(|_| wrong == Verdict::WrongCfa).and_then(|row| {
                    let right = difference.eh_frame.parse().ok()?;
                    cfa_error_of_rules(row.rules.cfa?, right)
                }),
                row_begins: row_pc.map(|row_pc| RowBegins::of(row_pc == difference.pc.0)),
                row_ends: false,
            },
            before_row: row_pc.and_then(before),
            around: at.map(|at| ((0..at).map(shape).collect(), shape(at))),
            layout: Vec::new(),
            flags: None,
            code_in: subject.linker_made(difference.pc.0),
            function: Some(&difference.function),
            entry: Vec::new(),
            library: None,
        };
        let causes = causes.entry(makers.at(difference.pc.0)).or_insert_with_key(causes_of);
        let page = causes.page_of(&seen).and_then(|name| Some((name, faults.get(name)?)));
        difference.fault = page.map(|(name, fault)| fault.known_as(name).to_string());
    }
    let causes = causes_of(&makers.file);
    // What leaves out PLTs leaves out all of them: where .plt has rows, there is another cause.
    for missing in &mut report.missing {
        let mut tables = missing.functions.iter().map(|function| subject.linker_made(function.start.0));
        if !tables.any(|table| table == Some(".plt")) {
            continue;
        }
        let seen = SeenCause {
            wrong: "left out",
            sections: &[".sframe"],
            blame: missing.blame,
            row: "none".to_owned(),
            place: SeenPlace::default(),
            before_row: None,
            around: None,
            layout: vec![LayoutFact::LinkageTable],
            flags: None,
            code_in: Some(".plt"),
            function: None,
            entry: Vec::new(),
            library: None,
        };
        let known_as = |name: &str| Some(faults.get(name)?.known_as(name));
        let page = causes.page_of(&seen);
        missing.fault = page.and_then(known_as).map(|fault| fault.to_string());
        let unsure = causes.signs_of(&seen).into_iter().filter(|_| page.is_none());
        missing.evidence.extend(unsure.filter_map(|(name, _)| {
            let says = looks_like_a(&known_as(name)?, faults, &makers.file);
            Some(sframe_inspect::diff::Evidence { witness: Witness::Layout, says })
        }));
    }
}

/// The signs that a finding has at its place, in a file that can have these causes.
fn signs_of<'f>(finding: &Finding, causes: &KnownCauses<'f>, module: &Module<'_>) -> PagesOfSigns<'f> {
    let listed = |pc| {
        let at = finding.listing.iter().position(|line| line.pc == pc)?;
        let shape = |line: usize| without_numbers(&finding.listing[line].text);
        Some(((0..at).map(shape).collect(), shape(at)))
    };
    causes.signs_of(&seen_at(finding, finding.pc.and_then(listed), module))
}

/// What is seen of a finding at a place with these instructions.
fn seen_at<'s>(
    finding: &'s Finding,
    around: Option<(Vec<String>, String)>,
    module: &'s Module<'_>,
) -> SeenCause<'s> {
    let says_the_same = |evidence: &Evidence| {
        evidence.witness == Witness::Cfi
            && (evidence.agrees_with == Some(Side::Section)
                || matches!((&evidence.answer, &finding.row), (Some(Answer::Rules(rules)), Some(row)) if *rules == row.rules))
    };
    let sections: &[&str] = match (module.made().is_some(), finding.evidence.iter().any(says_the_same)) {
        (true, _) => &[".eh_frame", "both sections"],
        (false, true) => &["both sections"],
        (false, false) => &[".sframe"],
    };
    let text_before = |address: Address| {
        finding.listing.iter().rfind(|line| line.pc < address).map(|line| line.text.as_str())
    };
    SeenCause {
        wrong: finding.verdict.as_str(),
        sections,
        blame: finding.blame,
        row: finding.row.as_ref().map_or_else(|| "none".to_owned(), |row| row.rules.to_string()),
        place: SeenPlace::of(finding),
        before_row: finding.row_pc.and_then(text_before),
        around,
        layout: finding.evidence.iter().filter_map(Evidence::layout).collect(),
        flags: None,
        code_in: finding.pc.and_then(|pc| module.subject.linker_made(pc.0)),
        function: finding.function.as_deref(),
        entry: entry_of(finding, module),
        library: module.image.dynamic.as_ref().and_then(|dynamic| dynamic.soname.as_deref()),
    }
}

/// How wrong the CFA of a rule is where another is right, if they are apart by the same amount everywhere.
fn cfa_error_of_rules(rule: RecoveryRule, right: RecoveryRule) -> Option<CfaError> {
    let is_constant = rule.base == right.base && !rule.dereference && !right.dereference;
    is_constant.then_some(())?;
    CfaError::between(rule.offset.cast_unsigned(), right.offset.cast_unsigned())
}

/// The first instructions of the function of a finding, without their numbers, and without what only marks the entry:
/// builds of one source have it or not.
fn entry_of(finding: &Finding, module: &Module<'_>) -> Vec<String> {
    let (Some(row), Some(row_pc)) = (&finding.row, finding.row_pc) else {
        return Vec::new();
    };
    let start = module.loaded(Linked(row_pc.0.wrapping_sub(row.start.0))).0;
    let code = module.code_in(start..start.saturating_add(ENTRY_BYTES));
    let is_mark = |text: &String| text == "nop" || text == "endbr64" || text.starts_with("bti");
    let texts = code.iter().map(|(_, instruction)| without_numbers(&instruction.text));
    texts.skip_while(is_mark).take(ENTRY).collect()
}

/// How many instructions of a function's entry are compared, at most, and the bytes that hold them.
const ENTRY: usize = 8;
const ENTRY_BYTES: u64 = 128;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// In a file without symbols, the code of the entry says which function it is: nothing else does, and never a row.
    #[test]
    fn a_function_without_a_name_is_known_by_its_entry() {
        let faults = Faults::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")).expect("pages");
        let causes =
            KnownCauses::of_components(&faults, Abi::Aarch64, |component| component.name() == "glibc");
        let entry = [
            "stp x8, x9, [sp, #-N]!",
            "stp x6, x7, [sp, #N]",
            "stp x4, x5, [sp, #N]",
            "stp x2, x3, [sp, #N]",
        ];
        let seen = |function: Option<&'static str>, row: &str, entry: &[&str], library: &'static str| {
            let seen = SeenCause {
                wrong: "wrong-ra",
                sections: &["both sections"],
                blame: Blame::CompilerOrCfi,
                row: row.to_owned(),
                place: SeenPlace::default(),
                before_row: None,
                around: None,
                layout: Vec::new(),
                flags: None,
                code_in: None,
                function,
                entry: entry.iter().map(|text| (*text).to_owned()).collect(),
                library: Some(library),
            };
            causes.page_of(&seen)
        };
        let (row, library) = ("CFA = SP+208, RA = *(CFA+8), FP unchanged", "ld-linux-aarch64.so.1");
        let page = Some("glibc-resolve-entry");
        assert_eq!(seen(None, row, &entry, library), page);
        assert_eq!(seen(Some("_dl_runtime_resolve"), row, &[], library), page);
        // Another function, whatever its code; another row; another library; other code, or too little of it.
        assert_eq!(seen(Some("_dl_fixup"), row, &entry, library), None);
        assert_eq!(seen(None, "CFA = SP+208, RA = *(CFA-8), FP unchanged", &entry, library), None);
        assert_eq!(seen(None, row, &entry, "libc.so.6"), None);
        let mut other = entry;
        other[2] = "stp x4, x5, [x0, #N]";
        assert_eq!(seen(None, row, &other, library), None);
        assert_eq!(seen(None, row, &entry[..2], library), None);
        assert_eq!(seen(None, row, &[], library), None);
    }

    /// The sign of a library's fault, in a program that has the library linked in.
    #[test]
    fn code_of_a_library_that_is_linked_in_is_known_by_its_code() {
        let faults = Faults::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")).expect("pages");
        let causes = KnownCauses::of_components(&faults, Abi::Amd64, |component| component.name() == "glibc");
        let entry =
            ["push rbx", "push rbp", "lea rbx, [rdx]", "neg rbx", "mov rax, qword ptr [rsi]"].as_slice();
        let row = "CFA = SP+8, RA = *(CFA-8), FP unchanged";
        let seen = |function, library, (before, at): (&str, &str), entry: &[&str], row: &str| {
            causes.page_of(&SeenCause {
                wrong: "wrong-cfa",
                sections: &[".eh_frame", "both sections"],
                blame: Blame::CompilerOrCfi,
                row: row.to_owned(),
                place: SeenPlace { cfa: CfaError::between(0x1000, 0x1008), ..SeenPlace::default() },
                before_row: None,
                around: Some((vec![before.to_owned()], at.to_owned())),
                layout: Vec::new(),
                flags: None,
                code_in: None,
                function,
                entry: entry.iter().map(|text| (*text).to_owned()).collect(),
                library,
            })
        };
        let (name, page) = (Some("__mpn_addmul_1"), Some("glibc-addmul-pushes"));
        let at = ("push rbx", "push rbp");
        assert_eq!(seen(name, None, at, entry, row), page);
        assert_eq!(seen(name, Some("libc.so.6"), at, entry, row), page);
        assert_eq!(seen(None, None, at, entry, row), page);
        assert_eq!(seen(None, Some("libc.so.6"), at, entry, row), page);
        // Another library; other instructions; the row alone; a name alone.
        assert_eq!(seen(name, Some("libm.so.6"), at, entry, row), None);
        assert_eq!(seen(name, None, ("push rbx", "push r12"), entry, row), None);
        assert_eq!(seen(None, None, at, &["push rbx", "push rbp", "mov rbx, rdx", "neg rbx"], row), None);
        assert_eq!(seen(None, None, at, &[], row), None);
        assert_eq!(seen(Some("main"), None, at, entry, row), None);
        assert_eq!(seen(name, None, at, entry, "CFA = SP+N, RA = *(CFA-N), FP = *(CFA-N)"), None);
        let resolve = KnownCauses::of_components(&faults, Abi::Aarch64, |it| it.name() == "glibc");
        let by_name = |entry: &[&str]| {
            resolve.page_of(&SeenCause {
                wrong: "wrong-ra",
                sections: &[".eh_frame", "both sections"],
                blame: Blame::CompilerOrCfi,
                row: "CFA = SP+208, RA = *(CFA+8), FP unchanged".to_owned(),
                place: SeenPlace { cfa: CfaError::between(0x1000, 0x1010), ..SeenPlace::default() },
                before_row: None,
                around: None,
                layout: Vec::new(),
                flags: None,
                code_in: None,
                function: Some("_dl_runtime_resolve"),
                entry: entry.iter().map(|text| (*text).to_owned()).collect(),
                library: None,
            })
        };
        let entry = ["stp x8, x9, [sp, #-N]!", "stp x6, x7, [sp, #N]", "stp x4, x5, [sp, #N]"];
        assert_eq!(by_name(&entry), Some("glibc-resolve-entry"));
        assert_eq!(by_name(&["stp x29, x30, [sp, #-N]!", "mov x29, sp", "ret"]), None);
        assert_eq!(by_name(&[]), None);
    }

    /// Each of glibc's faults is known by all that its page says, and excuses no other mistake in the function.
    #[test]
    fn a_fault_of_glibc_excuses_no_other_mistake() {
        let faults = Faults::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")).expect("pages");
        let mut pages = 0;
        for (name, page, _) in faults.iter().filter(|(_, page, _)| page.component.name() == "glibc") {
            pages += 1;
            let each = page.signs.iter().flat_map(|sign| sign.each().into_iter().map(move |it| (sign, it)));
            for (sign, (abi, section, row, at)) in each {
                let causes = KnownCauses::of_components(&faults, abi, |it| it.name() == "glibc");
                let function = sign.function.as_ref().map(|function| function.to_string().replace('*', "__"));
                let seen = SeenCause {
                    wrong: &sign.wrong,
                    sections: &[section],
                    blame: page.blame(),
                    row: row.to_owned(),
                    place: SeenPlace { cfa: sign.cfa, row_begins: sign.row_begins, row_ends: sign.row_ends },
                    before_row: None,
                    around: Some((sign.after.clone(), at.unwrap_or("nop").to_owned())),
                    layout: sign.layout.into_iter().collect(),
                    flags: None,
                    code_in: sign.code_in.as_deref(),
                    function: function.as_deref(),
                    entry: sign.entry.clone(),
                    library: sign.library.as_deref(),
                };
                assert_eq!(causes.page_of(&seen), Some(name), "{sign:?}");
                let other_verdict = if sign.wrong == "wrong-fp" { "wrong-ra" } else { "wrong-fp" };
                let mut others = vec![
                    SeenCause { wrong: other_verdict, ..seen.clone() },
                    SeenCause { row: "CFA = SP+N, RA = *(CFA-N), FP = r9".to_owned(), ..seen.clone() },
                    SeenCause { blame: Blame::ProducerLinker, ..seen.clone() },
                    SeenCause { function: Some("main"), ..seen.clone() },
                    SeenCause { library: Some("libz.so.1"), ..seen.clone() },
                ];
                let other_cfas = [None, CfaError::between(0x1007, 0x1000), CfaError::between(0x1000, 0x1007)];
                for cfa in other_cfas.into_iter().filter(|_| sign.cfa.is_some()) {
                    // Some are always wrong by the same amount, the others to the same side.
                    if !cfa.zip(sign.cfa).is_some_and(|(seen, known)| known.includes(seen)) {
                        others.push(SeenCause { place: SeenPlace { cfa, ..seen.place }, ..seen.clone() });
                    }
                }
                if !sign.entry.is_empty() {
                    let entry = vec!["ret".to_owned(); sign.entry.len()];
                    others.push(SeenCause { function: None, entry, ..seen.clone() });
                }
                if let Some(at) = at {
                    let around = |before: &[String], at: &str| Some((before.to_vec(), at.to_owned()));
                    others.push(SeenCause { around: around(&sign.after, "udf #0"), ..seen.clone() });
                    others.push(SeenCause {
                        around: around(&vec!["nop".to_owned(); sign.after.len()], at),
                        function: function.as_deref().filter(|_| !sign.after.is_empty()),
                        ..seen.clone()
                    });
                }
                for other in others {
                    if sign.after.is_empty() && other.function.is_none() && other.entry == sign.entry {
                        continue;
                    }
                    assert_eq!(causes.page_of(&other), None, "{name}: {other:?}");
                }
            }
        }
        assert!(pages >= 10, "{pages}");
    }

    #[test]
    fn numbers_do_not_matter_and_registers_do() {
        assert_eq!(
            without_numbers("CFA = SP+160, RA = *(CFA-48), FP = x29"),
            "CFA = SP+N, RA = *(CFA-N), FP = x29"
        );
        assert_eq!(without_numbers("CFA = r10, 1 of 22 at 0x28a"), "CFA = r10, N of N at N");
        assert_eq!(without_addresses("at 0x4010ab: 12"), "at N: 12");
        assert!(
            is_instruction("call *", "call qword ptr [rip + 16]")
                && is_instruction("lea rsp, *", "lea rsp, [rsp]")
        );
        assert!(!is_instruction("call *", "jmp rax") && !is_instruction("lea rsp, *", "lea rax, [rsp]"));
        let is_known = |this: &str| is_instruction("lea rsp, [R - N]", this);
        assert!(is_known("lea rsp, [r10 - 8]") && is_known("lea rsp, [rbp - 16]"));
        assert!(!is_known("lea rsp, [rsp - 8]"), "that adjusts SP, and takes it from no other register");
    }
}
