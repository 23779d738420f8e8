//! Binding of calls when they are first made.
//!
//! The first entry of a procedure linkage table branches to a page of the
//! machine's own. Its code is that with which the ABI's `ld.so` leaves its
//! resolver; what that resolver computes, the machine knows already.

use std::collections::HashMap;

use unicorn_engine::Unicorn;

use super::prelude::PAGE_START;
use crate::address_space::AddressSpace;
use crate::cpu::{Cpu, LazyCall};

/// Where the resolver lies, and the one that signs slots.
pub(crate) const RESOLVER: u64 = PAGE_START;
pub(crate) const SIGNING_RESOLVER: u64 = PAGE_START + 0x100;
/// The second word of a global offset table names its image: this, and its index.
const TOKENS: u64 = PAGE_START + 0x800;

/// The slots of lazily bound calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// By image: the slots in the order of its relocations.
    by_image: Vec<Vec<Option<u64>>>,
    targets: HashMap<u64, u64>,
}

impl Slots {
    pub(crate) fn new(images: usize) -> Self {
        Self { by_image: vec![Vec::new(); images], targets: HashMap::new() }
    }

    pub(crate) const fn resolver(&self, sign: bool) -> u64 {
        if sign { SIGNING_RESOLVER } else { RESOLVER }
    }

    pub(crate) const fn token(&self, image: usize) -> u64 {
        TOKENS + image as u64
    }

    pub(crate) fn add(&mut self, image: usize, slot: u64, target: u64) {
        self.by_image[image].push(Some(slot));
        self.targets.insert(slot, target);
    }

    /// A relocation among them that is none of a lazily bound call.
    pub(crate) fn skip(&mut self, image: usize) {
        self.by_image[image].push(None);
    }

    /// Whether an image has such slots.
    pub(crate) fn are_lazy(&self, image: usize) -> bool {
        self.by_image[image].iter().any(Option::is_some)
    }

    /// Slot and function of a call.
    fn find(&self, call: LazyCall) -> Option<(u64, u64)> {
        let slot = match call {
            LazyCall::Slot(slot) => slot,
            LazyCall::Relocation { image, number } => {
                let image = usize::try_from(image.checked_sub(TOKENS)?).ok()?;
                (*self.by_image.get(image)?.get(usize::try_from(number).ok()?)?)?
            }
        };
        Some((slot, *self.targets.get(&slot)?))
    }

    /// Binds the call that has just arrived at a resolver, and returns the
    /// slot that was stored to. An error says what is wrong with what the
    /// procedure linkage table left.
    pub(crate) fn bind(
        &self,
        cpu: &Cpu,
        space: &AddressSpace,
        unicorn: &mut Unicorn<'_, ()>,
        sp: u64,
    ) -> Result<u64, String> {
        let call = (cpu.linking.lazy_call)(sp, &|address| space.read_u64(address));
        let Some((slot, target)) = call.and_then(|call| self.find(call)) else {
            return Err(format!("the procedure linkage table left nothing to bind: {call:x?}"));
        };
        if !space.write_u64(slot, target) {
            return Err(format!("the slot at {slot:#x} can't be written"));
        }
        unicorn.reg_write(cpu.linking.target, target).map_err(|error| format!("{error:?}"))?;
        Ok(slot)
    }
}

/// Whether an instruction is the first of a resolver.
pub(crate) const fn is_resolver(pc: u64) -> bool {
    pc == RESOLVER || pc == SIGNING_RESOLVER
}
