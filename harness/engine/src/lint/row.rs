//! The content of rows (2.4), by the type of their FDE.

use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::flex;
use crate::lint::fre::Fre;
use crate::lint::layout::Layout;
use crate::lint::recovery;
use crate::lint::reporter::{Place, Reporter};
use crate::read::FdeType;

impl Fre {
    /// Checks the content of the row. Returns whether a default row could hold it too.
    pub(super) fn check(
        &self,
        layout: &Layout<'_>,
        fde_type: FdeType,
        place: Place,
        out: &mut Reporter<'_>,
    ) -> bool {
        let info_place = place.with_offset(self.info_at);
        if let Some(abi) = layout.abi.filter(|_| self.info & 0x80 != 0 && !layout.signs_return_addresses()) {
            out.report(&rules::MANGLED_RA, info_place, [abi.name()]);
        }
        self.check_width(fde_type, info_place, out);
        if self.count == 0 && layout.version.marks_outermost_rows() {
            out.say(&rules::RA_UNDEFINED, info_place);
            return true;
        }
        match (fde_type, layout.abi) {
            // The ABI determines which offsets are fixed, and so where FP is.
            (FdeType::Default, None) => {
                if self.count == 0 || self.count > 3 {
                    let values = [Value::from(self.count), Value::Text("any ABI")];
                    out.report(&rules::WORD_COUNT, info_place, values);
                }
                true
            }
            (FdeType::Default, Some(abi)) => {
                recovery::check_default(self, layout, abi, info_place, out);
                true
            }
            (FdeType::Flex, abi) => flex::check(self, layout, abi, info_place, out),
        }
    }

    fn check_width(&self, fde_type: FdeType, place: Place, out: &mut Reporter<'_>) {
        let fits = |width: u32| {
            let bits = width * 8;
            // Control words are unsigned and start pairs; 0 stands for a pair.
            let mut is_control = fde_type == FdeType::Flex;
            self.words().iter().all(|word| {
                let signed = i64::from(*word);
                let (low, high) =
                    if is_control { (0, 1 << bits) } else { (-(1 << (bits - 1)), 1 << (bits - 1)) };
                let value = if is_control { i64::from(self.control(*word)) } else { signed };
                is_control = fde_type == FdeType::Flex && (!is_control || value == 0);
                (low..high).contains(&value)
            })
        };
        let needed = [1, 2].into_iter().find(|width| fits(*width));
        if let Some(needed) = needed.filter(|needed| (*needed as usize) < self.width && self.count > 0) {
            let values = [Value::Number(self.width as i64), Value::from(needed)];
            out.report(&rules::WIDE_WORDS, place, values);
        }
    }
}
