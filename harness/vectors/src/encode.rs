//! From the structured form to bytes, field by field. The encoder writes wrong values where it
//! is asked to, and refuses values that do not fit their field.

use sframe_engine::ByteOrder;

use crate::names::{BaseRegister, FdeType, Flag, FreType, PauthKey, PcType};
use crate::section::{FdeSource, RowSource, SectionSource};

/// Why the structured form can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The version has no layout.
    #[error("version {0} has no layout; give `header: {{version: {0}}}` for a wrong number")]
    Version(u8),
    /// A value is too large for its field.
    #[error("{what} {value} does not fit {width} bytes")]
    Range {
        /// The field.
        what: &'static str,
        /// The value.
        value: i128,
        /// Width of the field, in bytes.
        width: usize,
    },
    /// The width of data words is not 1, 2 or 4.
    #[error("data words of {0} bytes can't be written")]
    Width(u8),
    /// More data words than the info byte can count.
    #[error("{0} data words are more than 15")]
    WordCount(usize),
    /// `row_order` does not name every FDE once.
    #[error("row_order has to name each FDE once")]
    RowOrder,
}

/// The output.
struct Out {
    bytes: Vec<u8>,
    order: ByteOrder,
}

impl Out {
    /// Writes a number that fits the width, as a signed or an unsigned one.
    fn put(&mut self, what: &'static str, width: usize, value: i128) -> Result<(), EncodeError> {
        let bits = width * 8;
        if value < -(1 << (bits - 1)) || value >= 1 << bits {
            return Err(EncodeError::Range { what, value, width });
        }
        match self.order {
            ByteOrder::Little => self.bytes.extend(&value.to_le_bytes()[..width]),
            ByteOrder::Big => self.bytes.extend(&value.to_be_bytes()[16 - width..]),
        }
        Ok(())
    }
}

/// Where a version has what.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Size of an entry of the FDE sub-section, in bytes.
    fde_size: usize,
    /// Whether a flag makes starts relative to their own fields.
    has_pcrel: bool,
    /// Whether the entry has the size of the block that repeats, and padding.
    has_block_in_fde: bool,
    /// Whether starts have 64 bits, and the rest of the FDE comes before its rows.
    has_attributes: bool,
}

impl Layout {
    const fn of(version: u8) -> Option<Self> {
        let first = Self { fde_size: 17, has_pcrel: false, has_block_in_fde: false, has_attributes: false };
        match version {
            1 => Some(first),
            2 => Some(Self { fde_size: 20, has_pcrel: true, has_block_in_fde: true, ..first }),
            3 => Some(Self { fde_size: 16, has_pcrel: true, has_attributes: true, ..first }),
            _ => None,
        }
    }
}

impl SectionSource {
    /// Returns the bytes of the section, to be loaded at an address.
    ///
    /// # Errors
    /// A value does not fit its field, or contradicts another one.
    pub fn encode(&self, address: u64) -> Result<Vec<u8>, EncodeError> {
        let layout = Layout::of(self.version).ok_or(EncodeError::Version(self.version))?;
        let order = self.byte_order.unwrap_or(self.abi.byte_order());
        let (fres, offsets) = self.encode_rows(layout, order)?;

        let mut out = Out { bytes: Vec::new(), order };
        let header = &self.header;
        let flags = self.flags.iter().fold(0, |flags, flag| flags | flag.bit());
        let num_fres: usize = self.fdes.iter().map(|fde| fde.rows.len()).sum();
        let fdeoff = self.fde_gap.0.len();
        let freoff = fdeoff + self.fdes.len() * layout.fde_size + self.fre_gap.0.len();
        out.put("magic", 2, header.magic.unwrap_or(0xdee2).into())?;
        out.put("version", 1, header.version.unwrap_or(self.version).into())?;
        out.put("flags", 1, header.flags.unwrap_or(flags).into())?;
        out.put("abi", 1, header.abi.unwrap_or(self.abi.id()).into())?;
        out.put("fixed_fp", 1, self.fixed_fp.into())?;
        out.put("fixed_ra", 1, self.fixed_ra.into())?;
        out.put("aux", 1, or_len(header.aux_len, self.aux.0.len()))?;
        out.put("num_fdes", 4, or_len(header.num_fdes, self.fdes.len()))?;
        out.put("num_fres", 4, or_len(header.num_fres, num_fres))?;
        out.put("fre_len", 4, or_len(header.fre_len, fres.len()))?;
        out.put("fdeoff", 4, or_len(header.fdeoff, fdeoff))?;
        out.put("freoff", 4, or_len(header.freoff, freoff))?;
        out.bytes.extend(&self.aux.0);
        out.bytes.extend(&self.fde_gap.0);
        for (fde, offset) in self.fdes.iter().zip(offsets) {
            self.encode_fde(layout, &mut out, fde, offset, address)?;
        }
        out.bytes.extend(&self.fre_gap.0);
        out.bytes.extend(fres);
        out.bytes.extend(&self.trailing.0);
        if let Some(keep) = self.keep {
            out.bytes.truncate(keep);
        }
        Ok(out.bytes)
    }

    fn encode_fde(
        &self,
        layout: Layout,
        out: &mut Out,
        fde: &FdeSource,
        offset: usize,
        address: u64,
    ) -> Result<(), EncodeError> {
        let from_field = layout.has_pcrel && self.flags.contains(&Flag::Pcrel);
        let origin = address.wrapping_add(if from_field { out.bytes.len() as u64 } else { 0 });
        let start = i128::from(fde.start.0.wrapping_sub(origin).cast_signed());
        let fre_offset = or_len(fde.raw.fre_offset, offset);
        if layout.has_attributes {
            out.put("start", 8, start)?;
            out.put("size", 4, fde.size.into())?;
            return out.put("fre_offset", 4, fre_offset);
        }
        if i32::try_from(start).is_err() {
            return Err(EncodeError::Range { what: "start", value: start, width: 4 });
        }
        out.put("start", 4, start)?;
        out.put("size", 4, fde.size.into())?;
        out.put("fre_offset", 4, fre_offset)?;
        out.put("num_fres", 4, or_len(fde.raw.num_fres, fde.rows.len()))?;
        out.put("info", 1, fde.info().into())?;
        if layout.has_block_in_fde {
            out.put("rep_size", 1, fde.rep_size.into())?;
            out.put("padding", 2, fde.raw.padding.unwrap_or(0).into())?;
        }
        Ok(())
    }

    /// Returns the FRE sub-section, and where each function's part of it starts.
    fn encode_rows(&self, layout: Layout, order: ByteOrder) -> Result<(Vec<u8>, Vec<usize>), EncodeError> {
        let in_order: Vec<_> = (0..self.fdes.len()).collect();
        let row_order = self.row_order.as_ref().unwrap_or(&in_order);
        let mut sorted = row_order.clone();
        sorted.sort_unstable();
        if sorted != in_order {
            return Err(EncodeError::RowOrder);
        }
        let mut out = Out { bytes: Vec::new(), order };
        let mut offsets = vec![0; self.fdes.len()];
        for index in row_order {
            let fde = &self.fdes[*index];
            offsets[*index] = out.bytes.len();
            if layout.has_attributes {
                let info2 = fde.raw.info2.unwrap_or(u8::from(fde.fde_type == FdeType::Flex));
                out.put("num_fres", 2, or_len(fde.raw.num_fres, fde.rows.len()))?;
                out.put("info", 1, fde.info().into())?;
                out.put("info2", 1, info2.into())?;
                out.put("rep_size", 1, fde.rep_size.into())?;
            }
            let start_width = match fde.fre_type {
                FreType::Addr1 => 1,
                FreType::Addr2 => 2,
                FreType::Addr4 => 4,
            };
            for row in &fde.rows {
                out.put("row start", start_width, row.start.into())?;
                out.put("row info", 1, row.info()?.into())?;
                for word in &row.words {
                    out.put("data word", row.width.into(), (*word).into())?;
                }
            }
        }
        Ok((out.bytes, offsets))
    }
}

fn or_len(raw: Option<impl Into<i128>>, len: usize) -> i128 {
    raw.map_or(len as i128, Into::into)
}

impl FdeSource {
    /// The (first) info byte (2.3.3).
    fn info(&self) -> u8 {
        let fre_type = match self.fre_type {
            FreType::Addr1 => 0,
            FreType::Addr2 => 1,
            FreType::Addr4 => 2,
        };
        let bits = fre_type
            | u8::from(self.pc_type == PcType::Mask) << 4
            | u8::from(self.pauth_key == PauthKey::B) << 5
            | u8::from(self.signal) << 7;
        self.raw.info.unwrap_or(bits)
    }
}

impl RowSource {
    /// The info byte (2.4.1).
    fn info(&self) -> Result<u8, EncodeError> {
        let size = match self.width {
            1 => 0,
            2 => 1,
            4 => 2,
            other => return Err(EncodeError::Width(other)),
        };
        let count = u8::try_from(self.words.len())
            .ok()
            .filter(|count| *count <= 15)
            .ok_or(EncodeError::WordCount(self.words.len()))?;
        let base = u8::from(self.base == BaseRegister::Sp);
        let bits = base | count << 1 | size << 5 | u8::from(self.mangled) << 7;
        Ok(self.raw.info.unwrap_or(bits))
    }
}
