//! An unwinder for frame records and the backchain, to set beside SFrame.

use sframe_engine::{Abi, PauthMask};

use super::engine::DEPTH_LIMIT;
use super::{Backtrace, End, Frame, Unreadable, Unwinder, Viewpoint};
use crate::target::layouts::FrameLayouts;
use crate::target::{Loaded, Target};

/// Where callees of the ABI for s390x save r14, in bytes from their caller's SP.
const SAVED_R14: u64 = 112;

/// Walks stacks as kernels do without any table: by the chain that begins in FP (amd64, aarch64),
/// or in SP (the backchain of s390x). It looks at no code, so it does not know where a function
/// has not yet made its record, or has removed it: its caller is missing there.
pub struct FramePointerUnwinder {
    abi: Abi,
    pauth: PauthMask,
}

/// What a record says of the frame that it belongs to.
struct Link {
    cfa: Option<u64>,
    return_address: u64,
    /// The address of the caller's record.
    next: u64,
}

impl FramePointerUnwinder {
    /// Makes an unwinder for a process.
    #[must_use]
    pub fn new(target: &Target<'_>) -> Self {
        let cpu = target.executable().image.cpu;
        Self::of(cpu.abi, cpu.address_bits)
    }

    /// Makes an unwinder for an ABI, with addresses of that size in bits.
    #[must_use]
    pub const fn of(abi: Abi, address_bits: u32) -> Self {
        Self { abi, pauth: PauthMask::for_address_bits(address_bits) }
    }

    /// Walks a stack from a PC, SP and frame pointer on, and adds to an empty backtrace.
    pub fn walk(
        &self,
        pc: u64,
        [sp, fp]: [u64; 2],
        memory: &impl Fn(u64) -> Option<u64>,
        backtrace: &mut Backtrace,
    ) {
        let at = if self.abi.has_backchain() { sp } else { fp };
        backtrace.end = self.follow(Place { pc, fp: Ok(fp), at }, memory, backtrace);
    }

    /// Reads the record at an address. If there is none, says whether the chain ends there as an outermost frame ends it.
    fn read(&self, at: u64, memory: &impl Fn(u64) -> Option<u64>) -> Result<Link, End> {
        let is_zero = at == 0 || self.abi.has_backchain() && memory(at) == Some(0);
        self.record(at, memory).ok_or(if is_zero { End::Outermost } else { End::Unspecified })
    }

    fn record(&self, at: u64, memory: &impl Fn(u64) -> Option<u64>) -> Option<Link> {
        if !at.is_multiple_of(8) || at == 0 {
            return None;
        }
        let next = memory(at)?;
        if !self.abi.has_backchain() {
            let return_address = self.pauth.strip(memory(at.checked_add(8)?)?);
            let cfa = self.abi.cfa_offset_from_frame_record().and_then(|offset| at.checked_add(offset));
            return Some(Link { cfa, return_address, next });
        }
        if next <= at || !next.is_multiple_of(8) {
            return None;
        }
        let return_address = memory(next.checked_add(SAVED_R14)?)?;
        let cfa = next.checked_add_signed(self.abi.sp_offset_from_cfa().checked_neg()?);
        Some(Link { cfa, return_address, next })
    }
}

/// Where no record can be.
const NO_RECORD: u64 = u64::MAX;

/// A frame, and where its record is.
struct Place {
    pc: u64,
    /// The frame pointer register.
    fp: Result<u64, Unreadable>,
    /// The address of the record.
    at: u64,
}

impl FramePointerUnwinder {
    /// Follows the chain from a frame on. Returns how it ends.
    fn follow(&self, from: Place, memory: &impl Fn(u64) -> Option<u64>, backtrace: &mut Backtrace) -> End {
        let Place { mut pc, mut fp, mut at } = from;
        loop {
            if backtrace.frames.len() == backtrace.limit.unwrap_or(DEPTH_LIMIT) {
                break End::TooDeep;
            }
            let link = self.read(at, memory);
            let cfa = link.as_ref().ok().and_then(|link| link.cfa);
            backtrace.frames.push(Frame { pc, cfa, fp, mangled: None, interrupted: None });
            let Link { return_address, next, .. } = match link {
                Ok(link) => link,
                Err(end) => break end,
            };
            // Stacks grow downwards, so records further out are above: what leads down leads to none.
            let is_record = next > at || next == 0;
            (pc, at) = (return_address, if is_record { next } else { NO_RECORD });
            fp = if self.abi.has_backchain() { Err(Unreadable(0)) } else { Ok(next) };
        }
    }
}

impl Unwinder for FramePointerUnwinder {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let Viewpoint { pc, sp, fp, memory, .. } = *viewpoint;
        self.walk(pc, [sp, fp], &|address| memory.read_u64(address), backtrace);
    }
}

/// Walks stacks by the same chain, after a look at the code of the innermost function: what it does from its first
/// instruction to where it is shows whether it has made its record, and where the return address is if it has not. Without a
/// symbol, or where the code does not show it, only the chain is followed.
pub struct CodeReadingUnwinder<'t, 'a> {
    chain: FramePointerUnwinder,
    target: &'t Target<'a>,
    layouts: FrameLayouts,
}

impl<'t, 'a> CodeReadingUnwinder<'t, 'a> {
    /// Makes an unwinder for a process.
    #[must_use]
    pub fn new(target: &'t Target<'a>) -> Self {
        Self { chain: FramePointerUnwinder::new(target), target, layouts: FrameLayouts::default() }
    }

    /// The innermost frame's CFA, and its caller, if the code shows them.
    fn innermost(&mut self, viewpoint: &Viewpoint<'_>) -> Option<(u64, Place)> {
        let FramePointerUnwinder { abi, pauth } = self.chain;
        let Viewpoint { pc, sp, fp, memory, .. } = *viewpoint;
        let module = self.target.module_at(Loaded(pc))?;
        let function = self.target.extent(self.target.function_at(Loaded(pc))?)?;
        let layout = self.layouts.at(module, function, pc)?.layout;
        let link = abi.ra().and_then(|ra| viewpoint.register(ra.0));
        let found = layout.values(sp, Some(fp), link, &|address| memory.read_u64(address));
        let (cfa, return_address) = (found.cfa?, found.ra?);
        let callers_sp = cfa.checked_add_signed(abi.sp_offset_from_cfa())?;
        let at = if abi.has_backchain() { callers_sp } else { found.fp.unwrap_or(NO_RECORD) };
        let caller = Place { pc: pauth.strip(return_address), fp: found.fp.ok_or(Unreadable(0)), at };
        Some((cfa, caller))
    }
}

impl Unwinder for CodeReadingUnwinder<'_, '_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let Some((cfa, caller)) = self.innermost(viewpoint) else {
            self.chain.unwind(viewpoint, backtrace);
            return;
        };
        let Viewpoint { pc, fp, memory, .. } = *viewpoint;
        backtrace.frames.push(Frame { pc, cfa: Some(cfa), fp: Ok(fp), mangled: None, interrupted: None });
        backtrace.end = self.chain.follow(caller, &|address| memory.read_u64(address), backtrace);
    }
}
