//! What the objects that a file was linked from say of functions that have no FDE in it.

use std::collections::{BTreeMap, BTreeSet};

use super::blame::{Blamed, Evidence};
use super::report::{Extent, Missing};
use super::{DiffError, DiffReport};
use crate::elf::object_file::ObjectFile;
use crate::elf::relocatable::lay_out;
use crate::source::Source;
use crate::text::first_of;
use crate::{Blame, Confidence, Witness};

/// What an object has for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Has {
    Fde,
    NoFde,
    NoSection,
}

impl Has {
    /// Whose doing it is that the linked file has no FDE.
    fn blamed(self, files: &[&str]) -> Blamed {
        let (files, have) = (first_of(files, SHOWN), if files.len() == 1 { "has" } else { "have" });
        let (blame, says) = match self {
            Self::Fde => {
                (Blame::ProducerLinker, format!("{files} {have} their FDEs: the linker has lost them"))
            }
            Self::NoFde => {
                (Blame::ProducerAssembler, format!("{files} {have} .sframe, and no FDEs for them"))
            }
            Self::NoSection => {
                let says = format!("{files} {have} no .sframe: nobody has asked the assembler for it");
                (Blame::Unknown, says)
            }
        };
        let evidence = vec![Evidence { witness: Witness::Layout, says }];
        Blamed { blame, confidence: Confidence::High, evidence }
    }
}

/// The number of objects that are named.
const SHOWN: usize = 4;

/// The relocatable objects that a file was linked from, or some of them.
#[derive(Debug, Default)]
pub struct Objects {
    /// By function, each object that has one of this name.
    functions: BTreeMap<String, Vec<(Has, String)>>,
}

impl Objects {
    /// Adds an object.
    ///
    /// # Errors
    /// It can't be read, or it is not relocatable.
    pub fn add<'a>(&mut self, source: impl Into<Source<'a>>, name: &str) -> Result<(), DiffError> {
        let laid_out = lay_out(source.into())?.ok_or(DiffError::Linked)?;
        let object = ObjectFile::parse(Source::from(&laid_out))?;
        let sframe = object.section().ok();
        let section = match (&sframe, object.abi()) {
            (Some(sframe), Some(abi)) => Some(sframe.open(0, abi)?),
            _ => None,
        };
        // They are in no order yet.
        let fdes = section.iter().flat_map(|section| section.fdes().flatten());
        let fdes: BTreeMap<u64, u64> = fdes.map(|fde| (fde.start, fde.size.into())).collect();
        let is_covered = |address: u64| {
            let last = fdes.range(..=address).next_back();
            last.is_some_and(|(start, size)| address - start < *size)
        };
        for (address, function) in object.symbols.functions() {
            let has = match &section {
                Some(_) if is_covered(address) => Has::Fde,
                Some(_) => Has::NoFde,
                None => Has::NoSection,
            };
            self.functions.entry(function.to_owned()).or_default().push((has, name.to_owned()));
        }
        Ok(())
    }

    /// Whether no object has a function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The objects that may have a function, if they have the same for it.
    fn origin(&self, function: &Extent) -> Option<(Has, impl Iterator<Item = &str>)> {
        let all = self.functions.get(&function.function)?;
        let (has, _) = all.first()?;
        all.iter().all(|(other, _)| has == other).then(|| (*has, all.iter().map(|(_, file)| &**file)))
    }
}

impl DiffReport {
    /// Says of functions without an FDE whether the objects that they come from have one.
    pub fn add_objects(&mut self, objects: &Objects) {
        let is_open = |missing: &Missing| missing.blame == Blame::Unknown;
        let (open, mut all): (Vec<_>, Vec<_>) = self.missing.drain(..).partition(is_open);
        for Missing { functions, blame, confidence, evidence, .. } in open {
            let mut known: BTreeMap<Has, (Vec<Extent>, BTreeSet<&str>)> = BTreeMap::new();
            let mut others = Vec::new();
            for function in functions {
                let Some((has, files)) = objects.origin(&function) else {
                    others.push(function);
                    continue;
                };
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
    }
}
