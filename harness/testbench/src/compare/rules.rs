//! What the bench looks up itself, whichever unwinder is under test.

use std::ops::Range;

use sframe_engine::{Base, LookupAddress, Recovery, RecoveryRule};
use sframe_inspect::instructions::Registers;

use crate::compare::Rules;
use crate::target::sections::Sections;

impl Rules for Sections<'_> {
    fn has_fde(&self, address: LookupAddress) -> bool {
        !matches!(self.lookup_fde(address), Ok(None))
    }

    fn need_register(&self, address: LookupAddress) -> bool {
        let Ok(Some(found)) = self.lookup(address) else {
            return false;
        };
        let other = |rule: &RecoveryRule| matches!(rule.base, Base::Register(_));
        let ra = match &found.row.ra {
            Recovery::Rule(rule) => other(rule),
            // On amd64 it has no register.
            Recovery::Unchanged => {
                self.at(address).is_some_and(|section| section.header().abi.ra().is_some())
            }
            Recovery::Undefined => false,
        };
        let fp = matches!(&found.row.fp, Recovery::Rule(rule) if other(rule));
        ra || fp || found.row.cfa.as_ref().is_some_and(other)
    }

    fn bases(&self, address: LookupAddress) -> Registers {
        let Ok(Some(found)) = self.lookup(address) else { return Registers::default() };
        let fp = self.at(address).map(|section| section.header().abi.fp());
        let rule = |recovery| match recovery {
            Recovery::Rule(rule) => Some(rule),
            Recovery::Unchanged | Recovery::Undefined => None,
        };
        let register = |rule: RecoveryRule| match rule.base {
            Base::Fp => fp,
            Base::Register(register) => Some(register),
            Base::Sp | Base::Cfa => None,
        };
        let rules = [found.row.cfa, rule(found.row.ra), rule(found.row.fp)];
        rules.into_iter().flatten().filter_map(register).collect()
    }

    fn keep_fp(&self, address: LookupAddress) -> Option<Range<u64>> {
        let found = self.lookup(address).ok()??;
        let end = found.fde.start.saturating_add(found.fde.size.into());
        (found.row.fp == Recovery::Unchanged).then_some(found.fde.start..end)
    }

    fn fp_rule(&self, address: LookupAddress) -> Option<RecoveryRule> {
        match self.lookup(address).ok()??.row.fp {
            Recovery::Rule(rule) => Some(rule),
            Recovery::Unchanged | Recovery::Undefined => None,
        }
    }

    fn function(&self, address: LookupAddress) -> Option<Range<u64>> {
        let fde = self.lookup_fde(address).ok()??;
        Some(fde.start..fde.start.saturating_add(fde.size.into()))
    }

    fn same(&self, first: LookupAddress, second: LookupAddress) -> bool {
        let rules =
            |address| self.lookup(address).ok()?.map(|found| (found.row.cfa, found.row.ra, found.row.fp));
        rules(first) == rules(second)
    }
}
