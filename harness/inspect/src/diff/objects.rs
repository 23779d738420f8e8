//! What the objects that a file was linked from say of functions that have no FDE in it.

use std::collections::{BTreeMap, BTreeSet};

use object::elf::SHF_GROUP;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SymbolKind};

use super::blame::{Blamed, Evidence};
use super::reason::Reason;
use super::report::{Extent, Missing};
use super::{DiffError, DiffReport};
use sframe_elf::bounded::{self, File};
use sframe_elf::linked_code::LinkedCode;
use sframe_elf::object_file::{ObjectFile, ObjectFileError};
use sframe_elf::relocatable::lay_out;
use sframe_elf::source::Source;
use sframe_kit::text::first_of;
use sframe_kit::{Blame, Confidence, Witness};

/// What an object has for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Has {
    Fde,
    NoFde,
    NoSection,
    /// No FDE, but the object is itself linked from others (`ld -r`), of which any may have had none.
    Joined,
    /// A section of another version than the linked file.
    OtherVersion,
}

impl Has {
    /// Which component has left the FDE out of the linked file. Without a section, none has.
    fn blamed(self, files: &[&str]) -> Blamed {
        let (files, have) = (first_of(files, SHOWN), if files.len() == 1 { "has" } else { "have" });
        let (blame, says) = match self {
            Self::Fde => (
                Blame::ProducerLinker,
                format!("{files} {have} this code with FDEs: the linker has lost them"),
            ),
            Self::NoFde => (
                Blame::ProducerAssembler,
                format!("{files} {have} this code and .sframe, and no FDEs for the code"),
            ),
            Self::NoSection => (Blame::Unknown, format!("{files} {have} no .sframe")),
            Self::Joined => (
                Blame::Unknown,
                format!(
                    "{files} {have} no FDEs for this code, and may have been linked from objects with them"
                ),
            ),
            Self::OtherVersion => {
                (Blame::Unknown, format!("{files} {have} this code, and .sframe of another version"))
            }
        };
        let evidence = vec![Evidence { witness: Witness::Layout, says }];
        Blamed { blame, confidence: Confidence::High, evidence }
    }
}

/// The number of objects that are named.
const SHOWN: usize = 4;

/// Without a name, a function is known by its code alone if it has at least this many bytes that no relocation changes.
const TELLING: usize = 16;

/// A function of an object.
#[derive(Debug)]
struct Function {
    name: String,
    code: LinkedCode,
    has: Has,
    version: Option<u8>,
    /// Whether a linker keeps one of several definitions: it is weak, or in a COMDAT group.
    is_one_of_several: bool,
    file: String,
}

impl Function {
    fn is_telling(&self) -> bool {
        self.code.known() >= TELLING
    }
}

/// The relocatable objects that a file was linked from, or some of them.
#[derive(Debug, Default)]
pub struct Objects {
    /// By size.
    functions: BTreeMap<usize, Vec<Function>>,
    /// What ABI the first object is for.
    abi: Option<&'static str>,
}

impl Objects {
    /// Adds an object.
    ///
    /// # Errors
    /// It can't be read, it is not relocatable, or it is for another ABI than another object.
    pub fn add<'a>(&mut self, source: impl Into<Source<'a>>, name: &str) -> Result<(), DiffError> {
        let source = source.into();
        let laid_out = lay_out(source)?.ok_or(DiffError::Linked)?;
        let subject = ObjectFile::parse(Source::from(&laid_out))?;
        let abi = subject.abi().ok_or(DiffError::Machine)?;
        let first = *self.abi.get_or_insert(abi.name());
        if first != abi.name() {
            return Err(DiffError::OtherAbi { object: abi.name(), file: first });
        }
        let (sframe, cfi) = (subject.section().ok(), subject.call_frame_info());
        let section = sframe.as_ref().map(|sframe| sframe.open(0, abi)).transpose()?;
        // They are in no order yet.
        let fdes = section.iter().flat_map(|section| section.fdes().flatten());
        let fdes: BTreeMap<u64, u64> = fdes.map(|fde| (fde.start, fde.size.into())).collect();
        let is_covered = |address: u64| {
            let last = fdes.range(..=address).next_back();
            last.is_some_and(|(start, size)| address - start < *size)
        };
        let placed: File<'_> = bounded::open::<ObjectFileError>(Source::from(&laid_out))?;
        let elf: File<'_> = bounded::open::<ObjectFileError>(source)?;
        let mut codes: BTreeMap<usize, Option<LinkedCode>> = BTreeMap::new();
        let is_joined = elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::File).count() > 1;
        for symbol in elf.symbols() {
            let Some(index) = symbol.section_index().filter(|_| symbol.kind() == SymbolKind::Text) else {
                continue;
            };
            let (Ok(own), Ok(laid)) = (elf.section_by_index(index), placed.section_by_index(index)) else {
                continue;
            };
            let SectionFlags::Elf { sh_flags, .. } = own.flags() else { continue };
            let start = symbol.address();
            // Some people's functions have no size, and call frame information has it.
            let described = || {
                let at = laid.address().wrapping_add(start);
                cfi.as_ref()?.fde_at(at).filter(|fde| fde.range.start == at)
            };
            let size = match symbol.size() {
                0 => described().map_or(0, |fde| fde.range.end.saturating_sub(fde.range.start)),
                size => size,
            };
            let Ok(function) = symbol.name() else { continue };
            let code = codes.entry(index.0).or_insert_with(|| LinkedCode::of_relocatable(&own));
            let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let code =
                code.as_ref().and_then(|code| code.part(offset(start)..offset(start.saturating_add(size))));
            let Some(code) = code else { continue };
            let has = match &section {
                Some(_) if is_covered(laid.address().wrapping_add(start)) => Has::Fde,
                _ if is_joined => Has::Joined,
                Some(_) => Has::NoFde,
                None => Has::NoSection,
            };
            self.functions.entry(code.size()).or_default().push(Function {
                name: function.to_owned(),
                code,
                has,
                version: section.as_ref().map(|section| section.header().version.number()),
                is_one_of_several: sh_flags.contains(SHF_GROUP) || symbol.is_weak(),
                file: name.to_owned(),
            });
        }
        Ok(())
    }

    /// Whether no object has a function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The objects that have a function, and what they have for it, if that is the same.
    fn origin(&self, function: &Extent, code: &LinkedCode, version: u8) -> Option<(Has, BTreeSet<&str>)> {
        let is_named = |it: &&Function| it.name == function.function;
        let is_nameless = function.function.starts_with("0x");
        let all = self
            .functions
            .get(&code.size())?
            .iter()
            .filter(|it| is_named(it) || is_nameless && it.is_telling());
        let mut all: Vec<&Function> = all.filter(|it| it.code.is(code)).collect();
        // Any other definition of that name is kept instead.
        if !is_nameless && all.iter().any(|it| !it.is_one_of_several) {
            all.retain(|it| !it.is_one_of_several);
        }
        let has = |it: &Function| match it.version {
            Some(other) if other != version => Has::OtherVersion,
            _ => it.has,
        };
        let first = has(all.first()?);
        let files = |of: Has| all.iter().filter(|it| has(it) == of).map(|it| &*it.file).collect();
        if all.iter().all(|it| has(it) == first) {
            return Some((first, files(first)));
        }
        // The one that was kept may be one without a section.
        let may_be_without = all.iter().any(|it| it.is_one_of_several && has(it) == Has::NoSection);
        may_be_without.then(|| (Has::NoSection, files(Has::NoSection)))
    }
}

impl DiffReport {
    /// Says of functions without an FDE whether the objects that they come from have one. `source` is the file that the
    /// report is about.
    ///
    /// # Errors
    /// The objects are for another ABI.
    pub fn add_objects<'a>(
        &mut self,
        objects: &Objects,
        source: impl Into<Source<'a>>,
    ) -> Result<(), DiffError> {
        if let Some(object) = objects.abi.filter(|abi| *abi != self.abi) {
            return Err(DiffError::OtherAbi { object, file: self.abi });
        }
        let is_open = |missing: &Missing| missing.blame == Blame::Unknown && !objects.is_empty();
        let (open, mut all): (Vec<_>, Vec<_>) = self.missing.drain(..).partition(is_open);
        let file = if open.is_empty() { None } else { Some(ObjectFile::parse(source)?) };
        let code: Vec<(u64, &[u8])> = file.iter().flat_map(ObjectFile::code).collect();
        let code_of = |function: &Extent| {
            code.iter().find_map(|(address, bytes)| {
                let at = usize::try_from(function.start.0.checked_sub(*address)?).ok()?;
                let bytes = bytes.get(at..at.checked_add(usize::try_from(function.size).ok()?)?);
                bytes.map(LinkedCode::whole)
            })
        };
        for Missing { functions, blame, confidence, evidence, .. } in open {
            let mut known: BTreeMap<Has, (Vec<Extent>, BTreeSet<&str>)> = BTreeMap::new();
            let mut others = Vec::new();
            for function in functions {
                let origin =
                    code_of(&function).and_then(|code| objects.origin(&function, &code, self.sframe_version));
                let Some((has, files)) = origin else {
                    others.push(function);
                    continue;
                };
                // Whoever was not asked for an FDE has lost none.
                if has == Has::NoSection {
                    self.never_had(&function, has.blamed(&Vec::from_iter(files)));
                    continue;
                }
                let (functions, of) = known.entry(has).or_default();
                of.extend(files);
                functions.push(function);
            }
            for (has, (functions, files)) in known {
                all.push(Missing::by(functions, has.blamed(&Vec::from_iter(files))));
            }
            if !others.is_empty() {
                all.push(Missing::by(others, Blamed { blame, confidence, evidence }));
            }
        }
        self.missing = all;
        Ok(())
    }

    /// Says of a function without an FDE that the objects which it comes from have no section.
    fn never_had(&mut self, function: &Extent, Blamed { evidence, .. }: Blamed) {
        let of_function = self.uncovered.iter_mut().find(|it| it.extent == *function);
        if let (Some(uncovered), Some(evidence)) = (of_function, evidence.into_iter().next()) {
            (uncovered.reason, uncovered.message) = (Some(Reason::NoSection), evidence.says);
        }
    }
}
