//! Code as it is wherever it is linked to: without the bytes that linkers change.

use std::ops::Range;

use object::read::ObjectSection;

/// How many bytes before the field of a relocation may change: the opcode of an instruction that a linker relaxes.
const OPCODE: u64 = 3;

/// How large a field is at least, in bytes, also one whose size is unknown.
const FIELD: u64 = 4;

/// Code, each byte as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedCode(Vec<Option<u8>>);

impl LinkedCode {
    /// Code that is linked already.
    #[must_use]
    pub fn whole(bytes: &[u8]) -> Self {
        Self(bytes.iter().copied().map(Some).collect())
    }

    /// The code of a section in a relocatable file. `None` if it can't be read.
    pub fn of_relocatable<'d>(section: &impl ObjectSection<'d>) -> Option<Self> {
        let mut code = Self::whole(section.data().ok()?);
        for (offset, relocation) in section.relocations() {
            let field = u64::from(relocation.size()).div_ceil(8).max(FIELD);
            let clamped = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(code.0.len());
            let changed = clamped(offset.saturating_sub(OPCODE))..clamped(offset.saturating_add(field));
            code.0[changed].fill(None);
        }
        Some(code)
    }

    /// A part of it, by offsets. `None` if it is not that long.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Option<Self> {
        self.0.get(range).map(|bytes| Self(bytes.to_vec()))
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.0.len()
    }

    /// How many of its bytes are the same wherever it is linked to.
    #[must_use]
    pub fn known(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Whether it is in other code at an offset, as far as both are known.
    #[must_use]
    pub fn is_in(&self, other: &Self, offset: usize) -> bool {
        let end = offset.checked_add(self.size());
        let there = end.and_then(|end| other.0.get(offset..end));
        there.is_some_and(|there| {
            let is_same =
                |(own, other): (&Option<u8>, &Option<u8>)| own.is_none() || other.is_none() || own == other;
            self.0.iter().zip(there).all(is_same)
        })
    }

    /// Whether it is the same as other code, as far as both are known.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.size() == other.size() && self.is_in(other, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_same_as_far_as_it_is_known() {
        let whole = LinkedCode::whole(&[1, 2, 3, 4, 5]);
        let part = whole.part(1..4).expect("a part");
        assert!(part.is_in(&whole, 1) && !part.is_in(&whole, 0) && !part.is_in(&whole, 3), "or ends before");
        assert_eq!((part.size(), whole.part(4..6)), (3, None));
        let open = LinkedCode(vec![Some(2), None, Some(4)]);
        assert!(open.is(&part) && part.is(&open) && open.known() == 2);
        assert!(!open.is(&LinkedCode::whole(&[2, 3, 5])) && !open.is(&whole), "another byte; another size");
    }
}
