//! What a generated function does, before it is written for an ABI. Parts of it can be dropped, and the
//! rest still makes a function.

use sframe_engine::Abi;

use super::dialect::Habits;
use super::state::Kind;
use crate::generate::random::Random;

/// A program: functions that its first one calls in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The ABI.
    pub abi: Abi,
    /// What it asks for.
    pub sections: Sections,
    /// The functions.
    pub functions: Vec<FunctionPlan>,
}

/// What `.cfi_sections` asks for. Command lines always ask for `.sframe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The directive; empty for none.
    pub directive: &'static str,
    /// Whether `.eh_frame` has to be there. Nor does any directive ask for it.
    pub eh_frame: bool,
    /// Whether `.debug_frame` has to be there.
    pub debug_frame: bool,
}

const fn asks(directive: &'static str, eh_frame: bool, debug_frame: bool) -> Sections {
    Sections { directive, eh_frame, debug_frame }
}

impl Sections {
    /// Without a directive.
    pub const USUAL: Self = asks("", true, false);

    /// With directives.
    const ASKED: &[Self] = &[
        asks(".cfi_sections .eh_frame", true, false),
        asks(".cfi_sections .eh_frame, .sframe", true, false),
        asks(".cfi_sections .sframe", false, false),
        asks(".cfi_sections .debug_frame", false, true),
        asks(".cfi_sections .debug_frame, .eh_frame", true, true),
        asks(".cfi_sections .debug_frame, .sframe", false, true),
        asks(".cfi_sections .eh_frame, .debug_frame, .sframe", true, true),
    ];
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlan {
    /// Its number in the program as it was generated.
    pub number: u32,
    /// What its frame is made of, in order; undone in the reverse order.
    pub frame: Vec<Part<Setup>>,
    /// What it does then.
    pub body: Vec<Part<Action>>,
    /// What it is said to be.
    pub kind: Kind,
    /// Where its CIE has the return address.
    pub column: Column,
    /// Whether its CIE declares nothing (`.cfi_startproc simple`).
    pub is_simple: bool,
    /// Whether the frame is left by the frame pointer, where it has one.
    pub leaves_by_fp: bool,
    /// Whether its CFI may be written byte by byte.
    pub escapes: bool,
    /// The seed of what is chosen while the frame is left at the end.
    pub exit: u64,
    /// What its CFI says wrongly on purpose, at each instruction.
    pub misdeclares: Option<Misdeclared>,
}

/// What the CFI of a function says wrongly on purpose, at each instruction where it speaks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdeclared {
    /// The CFA is this many bytes higher. Slots are where they are.
    Cfa(i64),
    /// The slot of the return address is this many bytes higher.
    RaSlot(i64),
    /// The slot of FP is this many bytes higher.
    FpSlot(i64),
    /// FP is in its register, as if nothing had changed it.
    FpKept,
    /// FP is in its register, in a function that begins by changing FP and never restores it: its rows become true when
    /// it has returned.
    FpLost,
    /// The CFA is this many bytes higher, of a function that removes as many from the stack when it returns: SP is then
    /// as its rows say.
    Removed(i64),
}

/// What functions remove from the stack that say so too early.
const REMOVED: i64 = 16;

/// A part of a function, with the seed of all that is chosen while it is written: what else there is
/// does not change that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<T> {
    /// The seed.
    pub seed: u64,
    /// What it is.
    pub what: T,
}

/// Where a function's CIE has the return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Where CIEs have it.
    Usual,
    /// Where CIEs have it, and a directive says so.
    Named,
    /// In the register in which an instruction before the CFI has put it. It is lost where it was.
    Moved,
}

/// A part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// Signs the return address (AArch64).
    Sign,
    /// Saves FP and what the ABI saves with it: the return address (AArch64), or all registers from some
    /// one on (s390x).
    SaveFp,
    /// Saves FP in another register.
    MoveFp,
    /// Saves the return address in another register, and loses it where it was.
    MoveRa,
    /// FP becomes SP.
    SetFp,
    /// The register that was saved last becomes SP, and the CFA's base.
    SetBase,
    /// Stores the CFA, which is declared by that word from then on: always, or where FP is the base.
    StoreCfa,
    /// Saves a register that callees preserve: the first ones have the lowest numbers.
    Save(u8),
    /// Allocates this many bytes.
    Allocate(u32),
}

/// Something that a function does with its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Computes something.
    Compute,
    /// Changes a register that was saved.
    Clobber,
    /// Calls a function.
    Call,
    /// Calls a function with this many bytes of arguments on the stack.
    CallWith(u32),
    /// Returns, if the argument is not greater than a number that has not been used yet.
    Return {
        /// Whether what was declared before is remembered, or else declared again.
        remembers: bool,
        /// How many times the way to the return branches to another one.
        depth: u8,
    },
    /// Goes on in a part of the function that is elsewhere, if the argument is greater than such a number; or,
    /// where that part returns, if it is not.
    Part {
        /// Whether that part jumps back, rather than returning.
        jumps_back: bool,
    },
    /// Jumps over this many bytes.
    Skip(u32),
    /// Nothing but that FP, or the return address, is said to be where SP points to.
    Indirect,
    /// Code that nothing reaches, which is said to have no caller.
    Unreached,
    /// Does nothing, but declares something that changes nothing.
    Noise,
}

impl Setup {
    /// The least of its kind.
    pub(super) const fn smallest(self) -> Self {
        match self {
            Self::Save(_) => Self::Save(0),
            Self::Allocate(size) if size > 160 => Self::Allocate(160),
            Self::Allocate(size) if size > 16 && size < 160 => Self::Allocate(16),
            other => other,
        }
    }
}

impl Action {
    /// The least of its kind.
    pub(super) const fn smallest(self) -> Self {
        match self {
            Self::CallWith(_) => Self::CallWith(16),
            Self::Skip(_) => Self::Skip(4),
            Self::Return { depth, .. } => Self::Return { remembers: true, depth: depth.saturating_sub(1) },
            other => other,
        }
    }
}

/// Sizes of frames at the borders of the sizes of offsets, and others.
const SIZES: &[u32] = &[
    8, 16, 24, 32, 48, 64, 96, 104, 112, 116, 119, 120, 124, 127, 128, 136, 144, 160, 232, 240, 248, 256,
    264, 272, 504, 1000, 1024, 2032, 2040, 2048, 4080, 4096, 32_752, 32_760, 32_768, 32_776, 65_520, 65_528,
    65_536, 65_552, 100_000,
];
/// Lengths of code at the borders of the sizes of addresses, and others.
const LENGTHS: &[u32] = &[4, 16, 60, 100, 180, 220, 240, 248, 252, 256, 260, 300, 1000];
const LONG: &[u32] = &[65_000, 65_400, 65_500, 65_520, 65_532, 65_536, 65_540, 70_000];
/// Sizes of arguments.
const ARGUMENTS: &[u32] = &[16, 32, 48, 96, 160, 256];

impl Plan {
    /// Returns the plan of a program of a seed.
    #[must_use]
    pub fn random(abi: Abi, seed: u64, program: u64, functions: u32) -> Self {
        let mut random = Random::new(seed, program);
        let is_asked = random.percent(12);
        let sections = if is_asked { *random.pick(Sections::ASKED) } else { Sections::USUAL };
        let functions = (0..functions).map(|number| FunctionPlan::random(abi, number, &mut random));
        let mut functions: Vec<_> = functions.collect();
        if sections.debug_frame {
            // There, LLVM gives all functions the column of one of them.
            functions.iter_mut().for_each(|function| function.column = Column::Usual);
        }
        Self { abi, sections, functions }
    }
}

impl Plan {
    /// Returns the plan of a program whose functions are wrong on purpose: their CFI says something wrong throughout,
    /// and each of them returns to its caller like any other.
    #[must_use]
    pub fn misdeclared(abi: Abi, seed: u64, program: u64, functions: u32) -> Self {
        let mut plan = Self { sections: Sections::USUAL, ..Self::random(abi, seed, program, functions) };
        let mut random = Random::new(seed ^ MISDECLARED, program);
        plan.functions.iter_mut().for_each(|function| function.misdeclare(abi, &mut random));
        plan
    }
}

/// What tells the choices of what is wrong from others of a seed.
const MISDECLARED: u64 = 1 << 63;

impl FunctionPlan {
    /// Makes the CFI wrong. What has a meaning of its own for a walk, or no place in the format, is left out.
    fn misdeclare(&mut self, abi: Abi, random: &mut Random) {
        self.kind = Kind { key_b: self.kind.key_b, ..Kind::default() };
        (self.column, self.is_simple) = (Column::Usual, false);
        self.frame.retain(|part| !matches!(part.what, Setup::StoreCfa | Setup::MoveRa | Setup::SetBase));
        self.body.retain(|part| !matches!(part.what, Action::Indirect | Action::Unreached));
        let has = |what| self.frame.iter().any(|part| part.what == what);
        let (saves_fp, sets_fp) = (has(Setup::SaveFp), has(Setup::SetFp));
        let by = *random.pick(&[-16, -8, 8, 16]);
        let mut ways = vec![Misdeclared::Cfa(by), Misdeclared::Removed(REMOVED)];
        if saves_fp {
            ways.push(Misdeclared::FpSlot(by));
            // AMD64 fixes the slot of the return address.
            ways.extend((abi.fixed_ra_offset().is_none()).then_some(Misdeclared::RaSlot(by)));
        }
        if sets_fp {
            ways.push(Misdeclared::FpKept);
        }
        if !saves_fp && !has(Setup::MoveFp) {
            ways.push(Misdeclared::FpLost);
        }
        self.misdeclares = Some(*random.pick(&ways));
    }

    fn random(abi: Abi, number: u32, random: &mut Random) -> Self {
        let mut frame = Vec::new();
        let mut add = |what, random: &mut Random| frame.push(Part { seed: random.below(u64::MAX), what });
        let calls = random.percent(60);
        let habits = Habits::of(abi);
        let saves_fp = calls && habits.calls_save_fp || random.percent(habits.saves_fp);
        let key_b = random.percent(50);
        let column = match random.below(100) {
            0..3 if !calls => Column::Moved,
            3..5 => Column::Named,
            _ => Column::Usual,
        };
        let signs = abi.signs_return_addresses() && column != Column::Moved && random.percent(30);
        if signs {
            add(Setup::Sign, random);
        } else if !calls
            && column == Column::Usual
            && (!abi.has_link_register() || !saves_fp)
            && random.percent(10)
        {
            add(Setup::MoveRa, random);
        }
        let moves_fp = !calls && random.percent(habits.moves_fp);
        let size = |random: &mut Random| {
            let size = *random.pick(SIZES);
            size.next_multiple_of(habits.frame_unit)
        };
        // What is saved below has offsets that are multiples of 8.
        let even_size = |random: &mut Random| {
            let size = size(random);
            size.next_multiple_of(8)
        };
        if !habits.saves_above_sp && random.percent(15) {
            add(Setup::Allocate(even_size(random)), random);
        }
        if saves_fp {
            add(if moves_fp { Setup::MoveFp } else { Setup::SaveFp }, random);
        }
        let saves = if habits.saves_above_sp { 0 } else { random.below(5) };
        let fp_early = random.percent(70);
        let sets_fp = saves_fp && random.percent(65);
        if sets_fp && fp_early && !habits.saves_above_sp {
            add(Setup::SetFp, random);
        }
        let stores_cfa = random.percent(if sets_fp { 6 } else { 2 });
        if stores_cfa && !habits.saves_above_sp {
            add(Setup::StoreCfa, random);
        }
        for register in 0..saves {
            add(Setup::Save(u8::try_from(register).unwrap_or_default()), random);
        }
        if saves > 0 && random.percent(5) {
            add(Setup::SetBase, random);
        }
        if calls && habits.area_for_callees > 0 || random.percent(70) {
            add(Setup::Allocate(size(random).max(habits.area_for_callees)), random);
        }
        if sets_fp && (!fp_early || habits.saves_above_sp) {
            add(Setup::SetFp, random);
        }
        if stores_cfa && habits.saves_above_sp {
            add(Setup::StoreCfa, random);
        }
        let mut body = Vec::new();
        for _ in 0..1 + random.below(6) {
            let what = match random.below(100) {
                0..20 => Action::Compute,
                20..32 => Action::Clobber,
                32..52 if calls => Action::Call,
                52..64 if calls => Action::CallWith(*random.pick(ARGUMENTS)),
                64..78 => {
                    Action::Return { remembers: random.percent(75), depth: u8::from(random.percent(25)) }
                }
                78..85 => Action::Part { jumps_back: random.percent(60) },
                85..87 => Action::Unreached,
                87 if random.percent(60) => Action::Indirect,
                88..95 => {
                    let lengths = if random.percent(6) { LONG } else { LENGTHS };
                    Action::Skip(*random.pick(lengths))
                }
                _ => Action::Noise,
            };
            body.push(Part { seed: random.below(u64::MAX), what });
        }
        Self {
            number,
            frame,
            body,
            column,
            is_simple: random.percent(6),
            kind: Kind { outermost: random.percent(3), signal: random.percent(3), key_b: signs && key_b },
            leaves_by_fp: random.percent(40),
            escapes: random.percent(15),
            exit: random.below(u64::MAX),
            misdeclares: None,
        }
    }
}
