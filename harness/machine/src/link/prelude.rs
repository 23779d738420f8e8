//! What happens before the entry point: the plan is carried out, and
//! functions of the program run that compute addresses or initialise images.

use std::cell::RefCell;

use unicorn_engine::{Unicorn, uc_error};

use super::lazy::{RESOLVER, SIGNING_RESOLVER};
use super::{Initialiser, Plan};
use crate::address_space::{AddressSpace, MapError, PAGE, Permissions};
use crate::call_stack::Bottom;
use crate::cpu::{Cpu, Link};
use crate::image::IMAGE_LIMIT;
use crate::machine::{self, Run};
use crate::outcome::{Broken, End};
use crate::process::{self, Pattern};

/// The page of the machine's own code.
pub(crate) const PAGE_START: u64 = IMAGE_LIMIT + 0x20_0000;
/// One instruction that signs a slot.
const SIGN: u64 = PAGE_START + 0x200;
/// Where functions return to that nobody has called.
const NOBODY: u64 = PAGE_START + 0x400;

impl Plan {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.indirect.is_empty() && self.copies.is_empty()
    }

    /// Maps the machine's page and stores what can be stored at once.
    pub(crate) fn install(&self, cpu: &Cpu, space: &mut AddressSpace) -> Result<(), MapError> {
        if self.is_empty() && self.initialisers.is_empty() {
            return Ok(());
        }
        let permissions = Permissions { read: true, write: false, execute: true };
        space.map(PAGE_START, PAGE, permissions)?;
        let linking = &cpu.linking;
        let mut stored = space.write(RESOLVER, linking.resolver);
        if let Some(signing) = &linking.signing {
            stored &= space.write(SIGNING_RESOLVER, signing.resolver) && space.write(SIGN, &signing.sign);
        }
        stored &= self.words.iter().all(|(address, value)| space.write_u64(*address, *value));
        for (offset, bytes) in &self.thread_storage.initial {
            stored &= space.write(process::THREAD_POINTER.wrapping_add_signed(*offset), bytes);
        }
        if !linking.thread_storage_above {
            // Where ld.so keeps a thread's own address, beside that at 0.
            stored &= space.write_u64(process::THREAD_POINTER + 16, process::THREAD_POINTER);
        }
        // Places were checked against the segments, which are mapped.
        if stored { Ok(()) } else { Err(MapError::Overlap { start: PAGE_START, end: PAGE_START + PAGE }) }
    }
}

/// Runs what runs before the entry point. False where the run has ended by it.
pub(crate) fn run(
    plan: &Plan,
    run: &RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    sp: u64,
    pattern: Pattern,
) -> Result<bool, uc_error> {
    let cpu = run.borrow().cpu;
    let mut prelude = Prelude { run, unicorn, cpu, sp, pattern };
    for indirect in &plan.indirect {
        let Some(value) = prelude.call(indirect.resolver, [0; 3])? else { return Ok(false) };
        let value = if indirect.sign { prelude.sign(indirect.address, value)? } else { value };
        prelude.store(indirect.address, value);
    }
    for &(slot, value) in &plan.signed {
        let value = prelude.sign(slot, value)?;
        prelude.store(slot, value);
    }
    for copy in &plan.copies {
        let mut bytes = vec![0; usize::try_from(copy.len).unwrap_or_default()];
        let copied = {
            let mut run = run.borrow_mut();
            run.space.read(copy.from, &mut bytes) && run.store(copy.to, &bytes)
        };
        if !copied {
            return Ok(prelude.broken(format!("{:#x} can't be copied to {:#x}", copy.from, copy.to)));
        }
    }
    for initialiser in &plan.initialisers {
        let (table, count) = match *initialiser {
            Initialiser::Function(function) => {
                if prelude.initialise(function)?.is_none() {
                    return Ok(false);
                }
                continue;
            }
            Initialiser::Array(table, count) => (table, count),
        };
        for index in 0..count {
            let function = run.borrow().space.read_u64(table + index * 8).unwrap_or(0);
            // Linkers pad with these.
            if matches!(function, 0 | u64::MAX) {
                continue;
            }
            if prelude.initialise(function)?.is_none() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

struct Prelude<'p, 'r, 'u, 'o> {
    run: &'r RefCell<Run<'o>>,
    unicorn: &'p mut Unicorn<'u, ()>,
    cpu: &'static Cpu,
    /// The program's first SP.
    sp: u64,
    pattern: Pattern,
}

impl Prelude<'_, '_, '_, '_> {
    /// Initialisers get argc, argv and envp, as `main` does.
    fn initialise(&mut self, function: u64) -> Result<Option<u64>, uc_error> {
        let arguments = self.run.borrow().space.read_u64(self.sp).unwrap_or(0);
        let argv = self.sp + 8;
        self.call(function, [arguments, argv, argv.wrapping_add((arguments + 1) * 8)])
    }

    /// Calls a function as nobody, and returns its result. None where the run
    /// has ended in it.
    fn call(&mut self, function: u64, arguments: [u64; 3]) -> Result<Option<u64>, uc_error> {
        let cpu = self.cpu;
        // What the program finds at its first SP stays as it is.
        let sp = (self.sp & !15) - cpu.cfa_above_sp.next_multiple_of(16);
        process::set_registers(self.unicorn, cpu, sp, self.pattern)?;
        for (register, value) in cpu.linking.arguments.iter().zip(arguments) {
            self.unicorn.reg_write(*register, value)?;
        }
        match cpu.link {
            Link::Register(link) => self.unicorn.reg_write(link, NOBODY)?,
            Link::Stack => {
                self.store(sp - 8, NOBODY);
                self.unicorn.reg_write(cpu.sp, sp - 8)?;
            }
        }
        let sp = self.unicorn.reg_read(cpu.sp)?;
        self.run.borrow_mut().witness.start_again(sp, Bottom::Linker);
        machine::execute(self.run, self.unicorn, function, NOBODY)?;
        let pc = self.unicorn.reg_read(cpu.pc)?;
        if pc != NOBODY {
            // A hook has said why, unless the CPU stopped by itself.
            self.run.borrow_mut().end(End::Broken(Broken::Halted { pc }));
            return Ok(None);
        }
        self.unicorn.reg_read(cpu.linking.result).map(Some)
    }

    /// What a slot has to hold so that its value is authentic.
    fn sign(&mut self, slot: u64, value: u64) -> Result<u64, uc_error> {
        let Some(signing) = &self.cpu.linking.signing else { return Ok(value) };
        (self.cpu.prepare)(self.unicorn)?;
        self.unicorn.reg_write(signing.value, value)?;
        self.unicorn.reg_write(signing.slot, slot)?;
        self.unicorn.emu_start(SIGN, SIGN + signing.sign.len() as u64, 0, 0)?;
        self.unicorn.reg_read(signing.value)
    }

    fn store(&self, address: u64, value: u64) {
        if !self.run.borrow_mut().store_u64(address, value) {
            self.broken(format!("{address:#x} can't be written"));
        }
    }

    fn broken(&self, message: String) -> bool {
        self.run.borrow_mut().end(End::Broken(Broken::Linking(message)));
        false
    }
}

/// Whether an instruction is the machine's own and none of a program.
pub(crate) const fn is_own(pc: u64) -> bool {
    pc == SIGN
}
