//! What the bench looks up itself, whatever unwinder is under test.

use sframe_engine::{Base, LookupAddress, Recovery, RecoveryRule};

use crate::compare::Rules;
use crate::target::Target;

impl Rules for Target<'_> {
    fn has_fde(&self, address: LookupAddress) -> bool {
        !matches!(self.sections.lookup_fde(address), Ok(None))
    }

    fn need_register(&self, address: LookupAddress) -> bool {
        let Ok(Some(found)) = self.sections.lookup(address) else {
            return false;
        };
        let other = |rule: &RecoveryRule| matches!(rule.base, Base::Register(_));
        let ra = match &found.row.ra {
            Recovery::Rule(rule) => other(rule),
            // On amd64 there is no register for it.
            Recovery::Unchanged => {
                self.sections.at(address).is_some_and(|section| section.header().abi.ra().is_some())
            }
            Recovery::Undefined => false,
        };
        let fp = matches!(&found.row.fp, Recovery::Rule(rule) if other(rule));
        ra || fp || found.row.cfa.as_ref().is_some_and(other)
    }
}
