//! Lazy binding of calls.
//!
//! The first entry of a PLT branches to a page of the machine's own. Its
//! code is the end of the resolver in the ABI's `ld.so`; the machine already knows what that
//! resolver computes.

use std::collections::HashMap;

use unicorn_engine::Unicorn;

use crate::address_space::AddressSpace;
use crate::cpu::{Cpu, LazyCall};
use crate::places::Places;

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

    pub(crate) fn add(&mut self, image: usize, slot: u64, target: u64) {
        self.by_image[image].push(Some(slot));
        self.targets.insert(slot, target);
    }

    /// A relocation among them that is not for a lazily bound call.
    pub(crate) fn skip(&mut self, image: usize) {
        self.by_image[image].push(None);
    }

    /// Returns whether an image has such slots.
    pub(crate) fn are_lazy(&self, image: usize) -> bool {
        self.by_image[image].iter().any(Option::is_some)
    }

    /// Returns slot and function of a call.
    fn find(&self, call: LazyCall, places: Places) -> Option<(u64, u64)> {
        let slot = match call {
            LazyCall::Slot(slot) => slot,
            LazyCall::Relocation { image, number } => {
                let image = usize::try_from(image.checked_sub(places.token(0))?).ok()?;
                (*self.by_image.get(image)?.get(usize::try_from(number).ok()?)?)?
            }
        };
        Some((slot, *self.targets.get(&slot)?))
    }

    /// Binds the call that has just arrived at a resolver, and returns the slot that was stored
    /// to. The error says what is wrong with the data that the PLT left.
    pub(crate) fn bind(
        &self,
        cpu: &Cpu,
        space: &AddressSpace,
        unicorn: &mut Unicorn<'_, ()>,
        sp: u64,
        places: Places,
    ) -> Result<u64, String> {
        let call = (cpu.linking.lazy_call)(sp, &|address| space.read_u64(address));
        let Some((slot, target)) = call.and_then(|call| self.find(call, places)) else {
            return Err(format!("the PLT left nothing to bind: {call:x?}"));
        };
        if !space.write_u64(slot, target) {
            return Err(format!("the slot at {slot:#x} can't be written"));
        }
        unicorn.reg_write(cpu.linking.target, target).map_err(|error| format!("{error:?}"))?;
        Ok(slot)
    }
}
