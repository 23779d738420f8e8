//! Executes by block, and follows the instructions of each after it has executed.
//!
//! A hook before each instruction costs more than the instruction. So there is a second emulator, with the same memory, that has
//! only one before each block. There, the instructions of the block before are followed, as if each were about to execute: with
//! the registers that it had, which are known from the code, and with memory as it is now. What has been stored since, or was
//! in a register that has been written since, can't be looked at: if somebody does, the run is lost, and has to be made again,
//! with this block by instruction. So nothing is seen that was not there, and nothing is left out.
//!
//! Blocks are executed here that were seen before, and whose code says where they store: see [`Block::read`]. All others, and
//! those in which a turn ends, are executed by instruction. As going from one emulator to the other takes as long as a
//! thousand instructions, the next attempt is made the later the shorter the last one was.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sframe_isa::Stored;
use unicorn_engine::{Context, Unicorn, uc_error};

use super::signals::Pause;
use super::{Run, emulator, enter, numbered};
use crate::address_space::Mapped;
use crate::block::{Block, Blocks, Ends, Entry, Instant, Known};
use crate::outcome::End;
use crate::pc_map::PcMap;
use crate::witness::Place;

/// A block is executed here after it was come to so often.
const COLD: u32 = 2;

/// How many instructions are executed one by one at most before blocks are tried again.
const LONGEST_WAIT: u64 = 1 << 6;

/// After this many instructions by block, an attempt was worth it.
const WORTH_IT: u64 = 1 << 9;

/// Runs from one address to another, with the pauses that signals need, and by block where that is allowed.
pub(crate) fn execute<'a>(
    run: &'a RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    start: u64,
    until: u64,
    mut by_block: Option<&mut ByBlock<'a>>,
) -> Result<(), uc_error> {
    let mut start = start;
    loop {
        let result = unicorn.emu_start(start, until, 0, 0);
        let pause = {
            let mut run = run.borrow_mut();
            run.interrupt_passing();
            run.pause.take()
        };
        if let (Some(Pause::Blocks), Some(by_block)) = (pause, &mut by_block) {
            start = by_block.go(run, unicorn, until)?;
            if run.borrow().end.is_none() {
                continue;
            }
        }
        let mut run = run.borrow_mut();
        let pause = pause.filter(|pause| *pause != Pause::Blocks);
        let next = pause.and_then(|pause| run.resume(unicorn, pause));
        match next.or_else(|| run.fork_ended(unicorn, result)) {
            Some(pc) => start = pc,
            None => return result,
        }
    }
}

impl Run<'_> {
    /// Blocks are tried after this many instructions.
    pub(crate) fn go_by_block(&mut self, instructions: u64) {
        if self.blocks.is_allowed {
            self.blocks.next = self.instructions.saturating_add(instructions);
        }
    }

    /// The block within which something has happened that can't be seen any more.
    pub(crate) const fn lost(&self) -> Option<u64> {
        self.blocks.lost
    }

    /// How many instructions were executed by block.
    pub(crate) const fn by_block(&self) -> u64 {
        self.blocks.executed
    }

    /// Whether what begins at an address is executed by block.
    #[inline]
    pub(super) fn goes_by_block(&mut self, pc: u64) -> bool {
        self.instructions >= self.blocks.next && self.tries_blocks(pc)
    }

    fn tries_blocks(&mut self, pc: u64) -> bool {
        let code = self.follower.effects.code();
        if self.blocks.code != code {
            self.blocks.code = code;
            self.blocks.known = PcMap::default();
        }
        let is_free = self.is_observed
            && self.snapshot.is_none()
            && !self.signal_waits
            && self.end.is_none()
            && self.pause.is_none();
        if !is_free {
            return false;
        }
        self.count_passed();
        // Not within s390x's EX, which is shown once more before what it executes.
        let is_jump = pc != self.last_pc.wrapping_add(self.last_size.into()) && pc != self.last_pc;
        let is_worth_it = match self.blocks.known.get(pc) {
            Some(known) => known.block.is_some() || known.seen < COLD,
            None => true,
        };
        if is_jump && is_worth_it {
            self.blocks.at = pc;
            self.pause = Some(Pause::Blocks);
        }
        is_jump && is_worth_it
    }

    /// The instructions of the block that executes can't be followed.
    pub(super) fn lose_block(&mut self) {
        if let Some((block, _)) = self.blocks.executing.take() {
            self.lose(&block);
        }
    }

    fn lose(&mut self, block: &Block) {
        self.blocks.lost = Some(block.steps[0].pc);
        self.end = Some(End::Stopped);
    }

    /// Follows the block that has executed, before the next one does.
    #[inline]
    pub(super) fn begin_block(&mut self, unicorn: &Unicorn<'_, ()>, pc: u64, size: u32) {
        if self.end.is_some() {
            return;
        }
        let read = |register| unicorn.reg_read(register).unwrap_or_default();
        let (sp, fp) = (read(self.cpu.sp), read(self.cpu.fp));
        if let Some((block, entry)) = self.blocks.executing.take() {
            self.follow_block(unicorn, &block, &entry, (sp, fp));
            if self.end.is_some() {
                return;
            }
        }
        let next = self.next_block(pc, size).filter(|block| {
            let uncounted = self.passing.as_ref().map_or(0, |passing| passing.uncounted(&self.gate));
            let begun = self.instructions + uncounted as u64;
            begun + block.steps.len() as u64 <= self.turn_end
        });
        let Some(block) = next else {
            self.blocks.at = pc;
            self.pause = Some(Pause::Steps);
            return;
        };
        let mut entry = [sp, fp, 0, 0, 0, 0];
        for (value, register) in entry.iter_mut().zip(&block.reads).skip(2) {
            *value = numbered(self.cpu, unicorn, *register).unwrap_or_default();
        }
        self.blocks.executing = Some((block, entry));
    }

    /// Returns the block at an address, if it is executed at once.
    #[inline]
    fn next_block(&mut self, pc: u64, size: u32) -> Option<Rc<Block>> {
        let known = self.blocks.known.get_or_insert_with(pc, Known::default);
        if known.seen <= COLD {
            known.seen += 1;
            if known.seen == COLD && !self.blocks.stepped.contains(&pc) {
                let range = pc..pc.wrapping_add(size.into());
                let block = Block::read(self.cpu, &self.space, self.places, range);
                known.block = block.map(Rc::new);
            }
        }
        known.block.as_ref().filter(|block| block.size == u64::from(size)).map(Rc::clone)
    }

    /// Follows the instructions of a block that has executed.
    fn follow_block(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        block: &Block,
        entry: &Entry,
        (sp, fp): (u64, u64),
    ) {
        let cpu = self.cpu;
        let others = |register| numbered(cpu, unicorn, register).unwrap_or_default();
        let ends = Ends { abi: cpu.abi, entry, sp, fp, others: &others };
        let is_lost = Cell::new(!block.has_ended(&ends));
        let mut stored = std::mem::take(&mut self.blocks.stored);
        stored.clear();
        stored.extend(block.targets.iter().map(|target| target.bytes(&ends)));
        let mut from = 0;
        for (number, step) in block.steps.iter().enumerate() {
            if !self.gate.passes(step.pc, step.size) && !self.go_on_passing(step.pc, step.size) {
                self.end_passing();
                let at = Place { pc: step.pc, sp: ends.value(step.sp), fp: ends.value(step.fp) };
                let instant = Instant { step, ends: &ends, later: &stored[from..], is_lost: &is_lost };
                self.observe(unicorn, at, step.size, Some(&instant));
                if self.end.is_some() || self.pause.is_some() || is_lost.get() {
                    break;
                }
            }
            if let Some(target) = block.targets.get(from).filter(|target| target.step == number) {
                let Stored { size, words, .. } = target.stored;
                for word in (0..u64::from(words)).take_while(|_| !target.is_unreported) {
                    self.stored_in_passing(
                        stored[from].address.wrapping_add(word * u64::from(size)),
                        size.into(),
                    );
                }
                from += 1;
            }
        }
        self.blocks.stored = stored;
        if is_lost.get() || self.pause.is_some() {
            self.lose(block);
        }
    }
}

/// Makes an emulator with a hook before each block. Whatever else happens in it ends the attempt: a hook for that would make
/// each store slow.
fn second_emulator<'a>(run: &'a RefCell<Run<'_>>) -> Result<(Unicorn<'a, ()>, Context), uc_error> {
    let mut unicorn = emulator(run.borrow().cpu, &run.borrow().space)?;
    unicorn.add_block_hook(1, 0, move |unicorn, pc, size| {
        enter(run, unicorn, |run, unicorn| run.begin_block(unicorn, pc, size));
    })?;
    let context = unicorn.context_init()?;
    Ok((unicorn, context))
}

/// The emulator that executes by block.
#[derive(Default)]
pub(crate) struct ByBlock<'a> {
    unicorn: Option<(Unicorn<'a, ()>, Context)>,
    /// What it has mapped.
    mapped: Mapped,
    /// Of which code its translations are.
    code: u32,
}

impl<'a> ByBlock<'a> {
    /// Executes by block as long as that is possible, from where another emulator is stopped. Returns where it continues.
    pub(super) fn go(
        &mut self,
        run: &'a RefCell<Run<'_>>,
        from: &mut Unicorn<'_, ()>,
        until: u64,
    ) -> Result<u64, uc_error> {
        let (began, at) = {
            let own = run.borrow();
            (own.instructions, own.blocks.at)
        };
        if run.borrow().space.may_change_code() {
            run.borrow_mut().blocks.next = u64::MAX;
            return Ok(at);
        }
        let known = self.unicorn.take().map_or_else(|| second_emulator(run), Ok);
        let Ok((mut unicorn, mut context)) = known else {
            // The host has no room for it.
            run.borrow_mut().blocks.next = u64::MAX;
            return Ok(at);
        };
        let code = run.borrow().follower.effects.code();
        if run.borrow().space.install_changes(&mut unicorn, &mut self.mapped)? || code != self.code {
            unicorn.ctl_flush_tb()?;
            self.code = code;
        }
        from.context_save(&mut context)?;
        unicorn.context_restore(&context)?;
        let result = unicorn.emu_start(at, until, 0, 0);
        let mut own = run.borrow_mut();
        own.interrupt_passing();
        if own.end.is_none() {
            match own.pause.take() {
                Some(Pause::Steps) if result.is_ok() => {}
                _ => own.lose_block(),
            }
        }
        unicorn.context_save(&mut context)?;
        from.context_restore(&context)?;
        own.leave_blocks(began);
        self.unicorn = Some((unicorn, context));
        Ok(own.blocks.at)
    }
}

impl Run<'_> {
    /// Notes when blocks are tried next.
    fn leave_blocks(&mut self, began: u64) {
        let executed = self.instructions - began;
        self.blocks.executed += executed;
        let was_worth_it = executed >= WORTH_IT;
        let wait =
            if was_worth_it { Blocks::SHORTEST_WAIT } else { (self.blocks.wait * 2).min(LONGEST_WAIT) };
        self.blocks.wait = wait;
        self.blocks.next = self.instructions + wait;
    }
}
