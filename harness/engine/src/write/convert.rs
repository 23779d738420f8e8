//! Conversion between versions and byte orders.

use alloc::vec::Vec;

use super::error::{WriteError, WriteErrorKind};
use super::section::{Function, Section};
use crate::abi::{Abi, ByteOrder};
use crate::read::{FdeType, Flags, PcType};
use crate::rule::{Base, Recovery, Row};
use crate::version::Version;

/// What to convert to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Version of the format.
    pub version: Version,
    /// Byte order. The ABI determines it, except on AArch64.
    pub byte_order: ByteOrder,
}

/// A function that the target can't express.
///
/// The whole function is left out: without one of its rows, the previous row would cover PCs
/// that it does not describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Address of the function.
    pub start: u64,
    /// Position of the function in the section that was converted.
    pub function: usize,
    /// The reasons: each row that can't be expressed, or the property of the function itself
    /// that can't be. Never empty.
    pub errors: Vec<WriteError>,
}

/// A converted section, and the functions that could not be carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The section.
    pub section: Section,
    /// The functions that are not in it.
    pub left_out: Vec<Skipped>,
}

impl Section {
    /// Converts to another version or byte order.
    ///
    /// # Errors
    /// There is no such ABI, or the version does not support it.
    pub fn convert(&self, target: Target) -> Result<Conversion, WriteError> {
        let abi = self
            .abi
            .with_byte_order(target.byte_order)
            .ok_or(WriteErrorKind::NoSuchByteOrder(self.abi).of_section())?;
        // Those of other versions go. Those of none stay, for the writer to refuse.
        let known = Version::ALL.into_iter().fold(0, |flags, version| flags | version.flags());
        let flags = self.flags.0 & (!known | target.version.flags());
        let mut section =
            Self { version: target.version, abi, flags: Flags(flags), functions: Vec::new(), ..self.clone() };
        // The writer knows what the target can express: each function is written alone, close
        // to its own address.
        section.write(0)?;
        let mut kept: Vec<(u32, Function)> = Vec::new();
        let mut left_out = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            let errors = match convert_function(function, self.version, abi, target.version) {
                Ok(converted) => section.refusals(&converted),
                Err(kind) => Vec::from([kind.of_function(index)]),
            };
            if errors.is_empty() {
                kept.extend(section.functions.drain(..).map(|kept| (function.rows_position, kept)));
            } else {
                let of_function = |error| WriteError { function: Some(index), ..error };
                let errors = errors.into_iter().map(of_function).collect();
                left_out.push(Skipped { start: function.start, function: index, errors });
            }
        }
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by_key(|index| kept[*index].0);
        section.functions = kept.into_iter().map(|(_, function)| function).collect();
        for (position, index) in (0..).zip(order) {
            section.functions[index].rows_position = position;
        }
        Ok(Conversion { section, left_out })
    }
}

impl Section {
    /// Returns why the section's version can't express a function. If it can, the function
    /// becomes the only one of the section.
    fn refusals(&mut self, function: &Function) -> Vec<WriteError> {
        self.functions = Vec::from([Function { rows_position: 0, ..function.clone() }]);
        match self.write(function.start) {
            Ok(_) => Vec::new(),
            // Reports every such row, not only the first.
            Err(error) if error.row.is_some() => self.row_errors(function),
            Err(error) => Vec::from([error]),
        }
    }
}

/// The function in the target's terms, where they differ. What it still can't
/// express, the writer refuses.
fn convert_function(
    function: &Function,
    from: Version,
    abi: Abi,
    to: Version,
) -> Result<Function, WriteErrorKind> {
    let mut function = function.clone();
    if function.rows.is_empty() {
        convert_without_rows(&mut function, from, to)?;
    }
    if !to.has_flex_fdes() {
        // There is one type only. Rows that fit it may go there.
        function.fde_type = FdeType::Default;
    } else if abi.saves_in_registers() && function.rows.iter().any(is_saved_in_register) {
        // What version 2 says by odd words, version 3 says by flex FDEs.
        function.fde_type = FdeType::Flex;
    }
    if !to.has_rep_size() && function.pc_type == PcType::Inc {
        function.rep_size = None;
    }
    Ok(function)
}

/// An FDE without rows marks an outermost frame in some versions, and says
/// nothing in the others. These may have a row for such a frame.
fn convert_without_rows(function: &mut Function, from: Version, to: Version) -> Result<(), WriteErrorKind> {
    match (from.marks_outermost_functions(), to.marks_outermost_functions()) {
        (false, true) => Err(WriteErrorKind::NoRowsInVersion(to)),
        (true, false) if function.fde_type == FdeType::Default => {
            if !to.marks_outermost_rows() {
                return Err(WriteErrorKind::OutermostNotInVersion(to));
            }
            function.rows.push(Row {
                start: 0,
                end: function.size,
                cfa: None,
                ra: Recovery::Undefined,
                fp: Recovery::Undefined,
                mangled_ra: false,
            });
            Ok(())
        }
        (true, _) | (false, false) => Ok(()),
    }
}

/// Returns whether RA or FP is in a register rather than in memory.
fn is_saved_in_register(row: &Row) -> bool {
    [row.ra, row.fp].iter().any(
        |recovery| matches!(recovery, Recovery::Rule(rule) if rule.base != Base::Cfa || !rule.dereference),
    )
}
