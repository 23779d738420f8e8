//! The questions that every vector must ask.

use std::collections::BTreeSet;

use crate::expect::{Fde, Question, Row};
use crate::names::PcType;
use crate::number::Address;

/// More are many.
const MANY: usize = 64;

/// All of a few, and the first and last of many.
fn ends<T>(items: &[T]) -> impl Iterator<Item = &T> {
    let is_asked = |index: usize| items.len() <= MANY || index == 0 || index + 1 == items.len();
    items.iter().enumerate().filter(move |(index, _)| is_asked(*index)).map(|(_, item)| item)
}

/// Returns the boundary PCs of functions: around the start and the end of each function and of
/// its rows, and both ends of the function as return addresses. The rows of a mask FDE have
/// boundaries in the first and in the last block. Faulty FDEs, and FDEs with a faulty row, have
/// none: which of their PCs have an answer is up to the reader. Of many functions, or many rows of one,
/// those of the first and the last are asked for.
#[must_use]
pub fn boundaries(fdes: &[Fde]) -> BTreeSet<Question> {
    let mut questions = BTreeSet::new();
    for fde in ends(fdes) {
        let (Some(start), Some(size)) = (fde.start, fde.size) else { continue };
        if fde.rows.iter().any(|row| matches!(row, Row::Reject(_))) {
            continue;
        }
        let (start, end) = (start.0, start.0.wrapping_add(size.into()));
        let mut pcs = vec![start.wrapping_sub(1), start, end.wrapping_sub(1), end];
        let last_block = match (fde.pc_type, fde.rep_size) {
            (PcType::Mask, rep_size @ 1..) => {
                let rep_size = u32::from(rep_size);
                u64::from(size.saturating_sub(1) / rep_size * rep_size)
            }
            _ => 0,
        };
        for row in ends(&fde.rows) {
            let Row::Rules(row) = row else { continue };
            for block in [0, last_block] {
                let pc = start.wrapping_add(block).wrapping_add(row.start.into());
                pcs.extend([pc.wrapping_sub(1), pc, pc.wrapping_add(1)]);
            }
        }
        let asked = |return_address| move |pc| Question { pc: Address(pc), return_address };
        questions.extend(pcs.into_iter().map(asked(false)));
        questions.extend([start, end].map(asked(true)));
    }
    questions
}
