//! Random plans.

use sframe_engine::{Abi, Version};
use sframe_vectors::{FreType, PcType};

use super::dialect::Dialect;
use super::fault::{FdeFault, RowFault, SectionFault, knows_abi};
use super::plan::{FunctionPlan, SectionPlan};
use crate::generate::random::Random;

/// Where the first function starts, for a section of which address. The last ones lie more than 2 GiB
/// away, which only version 3 can say.
const PLACES: &[(u64, u64)] = &[
    (0x8000, 0x1000),
    (0x1000, 0x8_0000),
    (0x40_2000, 0x40_1000),
    (0x5555_5556_0000, 0x5555_5555_5000),
    (0x10_0000, 0),
    (0xffff_ffff_8200_0000, 0xffff_ffff_8100_0000),
    (0xffff_ffff_ffff_0000, 0xffff_ffff_fe00_0000),
    (0x8100_0000, 0x1_0000_0000),
    (0x10_1000, 0x7_0000_0000),
    (0xffff_ffff_8300_0000, 0x40_1000),
];
/// How many of them any version can express.
const NEAR: u64 = 8;
/// Sizes of functions at the borders of the widths of row starts, and others.
const SIZES: &[u32] = &[
    1, 2, 4, 15, 16, 17, 31, 64, 100, 254, 255, 256, 257, 300, 1000, 4096, 65_534, 65_535, 65_536, 65_537,
    70_000,
];
/// Sizes of blocks that repeat.
const BLOCKS: &[u8] = &[1, 4, 8, 12, 16, 24, 32, 64, 128, 200, 255];

impl SectionPlan {
    /// Returns a plan of a seed. `open` allows what the specification leaves to the reader; the reading that
    /// the vectors follow is the answer then.
    #[must_use]
    pub fn random(seed: u64, number: u64, open: bool) -> Self {
        let mut random = Random::new(seed, number);
        let random = &mut random;
        let (version, abi) = loop {
            let version = *random.pick(&Version::ALL);
            let abi = *random.pick(&Abi::ALL);
            if version.has_abi(abi) {
                break (version, abi);
            }
        };
        let mut plan = Self::random_header(version, abi, open, random);
        let count = match random.below(20) {
            0 => 0,
            1..5 => 1,
            5..19 => random.within(2..=6),
            _ => random.within(7..=40),
        };
        for _ in 0..count {
            plan.add_function(open, random);
        }
        if random.percent(25) {
            plan.break_something(random);
        }
        plan.lay_out(open, random);
        plan
    }

    fn random_header(version: Version, abi: Abi, open: bool, random: &mut Random) -> Self {
        let usual_ra = abi.fixed_ra_offset();
        let near = if version.start_size() == 8 { PLACES.len() as u64 } else { NEAR };
        let (address, _) = PLACES[usize::try_from(random.below(near)).unwrap_or_default()];
        let offset = |random: &mut Random| {
            let offset = *random.pick(&[-128_i8, -127, -48, -16, -8, 8, 16, 127]);
            if Dialect::of(abi).zero_is_unsaved { offset & !7 | 8 } else { offset }
        };
        let bytes = |likely: u64, random: &mut Random| {
            if random.percent(likely) { u8::try_from(random.within(1..=9)).unwrap_or(1) } else { 0 }
        };
        let auxiliary = match random.below(20) {
            0 => vec![0xa5; 255],
            1..4 => {
                (0..random.within(1..=12)).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect()
            }
            _ => Vec::new(),
        };
        Self {
            version,
            abi,
            address,
            sorted: random.percent(70),
            frame_pointer: version.has_frame_pointer_flag() && random.percent(10),
            pcrel: version.has_pcrel_starts() && random.percent(60),
            fixed_fp: random.percent(8).then(|| offset(random)),
            fixed_ra: match usual_ra {
                Some(_) if open && random.percent(8) => None,
                Some(_) if open && random.percent(5) => Some(offset(random)),
                None if open && random.percent(8) => Some(offset(random)),
                usual => usual,
            },
            auxiliary,
            header_gap: bytes(12, random),
            sub_section_gap: bytes(12, random),
            trailing: if open { bytes(10, random) } else { 0 },
            filler: *random.pick(&[0, 0, 0xff, 0x5a]),
            functions: Vec::new(),
            broken: None,
        }
    }

    fn add_function(&mut self, open: bool, random: &mut Random) {
        // Longer than most, and its rows are many.
        let is_long = random.below(250) == 0;
        let size = if is_long {
            u32::try_from(random.within(2000..=200_000)).unwrap_or(4096)
        } else {
            *random.pick(SIZES)
        };
        let size = if open && random.percent(6) { 0 } else { size };
        let is_mask = (open || self.version.has_rep_size()) && random.percent(15);
        let rep_size = match (self.version.has_rep_size(), is_mask) {
            (false, _) => 0,
            (_, true) => *random.pick(BLOCKS),
            // It means nothing.
            (_, false) if random.percent(5) => *random.pick(BLOCKS),
            (_, false) => 0,
        };
        let signs = self.abi.signs_return_addresses();
        let mut function = FunctionPlan {
            start: 0,
            size,
            fre_type: least_width(size),
            pc_type: if is_mask { PcType::Mask } else { PcType::Inc },
            rep_size,
            flex: self.version.has_flex_fdes() && random.percent(35),
            key_b: signs && (open || self.version.has_pauth_key()) && random.percent(20),
            signal: self.version.marks_signal_frames() && random.percent(10),
            place: u32::try_from(random.below(1 << 20)).unwrap_or_default(),
            rows: Vec::new(),
            broken: None,
        };
        let extent = function.extent();
        let starts = self.random_starts(&function, is_long, extent, open, random);
        let greatest = starts.iter().copied().max().unwrap_or(0);
        // Any width that holds all starts.
        let widths = [FreType::Addr1, FreType::Addr2, FreType::Addr4];
        let holds = |width: &FreType| *width as usize >= least_width(greatest) as usize;
        if random.percent(25) || !holds(&function.fre_type) {
            let wide: Vec<FreType> = widths.into_iter().filter(holds).collect();
            function.fre_type = *random.pick(&wide);
        }
        for start in starts {
            let row = self.random_row(&function, start, open, random);
            function.rows.push(row);
        }
        for index in 1..function.rows.len() {
            // The writer keeps one width for a start.
            if function.rows[index - 1].start == function.rows[index].start {
                (function.rows[index - 1].width, function.rows[index].width) = (1, 1);
            }
        }
        self.functions.push(function);
    }

    /// Chooses the starts of rows, in order.
    fn random_starts(
        &self,
        function: &FunctionPlan,
        is_long: bool,
        extent: u32,
        open: bool,
        random: &mut Random,
    ) -> Vec<u32> {
        let is_outermost = self.version.marks_outermost_functions() && !function.flex;
        if random.percent(6) && (is_outermost || open) {
            return Vec::new();
        }
        if function.pc_type == PcType::Mask && function.rep_size == 0 {
            // Version 1: masks.
            let masks: &[&[u32]] = &[&[0], &[0, 8], &[0, 4, 8], &[4, 12], &[0, 1, 3]];
            return random.pick(masks).to_vec();
        }
        let count = match () {
            () if is_long => random.within(200..=400),
            () if random.percent(30) => 1,
            () => random.within(1..=8),
        };
        let extent = u64::from(extent.max(1));
        let mut starts = Vec::new();
        let first = if random.percent(6) { random.below(extent) } else { 0 };
        starts.push(first);
        for _ in 1..count {
            starts.push(match random.below(10) {
                _ if is_long => random.below(extent),
                // At the borders of the widths, and at the last byte.
                0 => 255.min(extent - 1),
                1 => 256.min(extent - 1),
                2 => 65_535.min(extent - 1),
                3 => 65_536.min(extent - 1),
                4 => extent - 1,
                // Most rows are at the start.
                5..8 => random.below(extent.min(64)),
                _ => random.below(extent),
            });
        }
        starts.retain(|start| *start >= first);
        starts.sort_unstable();
        let repeats = open && random.percent(5);
        if !repeats {
            starts.dedup();
        }
        if open && random.percent(5) {
            // Past the end.
            starts.push(extent + random.below(40));
        }
        starts.into_iter().map(|start| u32::try_from(start).unwrap_or(u32::MAX)).collect()
    }

    /// Gives the functions their addresses, one after the other.
    fn lay_out(&mut self, open: bool, random: &mut Random) {
        let places: Vec<u64> =
            PLACES.iter().filter(|(address, _)| *address == self.address).map(|(_, first)| *first).collect();
        let first = *random.pick(&places);
        let mut at = first;
        let mut after_broken = false;
        for function in &mut self.functions {
            // No boundary of a sound function is in a broken one.
            let follows_broken = std::mem::replace(&mut after_broken, function.is_broken());
            let is_apart = follows_broken || function.is_broken();
            if is_apart || random.percent(50) {
                at = at.saturating_add(*random.pick(&[3, 16, 255, 4096, 0x1_0000]));
            }
            if function.pc_type == PcType::Mask && !open && function.rep_size > 0 {
                // The remainder of the PC and that of the offset are the same.
                at = at.checked_next_multiple_of(function.rep_size.into()).unwrap_or(at);
            }
            function.start = at;
            at = at.saturating_add(function.size.into());
        }
        let size = at - first;
        if first > 0
            && random.percent(4)
            && self.functions.iter().all(|function| function.pc_type == PcType::Inc)
        {
            // The last byte of the address space is the last of the last function's.
            let is_near = self.address > 0xffff_ffff_8000_0000 || self.version.start_size() == 8;
            let by = if is_near { 0_u64.wrapping_sub(size).wrapping_sub(first) } else { 0 };
            self.functions.iter_mut().for_each(|function| function.start = function.start.wrapping_add(by));
        }
        if !self.sorted {
            for index in (1..self.functions.len()).rev() {
                let other = usize::try_from(random.below(index as u64 + 1)).unwrap_or(index);
                self.functions.swap(index, other);
            }
        }
        if random.percent(75) {
            // Most producers store the rows in the order of the FDEs.
            for (place, function) in (0..).zip(&mut self.functions) {
                function.place = place;
            }
        }
        let overrun = self.functions.iter_mut().filter(|function| function.broken == Some(FdeFault::NumFres));
        overrun.for_each(|function| function.place = u32::MAX);
    }

    /// Breaks one rule, if there is something to break.
    fn break_something(&mut self, random: &mut Random) {
        if self.functions.is_empty() || random.percent(30) {
            self.broken = self.random_section_fault(random);
            return;
        }
        let index = usize::try_from(random.below(self.functions.len() as u64)).unwrap_or_default();
        let (version, fixed_ra) = (self.version, self.fixed_ra);
        let function = &mut self.functions[index];
        if random.percent(50) || function.rows.is_empty() {
            let some = u32::try_from(random.within(1..=1000)).unwrap_or(1);
            let unknown =
                |from: i64, to: i64, random: &mut Random| u8::try_from(random.within(from..=to)).unwrap_or(3);
            function.broken = Some(match random.below(5) {
                0 if !function.rows.is_empty() && self.trailing == 0 => FdeFault::NumFres,
                1 if version.has_flex_fdes() => FdeFault::FdeType(unknown(2, 31, random)),
                2 if version.has_rep_size() => FdeFault::RepSize,
                3 => FdeFault::FreType(unknown(3, 15, random)),
                _ => FdeFault::FreOffset(if random.percent(50) { some } else { u32::MAX }),
            });
            return;
        }
        let most = if fixed_ra.is_some() { 2 } else { 3 };
        let flex = function.flex;
        let chosen = usize::try_from(random.below(function.rows.len() as u64)).unwrap_or_default();
        let row = &mut function.rows[chosen];
        row.broken = match random.below(4) {
            _ if row.rules.is_none() => None,
            0 => Some(RowFault::WordSize),
            1 if flex => Some(RowFault::NoCfa),
            2 if flex => Some(RowFault::CfaOnCfa),
            _ if flex => Some(RowFault::HalfPair),
            1 if !version.marks_outermost_rows() => Some(RowFault::NoWords),
            _ => {
                let more = *random.pick(&[1_u8, 1, 2, 6, 12]);
                Some(RowFault::WordCount((most + more).min(15)))
            }
        };
    }

    fn random_section_fault(&self, random: &mut Random) -> Option<SectionFault> {
        let some = u32::try_from(random.within(1..=1000)).unwrap_or(1);
        let far = if random.percent(30) { u32::MAX } else { some };
        let byte = |random: &mut Random| u8::try_from(random.below(256)).unwrap_or_default();
        Some(match random.below(10) {
            0 => SectionFault::Magic(u16::try_from(random.below(0xdee2)).unwrap_or_default()),
            1 => SectionFault::Version(match byte(random) {
                known @ 1..=3 => known + 3,
                other => other,
            }),
            2 => {
                let id = byte(random);
                SectionFault::Abi(if knows_abi(self.version, id) { 0 } else { id })
            }
            3 => SectionFault::ByteOrder,
            4 => SectionFault::CutHeader(u8::try_from(random.below(28)).unwrap_or_default()),
            5 if !self.functions.is_empty() && self.trailing == 0 && self.auxiliary.is_empty() => {
                SectionFault::Cut(u8::try_from(random.within(1..=255)).unwrap_or(1))
            }
            6 => SectionFault::NumFdes(some % 100),
            7 => SectionFault::Fdeoff(far),
            8 => SectionFault::Freoff(far),
            _ => SectionFault::FreLen(far),
        })
    }
}

/// The least width of row starts that holds a number: assemblers choose that of the function's size.
pub(super) const fn least_width(number: u32) -> FreType {
    match number {
        0..=0xff => FreType::Addr1,
        0x100..=0xffff => FreType::Addr2,
        _ => FreType::Addr4,
    }
}
