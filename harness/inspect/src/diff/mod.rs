//! Compares `.sframe` with `.eh_frame` or `.debug_frame`, without running anything:
//! the rules of both at every instruction of every function.
//!
//! The call frame information comes from a compiler, a linker or a person, and an
//! assembler or a linker made the section from it. Rules are compared, not values:
//! two rules that give the same value in one program only are different.

mod blame;
mod explored;
mod gaps;
mod objects;
mod pieces;
mod reason;
mod report;
mod rules;
mod sweep;

pub use blame::{Blamed, Evidence, blame_for_gap};
pub use explored::{Explored, ExploredError};
pub use gaps::{Gap, GapCode, Gaps};
pub use objects::Objects;
pub use reason::{Maker, Reason, reason_to_leave_out};
pub use report::{CfiPlace, DiffReport, Difference, Extent, FdePlace, Line, MISSING_FDE, Missing, Uncovered};
pub use rules::Field;

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;

use crate::dump::Dump;
use gaps::Search;
use pieces::{Functions, Piece, pieces};
use sframe_elf::cfi::CfiError;
use sframe_elf::code_digest::FunctionCodes;
use sframe_elf::find_sframe::{MissingSection, SectionError};
use sframe_elf::object_file::{CodeRange, ObjectFile, ObjectFileError};
use sframe_elf::relocatable::{RelocationError, lay_out};
use sframe_elf::source::Source;
use sweep::Sweep;

/// Why a file can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// It is not a 64-bit ELF file.
    #[error("this is not a 64-bit ELF file")]
    NotElf,
    /// It is relocatable, and can't be laid out.
    #[error(transparent)]
    Relocation(#[from] RelocationError),
    /// Its sections or symbols can't be read.
    #[error(transparent)]
    ObjectFile(#[from] ObjectFileError),
    /// It is for a machine that SFrame does not know.
    #[error("the ELF file is not for amd64, aarch64 or s390x")]
    Machine,
    /// There is no `.sframe` section.
    #[error(transparent)]
    NoSection(#[from] MissingSection),
    /// The section can't be decoded at all, or is for another ABI than the file.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// It is linked, and was to be one of the objects that were.
    #[error("this is no relocatable object")]
    Linked,
    /// An object is for another ABI than the others, or than what was linked.
    #[error("this is for {object}, and not for {file}")]
    OtherAbi {
        /// That of the object.
        object: &'static str,
        /// That of the others.
        file: &'static str,
    },
    /// There is nothing to compare with.
    #[error("there is no call frame information: neither .eh_frame nor .debug_frame")]
    NoCfi,
    /// The tables of call frame information are malformed: what comes after is unknown.
    #[error(transparent)]
    Cfi(#[from] CfiError),
}

/// The maximum number of decoded rows beyond one for each byte of the section.
/// Malformed sections can name the same rows in many functions.
const SPARE_ROWS: usize = 1 << 16;

/// The number of functions whose results are joined at once.
const UNITS: usize = 256;

/// Compares a file's `.sframe` with its call frame information.
///
/// # Errors
/// The file does not have both, or one of them can't be read at all.
pub fn diff_file<'a>(source: impl Into<Source<'a>>, name: &str) -> Result<DiffReport, DiffError> {
    let source = source.into();
    if !source.starts_with(&object::elf::ELFMAG) || source.bytes(4..5) != Some(&[object::elf::ELFCLASS64.0]) {
        return Err(DiffError::NotElf);
    }
    let laid_out = lay_out(source)?;
    let source = laid_out.as_ref().map_or(source, Source::from);
    let subject = ObjectFile::parse(source)?;
    let abi = subject.abi().ok_or(DiffError::Machine)?;
    let sframe = subject.section()?;
    let section = sframe.open(0, abi)?;
    let cfi = subject.call_frame_info().filter(|cfi| !cfi.is_absent()).ok_or(DiffError::NoCfi)?;
    if let Some(error) = cfi.errors().first() {
        return Err(error.clone().into());
    }
    let faults = subject.merge_faults(&section);
    let functions = Functions::sound(&section, &faults);
    let mut code: Vec<CodeRange> = subject.code_ranges().collect();
    code.sort_by_key(|code| code.address);
    let code_names = subject.relocatable_code();
    let pieces = pieces(&section, &functions, &cfi, code_names.is_empty());
    let gaps = Search {
        subject: &subject,
        section: &section,
        functions: &functions,
        faults: &faults,
        cfi: &cfi,
        pieces: &pieces,
    }
    .gaps();
    let sweep = Sweep {
        abi,
        section: &section,
        functions: &functions,
        errors: Dump::decode(sframe.data, sframe.address)
            .map_err(|source| sframe.malformed(source))?
            .faults()
            .errors,
        cfi: &cfi,
        subject: &subject,
        codes: FunctionCodes::of(subject.elf()),
        source,
        faults,
        gaps,
        code,
        relocated: OnceLock::new(),
        code_names,
        rows_left: AtomicUsize::new(sframe.data.len().saturating_add(SPARE_ROWS)),
    };
    let parts = units(&pieces).collect::<Vec<_>>();
    let parts = parts.par_chunks(UNITS).map(|units| sweep.units(units)).collect();
    Ok(sweep.report(name, parts))
}

/// Groups pieces that share an FDE.
fn units(pieces: &[Piece]) -> impl Iterator<Item = &[Piece]> {
    let common = |one: Option<usize>, other: Option<usize>| one.is_some() && one == other;
    pieces.chunk_by(move |one, other| common(one.sframe, other.sframe) || common(one.cfi, other.cfi))
}
