//! What happens before the entry point: the plan is carried out, and functions of the program
//! run that compute addresses or initialise images.

use std::cell::RefCell;

use unicorn_engine::{Unicorn, uc_error};

use crate::address_space::{AddressSpace, MapError, PAGE, Permissions};
use crate::call_stack::Bottom;
use crate::cpu::{Cpu, Link};
use crate::link::{Initialiser, Plan};
use crate::outcome::{Broken, End};
use crate::places::Places;
use crate::process::{self, Pattern};
use crate::run::Run;
use crate::run::blocks::execute;

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
        let places = self.places;
        let page = places.linker();
        space.map(page.start, PAGE, permissions)?;
        let linking = &cpu.linking;
        let mut stored = space.write(places.resolver(false), linking.resolver);
        if let Some(signing) = &linking.signing {
            stored &= space.write(places.resolver(true), signing.resolver)
                && space.write(places.sign(), &signing.sign);
        }
        stored &= self.words.iter().all(|(address, value)| space.write_u64(*address, *value));
        for (offset, bytes) in &self.thread_storage.initial {
            stored &= space.write(places.thread_pointer().wrapping_add_signed(*offset), bytes);
        }
        if !linking.thread_storage_above {
            // Where ld.so keeps a thread's own address, beside that at 0.
            stored &= space.write_u64(places.thread_pointer() + 16, places.thread_pointer());
        }
        // Places were checked against the segments, which are mapped.
        if stored { Ok(()) } else { Err(MapError::Overlap { start: page.start, end: page.end }) }
    }
}

/// Runs the code before the entry point. Returns false if that has ended the run.
pub(crate) fn run(
    plan: &Plan,
    run: &RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    sp: u64,
    pattern: Pattern,
) -> Result<bool, uc_error> {
    let cpu = run.borrow().cpu;
    let mut prelude = Prelude { run, unicorn, cpu, sp, pattern, places: plan.places };
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
    places: Places,
}

impl Prelude<'_, '_, '_, '_> {
    /// Initialisers get argc, argv and envp, as `main` does.
    fn initialise(&mut self, function: u64) -> Result<Option<u64>, uc_error> {
        let arguments = self.run.borrow().space.read_u64(self.sp).unwrap_or(0);
        let argv = self.sp + 8;
        self.call(function, [arguments, argv, argv.wrapping_add((arguments + 1) * 8)])
    }

    /// Calls a function without a caller, and returns its result, or `None` if the run has
    /// ended in it.
    fn call(&mut self, function: u64, arguments: [u64; 3]) -> Result<Option<u64>, uc_error> {
        let (cpu, nobody) = (self.cpu, self.places.nobody());
        // The content at the program's first SP does not change.
        let sp = (self.sp & !15) - cpu.cfa_above_sp.next_multiple_of(16);
        process::set_registers(self.unicorn, cpu, sp, self.pattern, self.places)?;
        for (register, value) in cpu.linking.arguments.iter().zip(arguments) {
            self.unicorn.reg_write(*register, value)?;
        }
        match cpu.link {
            Link::Register(link) => self.unicorn.reg_write(link, nobody)?,
            Link::Stack => {
                self.store(sp - 8, nobody);
                self.unicorn.reg_write(cpu.sp, sp - 8)?;
            }
        }
        let sp = self.unicorn.reg_read(cpu.sp)?;
        self.run.borrow_mut().follower.witness.start_again(sp, Bottom::Linker);
        execute(self.run, self.unicorn, function, nobody, None)?;
        let pc = self.unicorn.reg_read(cpu.pc)?;
        if pc != nobody {
            // A hook has recorded the reason, unless the CPU stopped by itself.
            self.run.borrow_mut().end(End::Broken(Broken::Halted { pc }));
            return Ok(None);
        }
        self.unicorn.reg_read(cpu.linking.result).map(Some)
    }

    /// Returns the value that makes a slot authentic.
    fn sign(&mut self, slot: u64, value: u64) -> Result<u64, uc_error> {
        let Some(signing) = &self.cpu.linking.signing else { return Ok(value) };
        (self.cpu.prepare)(self.unicorn)?;
        self.unicorn.reg_write(signing.value, value)?;
        self.unicorn.reg_write(signing.slot, slot)?;
        let start = self.places.sign();
        self.unicorn.emu_start(start, start + signing.sign.len() as u64, 0, 0)?;
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
