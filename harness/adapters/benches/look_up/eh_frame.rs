//! The crates `gimli` and `framehop`, which read the same file's `.eh_frame`.

use std::hint::black_box;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, UnwindContext, UnwindSection as _,
};
use object::{Architecture, Object as _, ObjectSection as _};

use crate::{Contender, Group, Input};

/// The sections that are read.
struct Sections<'i> {
    eh_frame: &'i [u8],
    eh_frame_at: u64,
    header: &'i [u8],
    header_at: u64,
    is_amd64: bool,
}

fn sections(input: &Input) -> Option<Sections<'_>> {
    let file = object::File::parse(&*input.file).ok()?;
    let section = |name: &str| {
        let section = file.section_by_name(name)?;
        Some((section.data().ok()?, section.address()))
    };
    let ((eh_frame, eh_frame_at), (header, header_at)) = (section(".eh_frame")?, section(".eh_frame_hdr")?);
    let is_amd64 = file.architecture() == Architecture::X86_64;
    Some(Sections { eh_frame, eh_frame_at, header, header_at, is_amd64 })
}

pub fn contenders(input: &Input) -> Vec<Contender<'_>> {
    let names = [
        (Group::Random, "gimli"),
        (Group::Random, FRAMEHOP_COLD),
        (Group::Hot, "gimli"),
        (Group::Hot, FRAMEHOP),
    ];
    let missing = |why: &str| names.map(|(group, name)| Contender::missing(group, name, why)).into();
    let Some(sections) = sections(input) else { return missing("the file has no .eh_frame_hdr") };
    let work = |(group, name): (Group, &str)| {
        let pcs = if group == Group::Random { &input.random } else { &input.hot };
        match name {
            "gimli" => gimli(group, name, &sections, pcs),
            _ => framehop(group, name, &sections, pcs),
        }
    };
    names.map(work).into()
}

fn gimli<'i>(group: Group, name: &str, sections: &Sections<'i>, pcs: &'i [u64]) -> Contender<'i> {
    let eh_frame = EhFrame::new(sections.eh_frame, LittleEndian);
    let bases =
        BaseAddresses::default().set_eh_frame(sections.eh_frame_at).set_eh_frame_hdr(sections.header_at);
    let header = match EhFrameHdr::new(sections.header, LittleEndian).parse(&bases, 8) {
        Ok(header) => header,
        Err(error) => return Contender::missing(group, name, &error.to_string()),
    };
    let mut context: UnwindContext<usize> = UnwindContext::new();
    Contender::look_up(group, name, pcs, move |pc| {
        let header: &gimli::ParsedEhFrameHdr<EndianSlice<'i, LittleEndian>> = &header;
        let Some(table) = header.table() else { return 0 };
        let row =
            table.unwind_info_for_address(&eh_frame, &bases, &mut context, pc, EhFrame::cie_from_offset);
        row.map_or(0, |row| row.start_address())
    })
}

const FRAMEHOP: &str = "framehop, cached; look-up and step";
const FRAMEHOP_COLD: &str = "framehop, cold; look-up and step";

fn framehop<'i>(group: Group, name: &str, sections: &Sections<'i>, pcs: &'i [u64]) -> Contender<'i> {
    if !sections.is_amd64 {
        return Contender::missing(group, name, "only measured on amd64");
    }
    let range = |start: u64, data: &[u8]| Some(start..start + data.len() as u64);
    let info = ExplicitModuleSectionInfo {
        base_svma: 0,
        eh_frame_svma: range(sections.eh_frame_at, sections.eh_frame),
        eh_frame: Some(sections.eh_frame.to_vec()),
        eh_frame_hdr_svma: range(sections.header_at, sections.header),
        eh_frame_hdr: Some(sections.header.to_vec()),
        ..Default::default()
    };
    let mut unwinder: UnwinderX86_64<Vec<u8>> = UnwinderX86_64::new();
    unwinder.add_module(Module::new(String::new(), 0..1 << 32, 0, info));
    let mut cache = CacheX86_64::new();
    Contender::look_up(group, name, pcs, move |pc| {
        let mut registers = UnwindRegsX86_64::new(pc, 0x7000, 0x7100);
        let frame = FrameAddress::from_instruction_pointer(pc);
        let caller = unwinder.unwind_frame(frame, &mut registers, &mut cache, &mut |address| Ok(address));
        black_box(caller).map_or(0, |_| registers.sp())
    })
}
