//! Random rules of rows.

use sframe_vectors::{Base, Equation, Recovery};

use super::dialect::{Dialect, OddWord};
use super::plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};
use crate::generate::random::Random;

/// Offsets on both sides of where a data word of a width ends.
const BORDERS: &[i64] = &[
    0,
    1,
    7,
    8,
    16,
    24,
    32,
    48,
    64,
    96,
    104,
    120,
    126,
    127,
    128,
    129,
    160,
    248,
    255,
    256,
    1000,
    32_760,
    32_766,
    32_767,
    32_768,
    32_769,
    40_000,
    65_535,
    65_536,
    1_000_000,
    0x7fff_fff8,
    0x7fff_ffff,
];

/// An offset that a data word holds.
fn word(random: &mut Random) -> i64 {
    let magnitude = match random.below(10) {
        0..4 => 8 * random.within(0..=20),
        4..9 => *random.pick(BORDERS),
        _ => random.within(0..=0x7fff_ffff),
    };
    match random.below(20) {
        0..9 => magnitude,
        19 => i64::from(i32::MIN),
        // -128 and -32768 are the smallest numbers of their widths.
        _ => -magnitude,
    }
}

/// A multiple of 8 towards the base of the stack, as real code has it.
fn ordinary(random: &mut Random) -> i64 {
    8 * random.within(1..=40)
}

impl SectionPlan {
    /// Chooses what a row recovers.
    pub(super) fn random_row(
        &self,
        function: &FunctionPlan,
        start: u32,
        open: bool,
        random: &mut Random,
    ) -> RowPlan {
        let signs = self.abi.signs_return_addresses();
        let undefined = self.version.marks_outermost_rows() && random.percent(6);
        let rules = (!undefined).then(|| match function.flex {
            true => self.random_flex(random),
            false => self.random_default(open, random),
        });
        // A return address that is nowhere has no authentication code.
        let mangled = signs && rules.is_some() && random.percent(20);
        let width = *random.pick(&[1, 1, 1, 1, 1, 1, 2, 4]);
        let seed = random.below(u64::MAX);
        RowPlan { start, width: if rules.is_some() { width } else { 1 }, mangled, rules, seed, broken: None }
    }

    fn random_cfa_offset(&self, random: &mut Random) -> i64 {
        let plain = random.percent(50);
        let dialect = Dialect::of(self.abi);
        let Dialect { cfa_bias, cfa_unit, .. } = dialect;
        // Any word is one, if scaled; usual offsets are.
        match (plain, dialect.scales_cfa()) {
            (true, true) => cfa_bias + ordinary(random) * 2,
            (true, false) => ordinary(random),
            (false, _) => word(random) * cfa_unit + cfa_bias,
        }
    }

    /// Where a value is saved by a row of default type.
    fn random_slot(&self, is_ra: bool, open: bool, random: &mut Random) -> Recovery {
        let dialect = Dialect::of(self.abi);
        let odd = dialect.odd_word(self.version);
        let registers = odd == OddWord::Register;
        if registers && random.percent(30) {
            let number = *random.pick(&[0, 1, 6, 12, 14, 16, 17, 24, 31]);
            return Recovery::Rule(Equation { base: Base::Register(number), offset: 0, dereference: false });
        }
        let mut offset = if random.percent(50) { -ordinary(random) } else { word(random) };
        if registers || odd != OddWord::Offset && !open {
            offset &= !1;
        }
        if is_ra && dialect.zero_is_unsaved && offset == 0 {
            // 0 says that it is not saved.
            offset = -48;
        }
        Recovery::Rule(Equation { base: Base::Cfa, offset, dereference: true })
    }

    fn random_default(&self, open: bool, random: &mut Random) -> RowRules {
        let base = if random.percent(60) { Base::Sp } else { Base::Fp };
        let cfa = Equation { base, offset: self.random_cfa_offset(random), dereference: false };
        let saves_fp = random.percent(45);
        let mut ra = self.usual_ra();
        // Without a word for RA there is none for FP, unless there is one for an RA that is not saved.
        if self.fixed_ra.is_none() && (random.percent(55) || saves_fp) {
            let unsaved = Dialect::of(self.abi).zero_is_unsaved && random.percent(25);
            if !unsaved {
                ra = self.random_slot(true, open, random);
            }
        }
        let fp = if saves_fp { self.random_slot(false, open, random) } else { self.usual_fp() };
        RowRules { cfa, ra, fp }
    }

    /// A register that rules of flex type may name.
    fn random_register(&self, random: &mut Random) -> Base {
        if random.percent(45) {
            return *random.pick(&[Base::Sp, Base::Fp]);
        }
        Base::Register(*random.pick(Dialect::of(self.abi).registers))
    }

    fn random_flex(&self, random: &mut Random) -> RowRules {
        let cfa = Equation {
            base: self.random_register(random),
            offset: self.random_cfa_offset(random),
            dereference: random.percent(30),
        };
        let place = |random: &mut Random| {
            let on_cfa = random.percent(50);
            let base = if on_cfa { Base::Cfa } else { self.random_register(random) };
            let offset = if random.percent(50) { -ordinary(random) } else { word(random) };
            let dereference = on_cfa || random.percent(50);
            let offset = if !dereference && random.percent(70) { 0 } else { offset };
            Recovery::Rule(Equation { base, offset, dereference })
        };
        let ra = if random.percent(60) { place(random) } else { self.usual_ra() };
        let fp = if random.percent(60) { place(random) } else { self.usual_fp() };
        RowRules { cfa, ra, fp }
    }
}
