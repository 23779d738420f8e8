//! Runs the emulator from one state of a function after another.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use unicorn_engine::{HookType, TlbType, Unicorn, uc_error};

use super::arena::{self, Layout};
use super::paths::{Paths, Stop};
use super::{Binary, Observer};
use crate::address_space::AddressSpace;
use crate::cpu::Cpu;
use crate::machine::MachineError;
use crate::process::map_image;

/// An address at which nothing is ever mapped; emulation has no end address.
const NOWHERE: u64 = 0xffff_ffff_ffff_f000;

/// Explores the functions that an observer names.
///
/// # Errors
/// The emulator can't be set up, or fails.
pub fn explore(binary: &Binary<'_>, observer: &mut dyn Observer) -> Result<(), MachineError> {
    let cpu = binary.image.cpu;
    let layout = Layout::beside(&binary.image.range(), cpu.user_end)
        .ok_or_else(|| MachineError::Stack("the image leaves no room for a stack".to_owned()))?;
    let mut space = AddressSpace::new(cpu.abi.is_big_endian());
    map_image(&mut space, binary.image)?;
    arena::map(&mut space, layout)?;
    for (address, value) in &binary.words {
        // The words of relocations are within the image.
        let _ = space.write_u64(*address, *value);
    }
    let failed = |error| match error {
        uc_error::NOMEM => MachineError::Memory,
        error => MachineError::Unicorn { cpu: cpu.abi, error },
    };
    let paths = RefCell::new(Paths::new(binary, observer, layout, space));
    let mut unicorn = set_up(&paths, cpu).map_err(failed)?;
    let result = run(&paths, &mut unicorn);
    let panic = paths.borrow_mut().panic.take();
    drop(unicorn);
    if let Some(panic) = panic {
        std::panic::resume_unwind(panic);
    }
    result.map_err(failed)
}

fn set_up<'a>(paths: &'a RefCell<Paths<'_, '_>>, cpu: &'static Cpu) -> Result<Unicorn<'a, ()>, uc_error> {
    let mut unicorn = Unicorn::new(cpu.arch, cpu.mode)?;
    if let Some(model) = cpu.model {
        unicorn.ctl_set_cpu_model(model)?;
    }
    paths.borrow().space.install(&mut unicorn)?;
    unicorn.ctl_set_tlb_type(TlbType::VIRTUAL)?;
    unicorn.add_tlb_hook(1, 0, move |_, address, access| {
        let Ok(mut paths) = paths.try_borrow_mut() else { return None };
        let Paths { pages, space, .. } = &mut *paths;
        pages.translate(space, address, access)
    })?;
    unicorn.add_code_hook(1, 0, move |unicorn, pc, _| {
        hook(paths, unicorn, |paths, unicorn| paths.instruction(unicorn, pc));
    })?;
    unicorn.add_mem_hook(HookType::MEM_WRITE, 1, 0, move |unicorn, _, address, len, value| {
        hook(paths, unicorn, |paths, _| paths.stored(address, len as u64, value.cast_unsigned()));
        true
    })?;
    unicorn.add_insn_invalid_hook(|_| false)?;
    unicorn.add_intr_hook(move |unicorn, _| {
        hook(paths, unicorn, |paths, _| paths.stop = Some(Stop::Exception));
    })?;
    Ok(unicorn)
}

/// Runs a hook's work. Panics must not leave it: the emulator's frames are in between.
fn hook(
    paths: &RefCell<Paths<'_, '_>>,
    unicorn: &mut Unicorn<'_, ()>,
    work: impl FnOnce(&mut Paths<'_, '_>, &mut Unicorn<'_, ()>),
) {
    let Ok(mut paths) = paths.try_borrow_mut() else {
        let _ = unicorn.emu_stop();
        return;
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&mut paths, unicorn))) {
        paths.panic = Some(panic);
        paths.stop = Some(Stop::End);
    }
    if paths.stop.is_some() {
        let _ = unicorn.emu_stop();
    }
}

fn run(paths: &RefCell<Paths<'_, '_>>, unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    let initial = paths.borrow().prepare(unicorn)?;
    loop {
        if !paths.borrow_mut().begin(unicorn, &initial)? {
            return Ok(());
        }
        loop {
            let Some(mut pc) = paths.borrow_mut().take_up(unicorn)? else { break };
            loop {
                let result = unicorn.emu_start(pc, NOWHERE, 0, 0);
                let mut paths = paths.borrow_mut();
                if paths.panic.is_some() {
                    return Ok(());
                }
                match paths.stopped(unicorn, result)? {
                    Some(next) => pc = next,
                    None => break,
                }
            }
        }
        paths.borrow_mut().finish();
    }
}
