//! Lints a file's `.sframe` sections, and the file around them.

use std::ops::Range;

use object::elf::{
    ET_REL, PF_R, PF_W, PF_X, PT_LOAD, ProgramFlags, ProgramHeader64, SHF_ALLOC, SHF_COMPRESSED, SHF_EXCLUDE,
    SHF_EXECINSTR, SHF_GROUP, SHF_LINK_ORDER, SHF_MERGE, SHF_OS_NONCONFORMING, SHF_STRINGS, SHF_TLS,
    SHF_WRITE, SHN_UNDEF, SHT_GNU_SFRAME, SHT_PROGBITS, STT_FUNC, SectionFlags, SectionType,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, Object, ObjectSymbol, SectionIndex};
use sframe_engine::lint::{self, Linkage, Rule};
use sframe_engine::{Abi, Header, Section, Version};

use super::catalogue as rules;
use super::kept_relocations::kept_relocations;
use super::report::{Finding, LintReport, Summary};
use sframe_elf::abi::abi_of;
use sframe_elf::bounded::{self, SharedBytes, Tables};
#[cfg(feature = "disassembly")]
use sframe_elf::code_digest::FunctionCodes;
use sframe_elf::find_sframe::{MissingSection, OutsideFile, SectionBytes, Segments};
use sframe_elf::function_code::FunctionCode;
use sframe_elf::merge_faults::{MergeFault, MergeFaultKind, merge_faults};
use sframe_elf::object_file::stubs;
use sframe_elf::source::Source;
use sframe_elf::symbols::Symbols;
use sframe_elf::unknown_symbol::UnknownSymbol;
use sframe_kit::ranges::{merge, position};

/// Why a file can't be linted.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
    /// It is not a 64-bit ELF file, or its tables are malformed.
    #[error("the file can't be read: {0}")]
    Object(#[from] object::Error),
    /// The file shrank while it was read, or its disk failed.
    #[error("the file can't be read to its end")]
    Unreadable,
    /// Its tables would take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// A relocation names a symbol that is not there.
    #[error(transparent)]
    Symbol(#[from] UnknownSymbol),
    /// A section's header contradicts the file.
    #[error(transparent)]
    OutsideFile(#[from] OutsideFile),
    /// There is nothing to lint.
    #[error(transparent)]
    NoSection(#[from] MissingSection),
    /// It is neither an ELF file nor a section.
    #[error("the file starts neither as an ELF file nor as an SFrame section")]
    UnknownFormat,
}

/// Lints an ELF file, or a file with the bytes of a section. `name` is its name in
/// the report.
///
/// # Errors
/// The file is neither, its tables are malformed, or it has no section.
pub fn lint_file<'a>(source: impl Into<Source<'a>>, name: &str) -> Result<LintReport, LintError> {
    let source = source.into();
    let mut findings = Vec::new();
    let header = if source.starts_with(b"\x7fELF") {
        let file = File::parse(source)?;
        file.lint(&mut findings)?
    } else if source.starts_with(&[0xe2, 0xde]) || source.starts_with(&[0xde, 0xe2]) {
        let bytes = source.all().ok_or(LintError::Unreadable)?;
        lint_section(&bytes, 0, Linkage::Linked { executable: None }, &|_| (None, None), &mut findings);
        Header::parse(&bytes).ok()
    } else {
        return Err(LintError::UnknownFormat);
    };
    Ok(LintReport {
        coverage_unknown: None,
        schema: 1,
        file: name.to_owned(),
        abi: header.map(|header| header.abi.name()),
        sframe_version: header.map(|header| header.version.number()),
        summary: Summary::of(&findings),
        findings,
        known: Vec::new(),
    })
}

/// The name of a function, and what tells it from others.
type Name = (Option<String>, Option<FunctionCode>);

/// Applies the engine's rules. `name_of` names the function of an FDE.
fn lint_section(
    data: &[u8],
    address: u64,
    linkage: Linkage<'_>,
    name_of: &dyn Fn(Range<u64>) -> Name,
    findings: &mut Vec<Finding>,
) {
    let section = Section::parse(data, address).ok();
    // An FDE takes at least 16 bytes.
    let mut scratch = vec![0; data.len() / 16];
    lint::lint(data, address, linkage, &mut scratch, &mut |finding| {
        let fde = finding.fde.and_then(|index| section.as_ref()?.fde(index).ok());
        let extent = fde.map(|fde| fde.start..fde.start.saturating_add(fde.size.into()));
        let (function, code) = extent.map(name_of).unwrap_or_default();
        findings.push(Finding {
            fde: finding.fde,
            row: finding.row,
            function,
            code,
            ..Finding::new(finding.rule, finding.offset, finding.to_string())
        });
    });
}

/// One `.sframe` section, or the segment if the section table is stripped.
struct Sframe<'a> {
    data: &'a [u8],
    address: u64,
    /// Where it is in the file.
    offset: u64,
    /// Section type, flags, alignment and index; `None` for a segment.
    section: Option<(SectionType, SectionFlags, u64, SectionIndex)>,
}

impl Sframe<'_> {
    fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.data.len() as u64)
    }
}

/// A segment: PT_GNU_SFRAME, or one that is loaded.
struct Segment {
    /// Its addresses.
    memory: Range<u64>,
    /// Where it is in the file.
    file: Range<u64>,
    flags: ProgramFlags,
}

struct File<'a> {
    elf: bounded::File<'a>,
    relocatable: bool,
    loaded: Vec<Segment>,
    /// Addresses of executable segments, sorted and merged if they meet.
    executable: Vec<Range<u64>>,
    segments: Vec<Segment>,
    sframes: Vec<Sframe<'a>>,
}

impl<'a> File<'a> {
    fn parse(source: Source<'a>) -> Result<Self, LintError> {
        let elf = bounded::open::<LintError>(source)?;
        UnknownSymbol::check(&elf)?;
        let tables = Tables::of(&elf);
        let endian = tables.endian;
        let segment = |segment: &ProgramHeader64<Endianness>| {
            let range = |start: u64, len| start..start.saturating_add(len);
            Segment {
                memory: range(segment.p_vaddr(endian), segment.p_memsz(endian)),
                file: range(segment.p_offset(endian), segment.p_filesz(endian)),
                flags: segment.p_flags(endian),
            }
        };
        let is_loaded = |segment: &&ProgramHeader64<Endianness>| segment.p_type(endian) == PT_LOAD;
        let loaded: Vec<Segment> = tables.segments.iter().filter(is_loaded).map(segment).collect();
        let executable = loaded.iter().filter(|segment| segment.flags.contains(PF_X));
        let executable = merge(executable.map(|segment| segment.memory.clone()).collect());
        let mut sframes = Vec::new();
        for (index, header) in tables.sframe_sections() {
            let SectionBytes { data, address } = tables.bytes_of_section(header)?;
            // An alignment of 0 is one of 1.
            let alignment = header.sh_addralign(endian).max(1);
            let section = Some((header.sh_type(endian), header.sh_flags(endian), alignment, index));
            sframes.push(Sframe { data, address, offset: header.sh_offset(endian), section });
        }
        let segments = tables.sframe_segments(Segments::InFile).map(|(_, header)| segment(header));
        let segments: Vec<Segment> = segments.collect();
        if sframes.is_empty() {
            let (SectionBytes { data, address }, _) =
                tables.sframe()?.ok_or_else(|| tables.missing_sframe())?;
            let offset = segments.first().map_or(0, |segment| segment.file.start);
            sframes.push(Sframe { data, address, offset, section: None });
        }
        let header = tables.header;
        let relocatable = header.e_type(endian) == ET_REL;
        Ok(Self { relocatable, loaded, executable, segments, sframes, elf })
    }

    fn lint(&self, findings: &mut Vec<Finding>) -> Result<Option<Header>, LintError> {
        let symbols = Symbols::read(&self.elf);
        #[cfg(feature = "disassembly")]
        let codes = FunctionCodes::of(&self.elf);
        #[cfg(feature = "disassembly")]
        let code_of = |extent: Range<u64>| Some(codes.of_function(&symbols, extent.start, extent));
        #[cfg(not(feature = "disassembly"))]
        let code_of = |_| None;
        let name_of = |extent: Range<u64>| {
            if self.relocatable {
                return (None, None);
            }
            let name = symbols.at(extent.start).map(|(name, _)| name.to_owned());
            (name, code_of(extent))
        };
        if self.sframes.len() > 1 && !self.relocatable {
            report(findings, &rules::SEVERAL_SECTIONS, &[&self.sframes.len()]);
        }
        if self.segments.len() > 1 {
            report(findings, &rules::SEVERAL_SEGMENTS, &[&self.segments.len()]);
        }
        let mut first = None;
        let mut covered = Vec::new();
        for sframe in &self.sframes {
            let header = Header::parse(sframe.data).ok();
            first = first.or(header);
            self.check_section(sframe, header.as_ref(), findings);
            if sframe.data.is_empty() {
                report(findings, &rules::EMPTY_SECTION, &[]);
                continue;
            }
            if let Some(header) = &header {
                let file = abi_of(&self.elf);
                if file != Some(header.abi) {
                    let file = file.map_or("another machine", Abi::name);
                    report(findings, &rules::ABI_MISMATCH, &[&header.abi.name(), &file]);
                }
            }
            let linkage = if self.relocatable {
                Linkage::Relocatable
            } else {
                Linkage::Linked { executable: Some(&self.executable) }
            };
            let first_of_section = findings.len();
            lint_section(sframe.data, sframe.address, linkage, &name_of, findings);
            if let Ok(section) = Section::parse(sframe.data, sframe.address) {
                let fdes = section.fdes().flatten().filter(|fde| fde.size > 0);
                covered.extend(fdes.map(|fde| fde.start..fde.start.saturating_add(fde.size.into())));
                let index = sframe.section.map(|(.., index)| index);
                for fault in merge_faults(&self.elf, &section, index, &symbols) {
                    // Consequences of a fault are not reported separately.
                    let mut found = findings.split_off(first_of_section);
                    found.retain(|finding| finding.fde.is_none_or(|fde| !fault.spoilt.contains(&fde)));
                    found.extend(merge_finding(&fault));
                    findings.append(&mut found);
                    covered.extend(fault.lost);
                }
                let kept = index.filter(|_| !self.relocatable);
                if let Some(kept) = kept.and_then(|index| kept_relocations(&self.elf, &section, index)) {
                    let values: [&dyn std::fmt::Display; 4] =
                        [&kept.misplaced, &kept.wrong, &kept.unrelocated, &hex(kept.first)];
                    let message = rules::KEPT_RELOCATIONS.sentence(&values).to_string();
                    let offset = usize::try_from(kept.first).unwrap_or(usize::MAX);
                    findings.push(Finding::new(&rules::KEPT_RELOCATIONS, offset, message));
                }
            }
        }
        if !self.relocatable {
            self.check_coverage(merge(covered), &|extent| name_of(extent).1, findings);
        }
        Ok(first)
    }

    /// Checks how the file contains a section: type, flags, segments, alignment.
    fn check_section(&self, sframe: &Sframe<'_>, header: Option<&Header>, findings: &mut Vec<Finding>) {
        if let Some((kind, flags, ..)) = sframe.section {
            if kind != SHT_GNU_SFRAME {
                let name = match kind {
                    SHT_PROGBITS => "SHT_PROGBITS".to_owned(),
                    kind => format!("{:#x}", kind.0),
                };
                let old = kind == SHT_PROGBITS && header.is_some_and(|header| !has_erratum_1(header));
                let rule = if old { &rules::SECTION_TYPE_OLD } else { &rules::SECTION_TYPE };
                report(findings, rule, &[&name]);
            }
            let wrong = [
                (SHF_WRITE, "SHF_WRITE"),
                (SHF_EXECINSTR, "SHF_EXECINSTR"),
                (SHF_MERGE, "SHF_MERGE"),
                (SHF_STRINGS, "SHF_STRINGS"),
                (SHF_TLS, "SHF_TLS"),
                (SHF_COMPRESSED, "SHF_COMPRESSED"),
                (SHF_EXCLUDE, "SHF_EXCLUDE"),
                (SHF_OS_NONCONFORMING, "SHF_OS_NONCONFORMING"),
            ];
            let for_linkers = [(SHF_GROUP, "SHF_GROUP"), (SHF_LINK_ORDER, "SHF_LINK_ORDER")];
            let wrong = wrong.into_iter().chain(for_linkers.into_iter().filter(|_| !self.relocatable));
            let wrong: Vec<&str> =
                wrong.filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| name).collect();
            if !wrong.is_empty() {
                report(findings, &rules::SECTION_FLAGS, &[&wrong.join(" and ")]);
            }
            if !flags.contains(SHF_ALLOC) {
                report(findings, &rules::NOT_LOADED, &[&"SHF_ALLOC is not set"]);
                return;
            }
        }
        if let Some((.., alignment, _)) = sframe.section
            && !alignment.is_multiple_of(4)
        {
            report(findings, &rules::ALIGNMENT, &[&format!("is aligned to {alignment}")]);
        }
        let range = sframe.range();
        if self.relocatable {
            return;
        }
        if let Some(why) = self.why_not_loaded(sframe) {
            report(findings, &rules::NOT_LOADED, &[&why]);
        }
        if !sframe.address.is_multiple_of(4) {
            report(findings, &rules::ALIGNMENT, &[&format!("lies at {:#x}", sframe.address)]);
        }
        // The segment that belongs to this section, or otherwise the first.
        let segment = self.segments.iter().find(|segment| segment.memory.start == range.start);
        let Some(segment) = segment.or(self.segments.first()) else {
            report(findings, &rules::NO_SEGMENT, &[]);
            return;
        };
        let file = sframe.offset..sframe.offset.saturating_add(sframe.data.len() as u64);
        let holds =
            |outer: &Range<u64>, inner: &Range<u64>| outer.start == inner.start && inner.end <= outer.end;
        if !holds(&segment.memory, &range) || !holds(&segment.file, &file) {
            let text = |memory: &Range<u64>, file: &Range<u64>| {
                format!(
                    "{:#x}-{:#x}, {:#x}-{:#x} in the file",
                    memory.start, memory.end, file.start, file.end
                )
            };
            let (segment, section) = (text(&segment.memory, &segment.file), text(&range, &file));
            report(findings, &rules::SEGMENT_MISMATCH, &[&segment, &section]);
        } else if segment.memory.end > range.end {
            let longer = segment.memory.end - range.end;
            report(findings, &rules::SEGMENT_LONGER, &[&longer, &sframe.data.len()]);
        }
        if segment.flags != PF_R {
            let flags = [(PF_R, "PF_R"), (PF_W, "PF_W"), (PF_X, "PF_X")];
            let flags = flags.into_iter().filter(|(flag, _)| segment.flags.contains(*flag));
            let flags: Vec<&str> = flags.map(|(_, name)| name).collect();
            let flags = if flags.is_empty() { "0".to_owned() } else { flags.join(" and ") };
            report(findings, &rules::SEGMENT_FLAGS, &[&flags]);
        }
    }

    /// Why a loader does not put the bytes of a section where it is said to be.
    fn why_not_loaded(&self, sframe: &Sframe<'_>) -> Option<String> {
        let range = sframe.range();
        let holds =
            |segment: &&Segment| segment.memory.start <= range.start && range.end <= segment.memory.end;
        let Some(segment) = self.loaded.iter().find(holds) else {
            return Some("it lies in no loaded segment".to_owned());
        };
        let from = segment.file.start.saturating_add(range.start - segment.memory.start);
        if from != sframe.offset {
            let offset = hex(sframe.offset);
            return Some(format!("it is at offset {offset}, and its address is loaded from {}", hex(from)));
        }
        let end = sframe.offset.saturating_add(sframe.data.len() as u64);
        let cut = end.saturating_sub(segment.file.end.max(sframe.offset));
        (cut > 0)
            .then(|| format!("of its {} bytes, the segment ends before the last {cut}", sframe.data.len()))
    }

    /// Returns the code of every function symbol: its start, its end, its name. Code of another file does not count.
    fn functions(&self) -> impl Iterator<Item = (u64, u64, &'a str)> {
        let endian = self.elf.endian();
        let stubs = stubs(&self.elf).unwrap_or_default();
        self.elf.symbols().chain(self.elf.dynamic_symbols()).filter_map(move |symbol| {
            let raw = symbol.elf_symbol();
            let is_function = raw.st_type() == STT_FUNC && raw.st_shndx(endian) != SHN_UNDEF;
            let (start, size) = (symbol.address(), symbol.size());
            let is_code = is_function && size > 0 && position(&self.executable, start).is_some();
            let is_code = is_code && !stubs.contains(&start);
            if !is_code {
                return None;
            }
            Some((start, start.saturating_add(size), symbol.name().ok()?))
        })
    }

    /// Checks that the code of every function symbol has FDEs. Of several symbols at
    /// one address, the shortest function counts, by its first name.
    fn check_coverage(
        &self,
        covered: Vec<Range<u64>>,
        code_of: &dyn Fn(Range<u64>) -> Option<FunctionCode>,
        findings: &mut Vec<Finding>,
    ) {
        let mut functions: Vec<(u64, u64)> = self.functions().map(|(start, end, _)| (start, end)).collect();
        functions.sort_unstable();
        functions.dedup_by_key(|(start, _)| *start);
        functions.retain(|(start, end)| position(&covered, *start).is_none_or(|range| range.end < *end));
        let is_found = |(start, end, _): &(u64, u64, &str)| functions.binary_search(&(*start, *end)).is_ok();
        let mut named: Vec<(u64, u64, &str)> = self.functions().filter(is_found).collect();
        named.sort_unstable();
        named.dedup_by_key(|(start, ..)| *start);
        for (start, end, name) in named {
            let at = hex(start);
            let missing = first_gap(&covered, start..end);
            let finding = if missing == (start..end) {
                let message = rules::UNCOVERED.sentence(&[&name, &at]).to_string();
                Finding::new(&rules::UNCOVERED, 0, message)
            } else {
                let (from, to) = (hex(missing.start), hex(missing.end));
                let message = rules::PARTLY_COVERED.sentence(&[&name, &at, &from, &to]).to_string();
                Finding::new(&rules::PARTLY_COVERED, 0, message)
            };
            findings.push(Finding { function: Some(name.to_owned()), code: code_of(start..end), ..finding });
        }
    }
}

/// Returns the first addresses of a range that none of these sorted ranges covers.
fn first_gap(covered: &[Range<u64>], range: Range<u64>) -> Range<u64> {
    let from = position(covered, range.start).map_or(range.start, |first| first.end);
    let behind = covered.partition_point(|other| other.start < from);
    let to = covered.get(behind).map_or(range.end, |next| next.start.min(range.end));
    from..to
}

/// Whether the section uses what version 2 erratum 1 introduced. There is no other
/// sign that a section of version 2 was written after it.
fn has_erratum_1(header: &Header) -> bool {
    let is_known_by_parts = || header.flags.func_start_pcrel() || !Version::V1.has_abi(header.abi);
    header.version.has_erratum_1().unwrap_or_else(is_known_by_parts)
}

/// Returns the finding for a merge fault, unless the section alone shows it.
fn merge_finding(fault: &MergeFault) -> Option<Finding> {
    let offset = hex(fault.offset);
    let (rule, message) = match fault.kind {
        MergeFaultKind::Concatenated { .. } => return None,
        MergeFaultKind::MisplacedRelocations { relocations, unrelocated } => {
            let rule = &rules::MISPLACED_RELOCATIONS;
            (rule, rule.sentence(&[&relocations, &offset, &unrelocated]).to_string())
        }
        MergeFaultKind::UnconvertedStarts { starts } => {
            let rule = &rules::UNCONVERTED_STARTS;
            (rule, rule.sentence(&[&starts, &offset]).to_string())
        }
        MergeFaultKind::Stale { fdes, .. } => {
            let rule = &rules::STALE_FDES;
            (rule, rule.sentence(&[&fdes, &offset]).to_string())
        }
    };
    Some(Finding::new(rule, usize::try_from(fault.offset).unwrap_or(usize::MAX), message))
}

fn report(findings: &mut Vec<Finding>, rule: &'static Rule, values: &[&dyn std::fmt::Display]) {
    findings.push(Finding::new(rule, 0, rule.sentence(values).to_string()));
}

fn hex(address: u64) -> String {
    format!("{address:#x}")
}
