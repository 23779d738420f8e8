//! From an address to its function and row.

use crate::address::LookupAddress;
use crate::error::Error;
use crate::read::fde::{Fde, FdeType, PcType};
use crate::read::row_table::{FoundRow, Malformed, RowTable};
use crate::read::section::Section;
use crate::rule::{Recovery, Row};

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The function.
    pub fde: Fde,
    /// Position of the row among the function's rows, from 0. `None` for the row that an
    /// outermost FDE stands for, which the section does not store.
    pub row_index: Option<u32>,
    /// The row.
    pub row: Row,
}

impl Section<'_> {
    /// Returns the function and row that cover an address, or `None` if no FDE covers it or the
    /// FDE has no row for it.
    ///
    /// # Errors
    /// The FDE, or a row up to the one that is searched for, is malformed.
    pub fn lookup(&self, address: impl Into<LookupAddress>) -> Result<Option<Found>, Error> {
        let address = address.into();
        match self.lookup_fde(address)? {
            Some(fde) => self.lookup_row(&fde, address),
            None => Ok(None),
        }
    }

    /// Returns the function that covers an address. Uses binary search if the section says that
    /// its FDEs are sorted, and tries each otherwise (2.1.3, 2.3.1).
    ///
    /// # Errors
    /// The FDE is malformed.
    pub fn lookup_fde(&self, address: impl Into<LookupAddress>) -> Result<Option<Fde>, Error> {
        let address = address.into().get();
        let count = self.header().num_fdes;
        if !self.header().flags.sorted() {
            for index in 0..count {
                let stored = self.stored_fde(index)?;
                if stored.contains(address) {
                    return self.fde_of(index, stored).map(Some);
                }
            }
            return Ok(None);
        }
        let low = self.fde_table().starting_up_to(address);
        // Functions of size 0 exist and share their start with the next one, so the function
        // may be several places before.
        let mut last_start = None;
        for index in (0..low).rev() {
            let stored = self.stored_fde(index)?;
            if stored.contains(address) {
                return self.fde_of(index, stored).map(Some);
            }
            if stored.size != 0 && last_start.is_some_and(|start| start != stored.start) {
                break;
            }
            if stored.size != 0 {
                last_start = Some(stored.start);
            }
        }
        Ok(None)
    }

    /// Returns the row of a function for an address that the function covers (2.3.3.1).
    ///
    /// # Errors
    /// A row up to the one that is searched for is malformed.
    pub fn lookup_row(&self, fde: &Fde, address: impl Into<LookupAddress>) -> Result<Option<Found>, Error> {
        let address = address.into().get();
        if fde.outermost {
            let row = Row {
                start: 0,
                end: fde.rows_end(),
                cfa: None,
                ra: Recovery::Undefined,
                fp: Recovery::Undefined,
                mangled_ra: false,
            };
            return Ok(Some(Found { fde: *fde, row_index: None, row }));
        }
        match self.scan_rows(fde, address) {
            Some(Ok(Some(FoundRow { index, at }))) => self.found(*fde, index, fde.rows_offset + at),
            Some(Ok(None)) => Ok(None),
            Some(Err(Malformed)) | None => self.interpret_rows(fde, address),
        }
    }

    /// Searches the rows of a function without interpreting them. `None` if that does not
    /// suffice: flex rows show only by their words whether they are well-formed, and any row whose
    /// start is a mask can be the one.
    fn scan_rows(&self, fde: &Fde, address: u64) -> Option<Result<Option<FoundRow>, Malformed>> {
        if fde.fde_type == FdeType::Flex {
            return None;
        }
        let offset = address.wrapping_sub(fde.start);
        let offset = match (fde.pc_type, fde.rep_size) {
            (PcType::Inc, _) => offset,
            (PcType::Mask, Some(rep_size)) => offset.checked_rem(rep_size.into())?,
            (PcType::Mask, None) => return None,
        };
        let header = self.header();
        let rows = RowTable {
            order: header.abi.byte_order(),
            fre_type: fde.fre_type,
            bytes: self.bytes.slice(fde.rows_offset..self.fre_range().end),
            count: fde.num_rows,
            valid: header.valid_default_rows(),
        };
        Some(rows.last_up_to(offset))
    }

    /// Interprets a row of a function, given by its position and where it is: in bytes from the
    /// start of the section. `None` if the function has no such row.
    #[inline(always)]
    pub(crate) fn found(&self, fde: Fde, index: u32, offset: usize) -> Result<Option<Found>, Error> {
        let left = fde.num_rows.saturating_sub(index);
        if let Some(row) = self.row_at_once(&fde, offset, left) {
            return Ok(Some(Found { fde, row_index: Some(index), row }));
        }
        let row = self.rows_from(&fde, offset, left).next();
        row.map(|row| Ok(Found { fde, row_index: Some(index), row: row? })).transpose()
    }

    /// Searches the rows of a function by interpreting all up to the one after.
    fn interpret_rows(&self, fde: &Fde, address: u64) -> Result<Option<Found>, Error> {
        let mut found = None;
        for (index, row) in (0..).zip(self.rows(fde)) {
            let row = row?;
            if fde.row_covers(row.start, address) {
                found = Some(Found { fde: *fde, row_index: Some(index), row });
            } else if !row_start_is_mask(fde) {
                break;
            }
        }
        Ok(found)
    }
}

/// Returns whether row starts are masks themselves, so that later rows can cover an address
/// that this one does not.
fn row_start_is_mask(fde: &Fde) -> bool {
    fde.pc_type == PcType::Mask && fde.rep_size.is_none()
}

impl Fde {
    /// Whether the start of one of the function's rows is at or before an address
    /// (2.3.3.1). Of such rows the last one counts.
    #[must_use]
    pub fn row_covers(&self, row_start: u32, address: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        let start = u64::from(row_start);
        match (self.pc_type, self.rep_size) {
            (PcType::Inc, _) => offset >= start,
            (PcType::Mask, Some(rep_size)) => {
                // Relative to the function, as real files mean it; the text says PC % rep_size.
                offset.checked_rem(u64::from(rep_size)).is_some_and(|offset| offset >= start)
            }
            // Version 1 has no block size; the row's start itself is the mask (version 1, 1.3.2).
            (PcType::Mask, None) => address & start >= start,
        }
    }
}
