//! Bytes of sections for tests, put together field by field as the
//! specification lists them. It checks nothing: tests need wrong sections too.

use sframe_engine::{Abi, ByteOrder, Version};

/// One row as it is stored.
#[derive(Clone)]
pub(crate) struct Fre {
    pub(crate) start: u32,
    pub(crate) info: u8,
    pub(crate) words: Vec<i32>,
}

/// A row with data words of a width of 1, 2 or 4 bytes.
pub(crate) fn fre(start: u32, sp_based: bool, width: u8, words: &[i32]) -> Fre {
    let size = match width {
        1 => 0,
        2 => 1,
        _ => 2,
    };
    let count = u8::try_from(words.len()).expect("few words");
    Fre { start, info: size << 5 | count << 1 | u8::from(sp_based), words: words.to_vec() }
}

/// One function.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) start: u64,
    pub(crate) size: u32,
    pub(crate) info: u8,
    pub(crate) info2: u8,
    pub(crate) rep_size: u8,
    pub(crate) rows: Vec<Fre>,
}

pub(crate) fn function(start: u64, size: u32, rows: &[Fre]) -> Function {
    Function { start, size, info: 0, info2: 0, rep_size: 0, rows: rows.to_vec() }
}

/// A section. `address` is where it is to be loaded.
#[derive(Clone)]
pub(crate) struct Builder {
    pub(crate) version: Version,
    pub(crate) abi: Abi,
    pub(crate) flags: u8,
    pub(crate) fixed_fp: i8,
    pub(crate) fixed_ra: i8,
    pub(crate) auxiliary: Vec<u8>,
    pub(crate) functions: Vec<Function>,
    pub(crate) address: u64,
}

pub(crate) const ADDRESS: u64 = 0x8000;
pub(crate) const SORTED: u8 = 1;
pub(crate) const PCREL: u8 = 4;

impl Builder {
    pub(crate) fn new(version: Version, abi: Abi, functions: &[Function]) -> Self {
        let fixed_ra = if abi == Abi::Amd64 { -8 } else { 0 };
        Self {
            version,
            abi,
            flags: SORTED,
            fixed_fp: 0,
            fixed_ra,
            auxiliary: Vec::new(),
            functions: functions.to_vec(),
            address: ADDRESS,
        }
    }

    pub(crate) fn flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }

    fn put(&self, bytes: &mut Vec<u8>, width: usize, value: i64) {
        match self.abi.byte_order() {
            ByteOrder::Little => bytes.extend(&value.to_le_bytes()[..width]),
            ByteOrder::Big => bytes.extend(&value.to_be_bytes()[8 - width..]),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut fres = Vec::new();
        let mut offsets = Vec::new();
        for function in &self.functions {
            offsets.push(i64::try_from(fres.len()).expect("small"));
            if self.version == Version::V3 {
                self.put(&mut fres, 2, function.rows.len() as i64);
                fres.extend([function.info, function.info2, function.rep_size]);
            }
            for row in &function.rows {
                let width = 1 << (function.info & 3);
                self.put(&mut fres, width, row.start.into());
                fres.push(row.info);
                for word in &row.words {
                    self.put(&mut fres, 1 << ((row.info >> 5) & 3), (*word).into());
                }
            }
        }
        let mut bytes = Vec::new();
        self.put(&mut bytes, 2, 0xdee2);
        bytes.extend([self.version.number(), self.flags, self.abi.id()]);
        bytes.extend([self.fixed_fp.cast_unsigned(), self.fixed_ra.cast_unsigned()]);
        bytes.push(u8::try_from(self.auxiliary.len()).expect("short"));
        let table = self.functions.len() * self.version.fde_size();
        let rows: usize = self.functions.iter().map(|function| function.rows.len()).sum();
        for count in [self.functions.len(), rows, fres.len(), 0, table] {
            self.put(&mut bytes, 4, i64::try_from(count).expect("small"));
        }
        bytes.extend(&self.auxiliary);
        for (function, offset) in self.functions.iter().zip(offsets) {
            let origin = self.address + if self.flags & PCREL == 0 { 0 } else { bytes.len() as u64 };
            let start = function.start.wrapping_sub(origin).cast_signed();
            let size = function.size.into();
            if self.version == Version::V3 {
                self.put(&mut bytes, 8, start);
                self.put(&mut bytes, 4, size);
                self.put(&mut bytes, 4, offset);
                continue;
            }
            for value in [start, size, offset, function.rows.len() as i64] {
                self.put(&mut bytes, 4, value);
            }
            bytes.push(function.info);
            if self.version == Version::V2 {
                bytes.extend([function.rep_size, 0, 0]);
            }
        }
        bytes.extend(fres);
        bytes
    }
}
