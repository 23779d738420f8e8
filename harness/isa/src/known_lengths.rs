//! Lengths of amd64 instructions that have been decoded before.
//!
//! A decoder takes most of its time for what an instruction does. Its length
//! follows from its head: the prefixes, the opcode, ModRM and SIB, but not the
//! displacement and the immediate after them. A program has few different heads.

/// The lengths for the heads that were decoded last.
pub(super) struct KnownLengths(Box<[u128]>);

/// Number of heads that are kept, as a power of two: together, 512 KiB.
const SLOT_BITS: u32 = 15;
/// Bytes that are looked at: an instruction, and so a head, has fewer.
const WINDOW: usize = 16;
/// The position of the length in an entry, after the bytes of the head.
const LEN_SHIFT: u32 = 120;
/// Scatters heads over the slots: the fraction of the golden ratio.
const SCATTER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// The head of an instruction, padded with zeros. No head begins with another one.
#[derive(Clone, Copy)]
pub(super) struct Head(u128);

impl Head {
    /// Returns the head of the instruction that some code starts with; `None` if it
    /// is not all there, or if the length depends on more.
    pub(super) fn of(code: &[u8]) -> Option<Self> {
        let window = code
            .first_chunk()
            .copied()
            .unwrap_or_else(|| std::array::from_fn(|index| code.get(index).copied().unwrap_or_default()));
        let len = head_len(&window).filter(|len| *len < WINDOW && *len <= code.len())?;
        Some(Self(u128::from_le_bytes(window) & ((1 << (len * 8)) - 1)))
    }

    fn slot(self) -> usize {
        (self.0.wrapping_mul(SCATTER) >> (u128::BITS - SLOT_BITS)) as usize
    }
}

impl Default for KnownLengths {
    fn default() -> Self {
        Self(vec![0; 1 << SLOT_BITS].into())
    }
}

impl KnownLengths {
    /// Returns the length of instructions with this head, if it is known. The code may
    /// be shorter.
    pub(super) fn get(&self, head: Head) -> Option<usize> {
        let entry = *self.0.get(head.slot())?;
        let len = (entry >> LEN_SHIFT) as usize;
        (len > 0 && entry ^ head.0 == (len as u128) << LEN_SHIFT).then_some(len)
    }

    /// Keeps the length of an instruction.
    pub(super) fn insert(&mut self, head: Head, len: u8) {
        if let Some(entry) = self.0.get_mut(head.slot()) {
            *entry = head.0 | u128::from(len) << LEN_SHIFT;
        }
    }
}

/// Returns the number of bytes up to the last that the length depends on. More is
/// harmless: invalid instructions, and those with an immediate in the place of
/// ModRM, are remembered separately for each value.
fn head_len(code: &[u8; WINDOW]) -> Option<usize> {
    let prefixes = code.iter().take_while(|byte| is_prefix(**byte)).count();
    let escape = code.get(prefixes..)?;
    let (before, is_alone) = match escape {
        // 3DNow!, whose opcode comes last.
        [0x0f, 0x0f, ..] => return None,
        [0x0f, 0x38 | 0x3a, ..] => (2, false),
        [0x0f, opcode, ..] => (1, matches!(opcode, 0x80..=0x8f)),
        // VEX, XOP or POP, EVEX.
        [0xc5, ..] => (2, false),
        [0xc4 | 0x8f, ..] => (3, false),
        [0x62, ..] => (4, false),
        [opcode, ..] => (0, is_without_modrm(*opcode)),
        [] => return None,
    };
    let modrm = prefixes + before + 1;
    if is_alone {
        return Some(modrm);
    }
    let byte = code.get(modrm)?;
    let has_sib = byte >> 6 != 3 && byte & 7 == 4;
    Some(modrm + 1 + usize::from(has_sib))
}

/// Whether a byte before the opcode is a prefix: segments, REX, sizes, LOCK, REP.
const fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}

/// Whether ModRM does not follow an opcode of one byte, of those that are frequent.
const fn is_without_modrm(opcode: u8) -> bool {
    matches!(opcode, 0x50..=0x5f | 0x68 | 0x6a | 0x70..=0x7f | 0x90..=0x9f | 0xa8..=0xa9 | 0xb0..=0xbf)
        || matches!(opcode, 0xc2..=0xc3 | 0xc9 | 0xcc | 0xe8..=0xe9 | 0xeb)
        || opcode < 0x40 && matches!(opcode & 7, 4..=5)
}
