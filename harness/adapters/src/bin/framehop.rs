//! `framehop` as an unwinder: `.eh_frame` of amd64 and aarch64, with frame pointers where
//! `.eh_frame` has nothing.

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use sframe_adapters::{Section, frame, register, sections, unreadable};
use sframe_protocol::{
    Address, Backtrace, End, EndKind, Frame, Hello, MAX_FRAMES, Memory, Open, Stop, Unwinder, serve,
};
use sframe_vectors::{Abi, Tracked};

#[derive(Default)]
struct Framehop {
    amd64: Option<(UnwinderX86_64<Vec<u8>>, CacheX86_64)>,
    aarch64: Option<(UnwinderAarch64<Vec<u8>>, CacheAarch64, PtrAuthMask)>,
}

fn main() -> std::io::Result<()> {
    serve(Framehop::default())
}

/// Walks with one of the two unwinders: `$registers` are those of the topmost
/// frame, `$fp` reads FP out of them. SP of a caller is the CFA of its callee.
macro_rules! walk {
    ($unwinder:expr, $cache:expr, $registers:expr, $fp:ident, $stop:expr, $memory:expr) => {{
        let mut registers = $registers;
        let mut address = FrameAddress::from_instruction_pointer($stop.pc.0);
        let mut read = |address: u64| $memory.read_u64(address).ok_or(());
        let mut frames: Vec<Frame> = Vec::new();
        let end = loop {
            let mut this = frame(address.address(), None, Ok(registers.$fp()));
            if frames.len() == MAX_FRAMES - 1 {
                frames.push(this);
                break End::of(EndKind::TooDeep);
            }
            match $unwinder.unwind_frame(address, &mut registers, $cache, &mut read) {
                Ok(Some(ra)) => {
                    this.cfa = Some(Address(registers.sp()));
                    frames.push(this);
                    match FrameAddress::from_return_address(ra) {
                        Some(next) => address = next,
                        None => break End::with_message(EndKind::Failed, "the return address is null"),
                    }
                }
                other => {
                    frames.push(this);
                    break match other {
                        Ok(_) => End::of(EndKind::Outermost),
                        Err(Error::CouldNotReadStack(at)) => unreadable(Tracked::Cfa, at),
                        Err(error @ (Error::DidNotAdvance | Error::FramepointerUnwindingMovedBackwards)) => {
                            End::with_message(EndKind::NoProgress, error.to_string())
                        }
                        Err(error) => End::with_message(EndKind::Failed, error.to_string()),
                    };
                }
            }
        };
        Backtrace::new(frames, end)
    }};
}

impl Unwinder for Framehop {
    fn hello(&self) -> Hello {
        Hello::new("framehop", "0.16.0", "eh_frame")
    }

    fn open(&mut self, open: &Open) -> Result<(), String> {
        (self.amd64, self.aarch64) = (None, None);
        let mut modules = Vec::new();
        for image in &open.images {
            let names = [".text", ".got", ".eh_frame", ".eh_frame_hdr"];
            let [text, got, eh_frame, eh_frame_hdr] =
                <[_; 4]>::try_from(sections(image, &names)?).map_err(|_| "sections are missing")?;
            let range = |section: &Option<Section>| section.as_ref().map(|section| section.range.clone());
            let data = |section: &Option<Section>| section.as_ref().map(|section| section.data.clone());
            let info = ExplicitModuleSectionInfo {
                // It stores addresses relative to that, in 32 bits.
                base_svma: image.start.0.wrapping_sub(image.bias.0),
                text_svma: range(&text),
                text: data(&text),
                got_svma: range(&got),
                eh_frame_svma: range(&eh_frame),
                eh_frame: data(&eh_frame),
                eh_frame_hdr_svma: range(&eh_frame_hdr),
                eh_frame_hdr: data(&eh_frame_hdr),
                ..Default::default()
            };
            modules.push(Module::new(image.name.clone(), image.start.0..image.end.0, image.start.0, info));
        }
        match open.abi {
            Abi::Amd64 => {
                let mut unwinder = UnwinderX86_64::new();
                modules.into_iter().for_each(|module| unwinder.add_module(module));
                self.amd64 = Some((unwinder, CacheX86_64::new()));
            }
            Abi::Aarch64 => {
                let mut unwinder = UnwinderAarch64::new();
                modules.into_iter().for_each(|module| unwinder.add_module(module));
                let mask = PtrAuthMask(u64::MAX.checked_shr(64 - open.address_bits).unwrap_or(u64::MAX));
                self.aarch64 = Some((unwinder, CacheAarch64::new(), mask));
            }
            Abi::Aarch64Be | Abi::S390x => {
                return Err("framehop knows amd64 and little-endian aarch64 only".into());
            }
        }
        Ok(())
    }

    fn unwind(&mut self, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        if let Some((unwinder, cache)) = &mut self.amd64 {
            let registers = UnwindRegsX86_64::new(stop.pc.0, register(stop, 7), register(stop, 6));
            return walk!(unwinder, cache, registers, bp, stop, memory);
        }
        let Some((unwinder, cache, mask)) = &mut self.aarch64 else {
            return Backtrace::new(Vec::new(), End::of(EndKind::Failed));
        };
        let [lr, sp, fp] = [30, 31, 29].map(|number| register(stop, number));
        let registers = UnwindRegsAarch64::new_with_ptr_auth_mask(*mask, lr, sp, fp);
        walk!(unwinder, cache, registers, fp, stop, memory)
    }
}
