//! The instructions that executed last.

/// The instructions since the last transfer of control, as far back as values are traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pcs: [u64; Self::LIMIT],
    len: usize,
}

impl Trail {
    const LIMIT: usize = 16;

    pub(crate) fn push(&mut self, pc: u64) {
        self.pcs[self.len % Self::LIMIT] = pc;
        self.len += 1;
    }

    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = u64> {
        let oldest = self.len.saturating_sub(Self::LIMIT);
        (oldest..self.len).rev().map(|index| self.pcs[index % Self::LIMIT])
    }
}
