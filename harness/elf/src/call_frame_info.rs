//! Where a file has its call frame information.

use std::borrow::Cow;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use object::elf::{ET_REL, PT_GNU_EH_FRAME, PT_LOAD, ProgramHeader64, SHT_NOBITS};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{CompressionFormat, Endianness, Object, ObjectSection};

use crate::abi::abi_of;
use crate::bounded::{File, FileSection};
use crate::cfi::{self, CallFrameInfo, CfiError, CfiInput, CfiSection};
use crate::debug_file::DebugFile;

/// The maximum size of a decompressed section, in bytes.
const MAX_UNCOMPRESSED: usize = 1 << 30;
/// How many times larger than before it may be: call frame information shrinks to a third, or to a tenth where it
/// repeats itself. More is nothing but repetition.
const MAX_RATIO: usize = 64;
/// How large it may be in any case, in bytes.
const SMALL: usize = 1 << 20;

/// Returns the call frame information of a linked file, if SFrame knows the
/// machine. `.debug_frame` may be in a separate debug file. It is read at each call.
pub(super) fn call_frame_info(elf: &File<'_>, debug: Option<&DebugFile>) -> Option<CallFrameInfo> {
    let mut errors = Vec::new();
    let mut section = |elf: &File<'_>, which: CfiSection| {
        // Older tools give what they compress another name.
        let compressed = || elf.section_by_name(".zdebug_frame").filter(|_| which == CfiSection::DebugFrame);
        let section = elf.section_by_name(which.name()).or_else(compressed)?;
        if section.elf_section_header().sh_type(elf.endian()) == SHT_NOBITS {
            return None;
        }
        let data = uncompressed(elf, &section).unwrap_or_else(|message| {
            errors.push(CfiError::Unreadable { section: which, message });
            Cow::Borrowed(&[])
        });
        (!data.is_empty()).then(|| (data.into_owned(), section.address()))
    };
    let address = |name: &str| elf.section_by_name(name).map_or(0, |section| section.address());
    let is_stripped = elf.elf_section_table().is_empty();
    let eh_frame = if is_stripped { eh_frame_by_segment(elf) } else { section(elf, CfiSection::EhFrame) };
    let debug_frame = section(elf, CfiSection::DebugFrame)
        .or_else(|| section(&debug?.open()?, CfiSection::DebugFrame))
        .map(|(data, _)| data);
    Some(CallFrameInfo::read(CfiInput {
        abi: abi_of(elf)?,
        eh_frame,
        debug_frame,
        errors,
        text: address(".text"),
        got: address(".got"),
    }))
}

/// Returns the content of a section, decompressed.
fn uncompressed<'a>(elf: &File<'a>, section: &FileSection<'a, '_>) -> Result<Cow<'a, [u8]>, String> {
    let content = section.compressed_file_range().map_err(|error| error.to_string())?;
    let is_relocatable = elf.elf_header().e_type(elf.endian()) == ET_REL;
    let [size, compressed] = [content.uncompressed_size, content.compressed_size]
        .map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let data = || {
        let end = content.offset.checked_add(content.compressed_size);
        let data = end.and_then(|end| elf.data().copy(content.offset..end));
        data.ok_or_else(|| "it lies outside the file".to_owned())
    };
    match content.format {
        CompressionFormat::None => data(),
        _ if is_relocatable => Err("it is compressed, and its relocations are not applied".to_owned()),
        _ if size > MAX_UNCOMPRESSED => Err(format!("it is compressed, and would have {size} bytes")),
        _ if size > SMALL.max(compressed.saturating_mul(MAX_RATIO)) => Err(format!(
            "it is compressed to {compressed} bytes, and would have {size}, as nothing sound does"
        )),
        CompressionFormat::Zlib => decompress_to_vec_zlib_with_limit(&data()?, size)
            .map(Cow::Owned)
            .map_err(|error| format!("it is compressed, and damaged: {error}")),
        other => Err(format!("its compression is unknown: {other:?}")),
    }
}

/// Returns `.eh_frame` and its address if there is no section for it: by the
/// segment of its search table.
fn eh_frame_by_segment(elf: &File<'_>) -> Option<(Vec<u8>, u64)> {
    let endian = elf.endian();
    let headers = elf.elf_program_headers();
    let header = headers.iter().find(|header| header.p_type(endian) == PT_GNU_EH_FRAME)?;
    let order = cfi::endian(abi_of(elf)?);
    let data = header.data(endian, elf.data()).ok()?;
    let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(header.p_vaddr(endian));
    let table = gimli::EhFrameHdr::new(data, order).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(start) = table.eh_frame_ptr() else { return None };
    let loaded = |header: &&ProgramHeader64<Endianness>| {
        let segment = header.p_vaddr(endian);
        header.p_type(endian) == PT_LOAD && start.wrapping_sub(segment) < header.p_filesz(endian)
    };
    let segment = headers.iter().find(loaded)?;
    let (offset, len) = segment.file_range(endian);
    let distance = start - segment.p_vaddr(endian);
    let (first, end) = (offset.checked_add(distance)?, offset.checked_add(len)?);
    let source = elf.data();
    // Its length is known only from the last entry that the table leads to.
    let mut len = 0;
    let table = table.table()?;
    let mut entries = table.iter(&bases);
    while let Ok(Some((_, entry))) = entries.next() {
        let gimli::Pointer::Direct(entry) = entry else { return None };
        let entry = entry.checked_sub(start)?;
        let place = first.checked_add(entry)?;
        let word = source.bytes(place..place.checked_add(4).filter(|next| *next <= end)?)?;
        let size = gimli::Endianity::read_u32(order, word.first_chunk::<4>()?);
        len = len.max(entry.checked_add(4)?.checked_add(size.into())?);
    }
    let range = first..first.checked_add(len).filter(|last| *last <= end)?;
    Some((source.copy(range)?.into_owned(), start))
}
