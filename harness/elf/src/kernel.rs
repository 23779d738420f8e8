//! What a kernel's own tables say of its code: where it goes on otherwise than its instructions show, and what other
//! instructions it may have, as the kernel patches them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;

use crate::bounded::File;
use crate::numbers::{signed, unsigned};
use crate::object_file::ObjectFile;
use sframe_isa::{Destination, Disassembly, Flow, Instruction, starts};
use sframe_kit::text::counted;

/// What the tables of a kernel, or of a module, say of its code. Addresses are those of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCode {
    /// Whether the file is a kernel or a module, by its sections.
    pub is_kernel: bool,
    /// Where control may go besides what instructions say.
    pub detours: Vec<Detour>,
    /// The other forms of the code.
    pub forms: Vec<Form>,
    /// The calls of the tracer at the beginnings of functions.
    pub traced: Vec<u64>,
    /// What could not be read of the tables, as sentences.
    pub unread: Vec<String>,
}

/// Control that goes from an instruction to another address, in the state before the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detour {
    /// The instruction.
    pub at: u64,
    /// Where it goes.
    pub to: u64,
    /// Why.
    pub why: Why,
}

/// Why control leaves an instruction for elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is patched to a jump, or the jump to no operation (`__jump_table`).
    JumpLabel,
    /// It has faulted (`__ex_table`).
    Fault,
    /// It is a trap that warns (`__bug_table`).
    Warning,
}

/// A form of the code: some of its instructions are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Which one.
    pub kind: FormKind,
    /// What is replaced, by address.
    pub patches: Vec<Patch>,
}

/// Why code is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FormKind {
    /// The first alternative of each place (`.altinstructions`).
    Alternatives,
    /// Further alternatives of the places that have several.
    FurtherAlternatives,
    /// Functions are traced that are not, and the other way round (`__mcount_loc`, `__patchable_function_entries`).
    Tracing,
    /// Calls of functions that are not set: no operations, and returns for jumps (`.static_call_sites`).
    StaticCalls,
}

impl FormKind {
    /// Says it in words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Alternatives => "with alternatives",
            Self::FurtherAlternatives => "with further alternatives",
            Self::Tracing => "with tracing switched",
            Self::StaticCalls => "with static calls unset",
        }
    }
}

/// Bytes that replace those at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The address.
    pub address: u64,
    /// What is there then.
    pub bytes: Vec<u8>,
}

/// Sections by which a kernel or a module is known: no other file has them.
const OF_KERNELS: [&str; 8] = [
    ".modinfo",
    "__ksymtab",
    "__ksymtab_gpl",
    "__ex_table",
    "__bug_table",
    ".altinstructions",
    "__jump_table",
    ".static_call_sites",
];

/// A table: its section, and the symbols around it where a kernel has it within another one.
struct Name {
    section: &'static str,
    symbols: [&'static str; 2],
}

const JUMP_LABELS: Name =
    Name { section: "__jump_table", symbols: ["__start___jump_table", "__stop___jump_table"] };
const FAULTS: Name = Name { section: "__ex_table", symbols: ["__start___ex_table", "__stop___ex_table"] };
const WARNINGS: Name =
    Name { section: "__bug_table", symbols: ["__start___bug_table", "__stop___bug_table"] };
const ALTERNATIVES: Name =
    Name { section: ".altinstructions", symbols: ["__alt_instructions", "__alt_instructions_end"] };
const STATIC_CALLS: Name = Name {
    section: ".static_call_sites",
    symbols: ["__start_static_call_sites", "__stop_static_call_sites"],
};
const TRACED: [Name; 2] = [
    Name { section: "__mcount_loc", symbols: ["__start_mcount_loc", "__stop_mcount_loc"] },
    Name { section: "__patchable_function_entries", symbols: ["__start_mcount_loc", "__stop_mcount_loc"] },
];

/// Why an entry is left.
const NO_INSTRUCTION: &str = "it does not lead from an instruction to an instruction";

/// The whole entries of a table, with their addresses.
fn entries_of(address: u64, data: &[u8], size: u64) -> Entries<'_> {
    let entries = data.chunks_exact(usize::try_from(size).unwrap_or(1));
    entries.enumerate().map(|(index, entry)| (address.wrapping_add(index as u64 * size), entry)).collect()
}

/// No place has more alternatives than this.
const MOST_ALTERNATIVES: usize = 8;

/// What a tracer's entry is called: any of them will do.
const TRACERS: [&str; 3] = ["__fentry__", "ftrace_caller", "_mcount"];

impl KernelCode {
    /// Reads the tables of a file that has addresses. `is_known` says that these are a kernel's; otherwise, its sections
    /// may show that it is one.
    #[must_use]
    pub fn of(object: &ObjectFile<'_>, is_known: bool) -> Self {
        let is_kernel = is_known || sections_of_kernels(object).next().is_some();
        let mut found = Self { is_kernel, ..Self::default() };
        if !is_kernel {
            // Programs can have these as well, whatever patches them.
            for Name { section, .. } in &TRACED {
                if object.elf().section_by_name(section).is_some() {
                    found.leave(format!("{section}: nothing else in the file says that it is a kernel's"));
                }
            }
        }
        let Some(abi) = object.abi().filter(|_| is_kernel) else { return found };
        let reader = Reader::new(abi, object);
        reader.jump_labels(&mut found);
        reader.faults(&mut found);
        reader.warnings(&mut found);
        reader.alternatives(&mut found);
        reader.traced(&mut found);
        reader.static_calls(&mut found);
        found.detours.sort_by_key(|detour| (detour.at, detour.to));
        found.detours.dedup();
        found.forms.retain(|form| !form.patches.is_empty());
        found
    }
}

/// The sections of a file by which kernels and modules are known.
pub fn sections_of_kernels(object: &ObjectFile<'_>) -> impl Iterator<Item = &'static str> {
    let names = object.elf().sections();
    names.filter_map(|section| OF_KERNELS.iter().copied().find(|known| section.name() == Ok(*known)))
}

/// The tables, and the memory that they are about.
struct Reader<'a> {
    abi: Abi,
    /// Those whose symbols say where they end, by start.
    functions: Vec<Range<u64>>,
    /// Where the instructions of each function are that was asked about, by its start.
    instructions: RefCell<BTreeMap<u64, BTreeSet<u64>>>,
    /// Sections with content, by address; whether each has code.
    memory: Vec<(u64, &'a [u8], bool)>,
    /// By name: objects may have several of one.
    sections: BTreeMap<&'a str, Vec<(u64, &'a [u8])>>,
    /// Addresses of the symbols that are needed.
    symbols: BTreeMap<&'static str, u64>,
}

/// The entries of a table, with their addresses.
type Entries<'a> = Vec<(u64, &'a [u8])>;

/// A table whose entries have one size.
struct Table<'a> {
    entries: Entries<'a>,
    /// Whether it is a section of its own, as in a module: there, each entry has been relocated.
    is_section: bool,
}

impl<'a> Reader<'a> {
    fn new(abi: Abi, object: &ObjectFile<'a>) -> Self {
        let elf: &File<'a> = object.elf();
        let (mut memory, mut sections) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for section in elf.sections().filter(|section| section.address() != 0) {
            let (Ok(name), Ok(data)) = (section.name_bytes(), section.data()) else { continue };
            let is_code = section.kind() == object::SectionKind::Text;
            memory.push((section.address(), data, is_code));
            let name = std::str::from_utf8(name).unwrap_or_default();
            sections.entry(name).or_default().push((section.address(), data));
        }
        memory.sort_by_key(|(address, _, _)| *address);
        let names = [JUMP_LABELS, FAULTS, WARNINGS, ALTERNATIVES, STATIC_CALLS].into_iter().chain(TRACED);
        let names: Vec<&'static str> = names.flat_map(|name| name.symbols).chain(TRACERS).collect();
        let mut symbols = BTreeMap::new();
        for symbol in elf.symbols().filter(|symbol| symbol.address() != 0) {
            let name = symbol.name().unwrap_or_default();
            if let Some(known) = names.iter().find(|known| **known == name) {
                symbols.insert(*known, symbol.address());
            }
        }
        let functions = object.symbols.sized_functions().collect();
        Self { abi, functions, instructions: RefCell::default(), memory, sections, symbols }
    }

    /// The bytes of a section from an address on, and whether it has code.
    fn from(&self, address: u64) -> Option<(&'a [u8], bool)> {
        let next = self.memory.partition_point(|(start, _, _)| *start <= address);
        let (start, data, is_code) = self.memory.get(next.checked_sub(1)?)?;
        Some((data.get(usize::try_from(address - start).ok()?..)?, *is_code))
    }

    fn bytes(&self, address: u64, len: u64) -> Option<&'a [u8]> {
        self.from(address)?.0.get(..usize::try_from(len).ok()?)
    }

    fn is_code(&self, address: u64) -> bool {
        self.from(address).is_some_and(|(bytes, is_code)| is_code && !bytes.is_empty())
    }

    /// The instruction at an address. `None` in the middle of one, or where there is no code.
    fn instruction(&self, address: u64) -> Option<Instruction> {
        self.begins_instruction(address).then_some(())?;
        let (bytes, _) = self.from(address)?;
        Disassembly::one(self.abi, address, bytes).filter(|instruction| instruction.len > 0)
    }

    /// Whether an instruction begins at an address of code, as its function's other instructions show.
    fn begins_instruction(&self, address: u64) -> bool {
        if !self.is_code(address) {
            return false;
        }
        // Where no function is known, data may be between instructions.
        let next = self.functions.partition_point(|function| function.start <= address);
        let function = next.checked_sub(1).map(|last| self.functions[last].clone());
        let Some(Range { start, end }) = function.filter(|function| function.contains(&address)) else {
            return true;
        };
        let mut known = self.instructions.borrow_mut();
        let within = known.entry(start).or_insert_with(|| {
            let mut within = BTreeSet::new();
            let code = self.from(start).map_or(&[][..], |(code, _)| code);
            starts(self.abi, start, code, end, |at| _ = within.insert(at));
            within
        });
        within.contains(&address)
    }

    /// The parts of a table: their addresses and bytes, and whether they are sections. If its bounds are not those of one,
    /// that is noted.
    fn table(&self, name: &Name, found: &mut KernelCode) -> Vec<(u64, &'a [u8], bool)> {
        match self.sections.get(name.section) {
            Some(sections) => sections.iter().map(|(address, data)| (*address, *data, true)).collect(),
            None => self.table_within(name, found).into_iter().collect(),
        }
    }

    /// A table within another section.
    fn table_within(&self, name: &Name, found: &mut KernelCode) -> Option<(u64, &'a [u8], bool)> {
        let [start, end] = name.symbols.map(|symbol| self.symbols.get(symbol).copied());
        let Some((start, end)) = start.zip(end) else {
            if start.or(end).is_some() {
                found.leave(format!(
                    "{}: only one of {} and {} is there",
                    name.section, name.symbols[0], name.symbols[1]
                ));
            }
            return None;
        };
        let data = end.checked_sub(start).and_then(|len| self.bytes(start, len));
        if data.is_none() {
            found.leave(format!(
                "{}: nothing is from {start:#x} to {end:#x}, where it should be",
                name.section
            ));
        }
        Some((start, data?, false))
    }

    /// A table that has entries of one size. What is left at its end is noted.
    fn entries(&self, name: &Name, size: u64, found: &mut KernelCode) -> Table<'a> {
        let mut table = Table { entries: Vec::new(), is_section: false };
        for (address, data, is_section) in self.table(name, found) {
            table.entries.extend(entries_of(address, data, size));
            table.is_section = is_section;
            found.leave_end(name.section, data, size);
        }
        table
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        unsigned(bytes, self.abi.byte_order())
    }

    /// The address that a field of 4 bytes leads to, relative to itself.
    fn relative(&self, address: u64, entry: &[u8], offset: usize) -> Option<u64> {
        let field = entry.get(offset..offset + 4)?;
        let distance = signed(field, self.abi.byte_order());
        Some(address.wrapping_add(offset as u64).wrapping_add_signed(distance))
    }

    /// `struct jump_entry`: code, target, key.
    fn jump_labels(&self, found: &mut KernelCode) {
        let (mut unread, mut unpatched) = (0, 0);
        for (address, entry) in self.entries(&JUMP_LABELS, 16, found).entries {
            let (at, target) = (self.relative(address, entry, 0), self.relative(address, entry, 4));
            let Some(((at, target), instruction)) = at
                .zip(target)
                .filter(|(_, target)| self.begins_instruction(*target))
                .and_then(|(at, target)| Some(((at, target), self.instruction(at)?)))
            else {
                unread += 1;
                continue;
            };
            let is_jump = matches!(
                instruction.flow,
                Flow::Jump { to: Destination::Address(to), is_conditional: false } if to == target
            );
            if !is_jump && !self.is_no_operation(at, &instruction) {
                unpatched += 1;
                continue;
            }
            let to = if is_jump { at.wrapping_add(instruction.len) } else { target };
            found.detours.push(Detour { at, to, why: Why::JumpLabel });
        }
        found.leave_entries(unread, JUMP_LABELS.section, NO_INSTRUCTION);
        found.leave_entries(unpatched, JUMP_LABELS.section, "neither a jump to the label nor no operation");
    }

    /// Whether an instruction is one of those that a kernel leaves where a jump may be.
    fn is_no_operation(&self, at: u64, instruction: &Instruction) -> bool {
        let code = self.bytes(at, instruction.len).unwrap_or_default();
        match self.abi {
            Abi::Amd64 => {
                let code = &code[code.iter().take_while(|byte| **byte == 0x66).count()..];
                matches!(code, [0x90] | [0x0f, 0x1f, ..])
            }
            Abi::Aarch64 | Abi::Aarch64Be => code == &NOPS[..4],
            // brcl 0.
            Abi::S390x => code.starts_with(&[0xc0, 0x04]),
        }
    }

    /// `struct exception_table_entry`: instruction and fixup, and what differs.
    fn faults(&self, found: &mut KernelCode) {
        let mut unread = 0;
        for (address, entry) in self.entries(&FAULTS, 12, found).entries {
            match (self.relative(address, entry, 0), self.relative(address, entry, 4)) {
                (Some(at), Some(to)) if self.begins_instruction(at) && self.begins_instruction(to) => {
                    found.detours.push(Detour { at, to, why: Why::Fault });
                }
                _ => unread += 1,
            }
        }
        found.leave_entries(unread, FAULTS.section, NO_INSTRUCTION);
    }

    /// `struct bug_entry`: the trap, or what prepares it, and flags at the end. The sizes depend on the configuration.
    fn warnings(&self, found: &mut KernelCode) {
        const WARNING: u64 = 1;
        let site = |address: u64, entry: &[u8]| {
            let at = self.relative(address, entry, 0)?;
            Some((at, self.instruction(at)?))
        };
        // The one with the most entries that lead to instructions, and then to traps: in a small table, most may be of what
        // prepares a trap, which can be any instruction.
        let is_trap = |address: u64, entry: &[u8]| {
            site(address, entry).map(|(at, instruction)| u64::from(self.may_trap(at, &instruction)))
        };
        let entries = self.known_entries(&WARNINGS, &[6, 8, 10, 12, 14, 16], is_trap, found);
        let (mut unread, mut trapless) = (0, 0);
        for (address, entry) in entries {
            let Some((at, instruction)) = site(address, entry) else {
                unread += 1;
                continue;
            };
            if self.number(&entry[entry.len() - 2..]) & WARNING == 0 {
                continue;
            }
            match self.trap_from(at, instruction) {
                Some((at, to)) => found.detours.push(Detour { at, to, why: Why::Warning }),
                None => trapless += 1,
            }
        }
        found.leave_entries(unread, WARNINGS.section, NO_INSTRUCTION);
        found.leave_entries(trapless, WARNINGS.section, "no trap that warns");
    }

    /// The entries of a table whose form is found by what they lead to. What is not read of it is noted.
    fn known_entries(
        &self,
        name: &Name,
        sizes: &[u64],
        worth: impl Fn(u64, &'a [u8]) -> Option<u64>,
        found: &mut KernelCode,
    ) -> Entries<'a> {
        let (table, mut all) = (name.section, Entries::new());
        for (address, data, _) in self.table(name, found) {
            match Self::of_known_size(sizes, address, data, &worth) {
                Some((size, entries)) => {
                    found.leave_end(table, data, size);
                    all.extend(entries);
                }
                None if data.is_empty() => {}
                None => found.leave(format!("the entries of {table} are of a form that is not known")),
            }
        }
        all
    }

    /// Returns the size of the entries of a table that has entries of one of these sizes, and the entries: the one of which
    /// most have a worth, and among these the one that is worth most. `None` if less than half of them have one.
    fn of_known_size(
        sizes: &[u64],
        address: u64,
        data: &'a [u8],
        worth: impl Fn(u64, &'a [u8]) -> Option<u64>,
    ) -> Option<(u64, Entries<'a>)> {
        let mut best: Option<((u8, u64, u64), u64)> = None;
        for size in sizes.iter().copied() {
            let is_whole = (data.len() as u64).is_multiple_of(size);
            let entries = entries_of(address, data, size);
            let sound: Vec<u64> =
                entries.iter().filter_map(|(address, entry)| worth(*address, entry)).collect();
            // In parts of a million: the sizes differ, and so do the numbers of entries.
            let part = |count: u64| count * 1_000_000 / entries.len().max(1) as u64;
            let are_all_sound = sound.len() == entries.len();
            // Of a table that is too long, several entries have to say what their size is.
            let rank = match (is_whole, are_all_sound && entries.len() > 1) {
                (true, _) if are_all_sound => 3,
                (false, true) => 2,
                (true, _) => 1,
                (false, false) => continue,
            };
            let score = (rank, part(sound.len() as u64), part(sound.iter().sum()));
            if 2 * sound.len() >= entries.len()
                && !sound.is_empty()
                && best.is_none_or(|(known, _)| score > known)
            {
                best = Some((score, size));
            }
        }
        let (_, size) = best?;
        Some((size, entries_of(address, data, size)))
    }

    /// Finds the trap that an instruction is, or prepares. Returns its address, and the one after it.
    fn trap_from(&self, mut at: u64, mut instruction: Instruction) -> Option<(u64, u64)> {
        const MOST: usize = 8;
        for _ in 0..MOST {
            let next = at.wrapping_add(instruction.len);
            if self.may_trap(at, &instruction) {
                return Some((at, next));
            }
            let to = match instruction.flow {
                Flow::Next => next,
                // Some share one.
                Flow::Jump { to: Destination::Address(to), is_conditional: false } => to,
                _ => return None,
            };
            (at, instruction) = (to, self.instruction(to)?);
        }
        None
    }

    /// Whether an instruction may be a trap that warns. On AMD64, ud1 is one; s390x has a monitor call; on both, some call a
    /// function with one.
    fn may_trap(&self, at: u64, instruction: &Instruction) -> bool {
        let is_ud1 = || {
            let code = self.bytes(at, instruction.len).unwrap_or_default();
            code.windows(2).any(|code| code == [0x0f, 0xb9])
        };
        instruction.flow == Flow::Trap
            || match self.abi {
                Abi::Amd64 => is_ud1() || matches!(instruction.flow, Flow::Call(_)),
                Abi::Aarch64 | Abi::Aarch64Be => false,
                Abi::S390x => self.bytes(at, 1) == Some(&[0xaf]) || matches!(instruction.flow, Flow::Call(_)),
            }
    }

    /// `struct alt_instr`: the place, the replacement, and their lengths; what is between differs.
    fn alternatives(&self, found: &mut KernelCode) {
        let sizes: &[u64] = match self.abi {
            Abi::Amd64 => &[14, 12, 13],
            Abi::Aarch64 | Abi::Aarch64Be => &[12],
            Abi::S390x => &[13, 11, 12],
        };
        let is_sound = |address: u64, entry: &[u8]| self.alternative(address, entry).map(|_| 0);
        let entries = self.known_entries(&ALTERNATIVES, sizes, is_sound, found);
        let mut by_place: BTreeMap<u64, Vec<Patch>> = BTreeMap::new();
        let (mut unread, mut by_code, mut unmoved) = (0, 0, 0);
        for (address, entry) in entries {
            let Some(alternative) = self.alternative(address, entry) else {
                unread += 1;
                continue;
            };
            match alternative.patch(self) {
                Some(patch) => {
                    let known = by_place.entry(patch.address).or_default();
                    let is_new =
                        self.bytes(patch.address, patch.bytes.len() as u64) != Some(&patch.bytes[..]);
                    if is_new && known.len() < MOST_ALTERNATIVES && !known.contains(&patch) {
                        known.push(patch);
                    }
                }
                None if alternative.is_by_code => by_code += 1,
                None => unmoved += 1,
            }
        }
        let table = ALTERNATIVES.section;
        found.leave_entries(unread, table, "it does not lead from code to code that fits there");
        found.leave_entries(by_code, table, "computed by code when the kernel starts");
        found.leave_entries(unmoved, table, "the replacement can't be decoded, or moved to its place");
        let most = by_place.values().map(Vec::len).max().unwrap_or(0);
        for number in 0..most {
            let kind = if number == 0 { FormKind::Alternatives } else { FormKind::FurtherAlternatives };
            let patches = by_place.values().filter_map(|patches| patches.get(number).cloned()).collect();
            found.forms.push(Form { kind, patches });
        }
    }

    fn alternative(&self, address: u64, entry: &[u8]) -> Option<Alternative> {
        let at = self.relative(address, entry, 0)?;
        let from = self.relative(address, entry, 4)?;
        let (len, from_len, is_by_code) = match self.abi {
            // Flags, if there are any, say that a call through memory becomes a direct one.
            Abi::Amd64 => match entry {
                [.., len, from_len] if entry.len() != 13 => {
                    let is_direct_call = entry.len() == 14 && entry[10] & 2 != 0;
                    (*len, *from_len, is_direct_call)
                }
                [.., len, from_len, _padding] => (*len, *from_len, false),
                _ => return None,
            },
            // A callback has no length.
            Abi::Aarch64 | Abi::Aarch64Be => {
                let [.., len, from_len] = entry else { return None };
                (*len, *from_len, *len > 0 && *from_len == 0)
            }
            Abi::S390x => {
                let len = if entry.len() == 12 { entry[entry.len() - 2] } else { entry[entry.len() - 1] };
                (len, len, false)
            }
        };
        let is_sound = from_len <= len
            && self.begins_instruction(at)
            && self.bytes(at, len.into()).is_some()
            && (is_by_code
                || from_len == 0
                || self.is_code(from) && self.bytes(from, from_len.into()).is_some());
        is_sound.then_some(Alternative { at, len, from, from_len, is_by_code })
    }

    /// Words with the addresses of functions' first instructions, or of what follows.
    fn traced(&self, found: &mut KernelCode) {
        let tracer = TRACERS.iter().find_map(|name| self.symbols.get(name).copied());
        let mut patches = BTreeMap::new();
        let mut unread = 0;
        // A kernel has one of them, within another section: any of the names finds it.
        let names: Vec<&Name> =
            TRACED.iter().filter(|name| self.sections.contains_key(name.section)).collect();
        let names = if names.is_empty() { vec![&TRACED[0]] } else { names };
        let tables: Vec<Table<'_>> = names.into_iter().map(|name| self.entries(name, 8, found)).collect();
        let is_section = tables.iter().any(|table| table.is_section);
        for (_, entry) in tables.into_iter().flat_map(|table| table.entries) {
            let address = self.number(entry);
            let Some(site) = self.traced_site(address) else {
                // A kernel that is linked has zeroes for functions that others have replaced.
                unread += u64::from(is_section || address != 0);
                continue;
            };
            found.traced.extend(site.call);
            // Where the call leads makes no difference: it is stepped over. Where the file has no tracer, it leads right
            // after itself, which nobody takes for a function that is called.
            if let Some(bytes) = site.switched(self, tracer.unwrap_or(site.end(self.abi))) {
                patches.insert(site.address, bytes);
            }
        }
        found.traced.sort_unstable();
        found.traced.dedup();
        let patches = patches.into_iter().map(|(address, bytes)| Patch { address, bytes }).collect();
        found.forms.push(Form { kind: FormKind::Tracing, patches });
        found.leave_entries(unread, "the tracer", "neither a call nor the nop that kernels replace by one");
    }

    /// What is at an address at which a function can be traced.
    fn traced_site(&self, address: u64) -> Option<TracedSite> {
        match self.abi {
            Abi::Amd64 => {
                let is_call = match self.bytes(address, 5)? {
                    [0xe8, ..] => true,
                    NOP_5 => false,
                    _ => return None,
                };
                Some(TracedSite { address, call: is_call.then_some(address) })
            }
            Abi::Aarch64 | Abi::Aarch64Be => {
                // Two words before the function are for the tracer's own use, and a landing pad comes first.
                let behind = |address: u64| {
                    let is_pad = self.bytes(address, 4).is_some_and(|code| code == BTI_C);
                    if is_pad { address.wrapping_add(4) } else { address }
                };
                let is_site = |address: u64| {
                    self.bytes(address, 8).is_some_and(|code| code == NOPS || code[..4] == MOV_X9_LR)
                };
                let function = behind(address.wrapping_add(8));
                let is_before = self.bytes(address, 8).is_some_and(|code| code == NOPS) && is_site(function);
                let address = if is_before { function } else { behind(address) };
                let code = self.bytes(address, 8)?;
                let is_call = code[..4] == MOV_X9_LR && code[7] & 0xfc == 0x94;
                (is_call || code == NOPS)
                    .then_some(TracedSite { address, call: is_call.then_some(address.wrapping_add(4)) })
            }
            Abi::S390x => {
                let is_call = match self.bytes(address, 6)? {
                    // brasl %r0.
                    [0xc0, 0x05, ..] => true,
                    // brcl 0.
                    [0xc0, 0x04, ..] => false,
                    _ => return None,
                };
                Some(TracedSite { address, call: is_call.then_some(address) })
            }
        }
    }

    /// `struct static_call_site`: the call or jump, and the key.
    fn static_calls(&self, found: &mut KernelCode) {
        let site = |(address, entry): (u64, &[u8])| {
            let address = self.relative(address, entry, 0)?;
            let bytes = match self.bytes(address, 5)? {
                [0xe8, ..] => NOP_5,
                // ret, and traps behind it.
                [0xe9, ..] => &[0xc3, 0xcc, 0xcc, 0xcc, 0xcc],
                _ => return None,
            };
            Some(Patch { address, bytes: bytes.to_vec() })
        };
        let sites = match self.abi {
            Abi::Amd64 => self.entries(&STATIC_CALLS, 8, found).entries,
            // They have no such sites.
            Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => Vec::new(),
        };
        let all = sites.len();
        let mut patches: Vec<Patch> = sites.into_iter().filter_map(site).collect();
        let unread = (all - patches.len()) as u64;
        found.leave_entries(unread, ".static_call_sites", "neither a call nor a jump");
        patches.sort_by_key(|patch| patch.address);
        patches.dedup();
        found.forms.push(Form { kind: FormKind::StaticCalls, patches });
    }
}

/// nopl 0(%rax,%rax).
const NOP_5: &[u8] = &[0x0f, 0x1f, 0x44, 0x00, 0x00];
/// bti c; mov x9, x30; two nops.
const BTI_C: [u8; 4] = [0x5f, 0x24, 0x03, 0xd5];
const MOV_X9_LR: [u8; 4] = [0xe9, 0x03, 0x1e, 0xaa];
const NOPS: &[u8] = &[0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5];

impl KernelCode {
    fn leave_entries(&mut self, count: u64, table: &str, why: &str) {
        if count > 0 {
            self.leave(format!("{} of {table}: {why}", counted(count, "place")));
        }
    }

    /// What is left at the end of a table with entries of a size.
    fn leave_end(&mut self, table: &str, data: &[u8], size: u64) {
        let left = data.len() as u64 % size;
        if left > 0 {
            self.leave(format!("{} at the end of {table}: an entry has {size}", counted(left, "byte")));
        }
    }

    fn leave(&mut self, what: String) {
        /// A malformed table may have any number.
        const MOST: usize = 20;
        if self.unread.len() < MOST {
            self.unread.push(what);
        }
    }
}

struct Alternative {
    at: u64,
    len: u8,
    from: u64,
    from_len: u8,
    is_by_code: bool,
}

impl Alternative {
    /// What the kernel writes: the replacement, whose relative branches still lead where they led, and no operations.
    /// `None` if that is not in the file.
    fn patch(&self, reader: &Reader<'_>) -> Option<Patch> {
        let mut bytes = reader.bytes(self.from, self.from_len.into()).filter(|_| !self.is_by_code)?.to_vec();
        let within = self.from..self.from.saturating_add(self.from_len.into());
        let mut offset = match reader.abi {
            Abi::Amd64 | Abi::Aarch64 | Abi::Aarch64Be => 0,
            // The kernel copies the bytes: what they name has to be right at the place.
            Abi::S390x => bytes.len(),
        };
        while offset < bytes.len() {
            let address = self.from.wrapping_add(offset as u64);
            let instruction = Disassembly::one(reader.abi, address, &bytes[offset..])?;
            let len = usize::try_from(instruction.len).ok().filter(|len| *len > 0)?;
            let target = match instruction.flow {
                Flow::Call(to) => to,
                Flow::Jump { to: Destination::Address(to), .. } => Some(to),
                _ => None,
            };
            let code = bytes.get_mut(offset..offset + len)?;
            if target.is_none_or(|target| !within.contains(&target)) {
                relocate(reader.abi, code, target.is_some(), self.from, self.at)?;
            }
            offset += len;
        }
        while bytes.len() < self.len.into() {
            match reader.abi {
                Abi::Amd64 => bytes.push(0x90),
                Abi::Aarch64 | Abi::Aarch64Be => bytes.extend(&NOPS[..4]),
                // bcr 0,%r0.
                Abi::S390x => bytes.extend([0x07, 0x00]),
            }
        }
        bytes.truncate(self.len.into());
        Some(Patch { address: self.at, bytes })
    }
}

/// Changes an instruction that is moved so that what it names relative to itself stays the same. `None` if its field is
/// too small.
fn relocate(abi: Abi, code: &mut [u8], is_branch: bool, from: u64, to: u64) -> Option<()> {
    let moved = from.wrapping_sub(to).cast_signed();
    match abi {
        Abi::Amd64 => {
            let at =
                if is_branch { code.len().checked_sub(4).filter(|at| *at > 0) } else { rip_relative(code) };
            let Some(at) = at else { return (!is_branch).then_some(()) };
            let field: &mut [u8; 4] = code.get_mut(at..at + 4)?.try_into().ok()?;
            let value = i64::from(i32::from_le_bytes(*field)).checked_add(moved)?;
            *field = i32::try_from(value).ok()?.to_le_bytes();
        }
        Abi::Aarch64 | Abi::Aarch64Be => {
            let field: &mut [u8; 4] = code.try_into().ok()?;
            let word = u32::from_le_bytes(*field);
            let is_adrp = word & 0x9f00_0000 == 0x9000_0000;
            // How many bits of distance in words, from which bit on.
            let (bits, shift) = match word {
                _ if is_adrp => return None,
                _ if word & 0x7c00_0000 == 0x1400_0000 => (26, 0), // b, bl
                _ if word & 0xff00_0000 == 0x5400_0000 => (19, 5), // b.cond
                _ if word & 0x7e00_0000 == 0x3400_0000 => (19, 5), // cbz, cbnz
                _ if word & 0x7e00_0000 == 0x3600_0000 => (14, 5), // tbz, tbnz
                _ => return Some(()),
            };
            let mask = (1_u32 << bits) - 1;
            let distance = (((word >> shift) & mask) << (32 - bits)).cast_signed() >> (32 - bits);
            let distance = i64::from(distance).checked_add(moved / 4)?;
            let fits = distance >= -(1 << (bits - 1)) && distance < 1 << (bits - 1);
            let new = low_bits(distance, mask) << shift;
            *field = fits.then(|| word & !(mask << shift) | new)?.to_le_bytes();
        }
        Abi::S390x => {}
    }
    Some(())
}

/// The lowest bits of a number, which are below 32.
const fn low_bits(number: i64, mask: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the mask keeps 32 bits at most")]
    let low = (number.cast_unsigned() & mask as u64) as u32;
    low
}

/// Where an instruction of AMD64 has a displacement from RIP, in bytes.
fn rip_relative(code: &[u8]) -> Option<usize> {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let at = code.iter().position(|byte| !is_prefix(byte))?;
    let (at, has_modrm) = match code.get(at..)? {
        [0x0f, 0x38 | 0x3a, ..] => (at + 3, true),
        [0x0f, opcode, ..] => {
            let has_none = matches!(opcode, 0x05..=0x09 | 0x0b | 0x30..=0x37 | 0x77 | 0x80..=0x8f | 0xa0..=0xa2
                | 0xa8..=0xaa | 0xc8..=0xcf);
            (at + 2, !has_none)
        }
        [opcode, ..] => {
            let has = matches!(opcode, 0x00..=0x3f if opcode & 7 < 4)
                || matches!(opcode, 0x62 | 0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7
                    | 0xd0..=0xd3 | 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe | 0xff);
            (at + 1, has)
        }
        [] => return None,
    };
    let modrm = code.get(at).filter(|_| has_modrm)?;
    (modrm & 0xc7 == 0x05).then_some(at + 1)
}

/// Where a function can be traced.
struct TracedSite {
    address: u64,
    /// The call, if it is traced.
    call: Option<u64>,
}

impl TracedSite {
    /// The address after its instructions.
    const fn end(&self, abi: Abi) -> u64 {
        self.address.wrapping_add(match abi {
            Abi::Amd64 => 5,
            Abi::Aarch64 | Abi::Aarch64Be => 8,
            Abi::S390x => 6,
        })
    }

    /// The instructions of the other form, given where the tracer is. `None` if it is too far away.
    fn switched(&self, reader: &Reader<'_>, tracer: u64) -> Option<Vec<u8>> {
        let is_traced = self.call.is_some();
        Some(match reader.abi {
            Abi::Amd64 if is_traced => NOP_5.to_vec(),
            Abi::Amd64 => {
                let distance = tracer.wrapping_sub(self.address.wrapping_add(5)).cast_signed();
                let distance = i32::try_from(distance).ok()?.to_le_bytes();
                [&[0xe8][..], &distance].concat()
            }
            Abi::Aarch64 | Abi::Aarch64Be if is_traced => NOPS.to_vec(),
            Abi::Aarch64 | Abi::Aarch64Be => {
                let words = tracer.wrapping_sub(self.address.wrapping_add(4)).cast_signed() / 4;
                let fits = (-(1 << 25)..1 << 25).contains(&words);
                let call = fits.then_some(0x9400_0000 | low_bits(words, 0x03ff_ffff))?;
                [MOV_X9_LR, call.to_le_bytes()].concat()
            }
            Abi::S390x if is_traced => vec![0xc0, 0x04, 0, 0, 0, 0],
            Abi::S390x => {
                let halfwords = tracer.wrapping_sub(self.address).cast_signed() / 2;
                [&[0xc0, 0x05][..], &i32::try_from(halfwords).ok()?.to_be_bytes()].concat()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::load_module;

    /// Objects have as many of these as they have sections of code.
    #[test]
    fn each_section_of_a_table_is_read_or_said_not_to_be() {
        const TABLE: &str = "__patchable_function_entries";
        let module = "../../corpus/constructed/kernel-tracing/aarch64";
        let module = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(module));
        let mut file = load_module(&module.expect("a module")[..]).expect("a sound one").file;
        let read = |file: &[u8], is_known| {
            let code = KernelCode::of(&ObjectFile::parse(file).expect("a sound file"), is_known);
            (code.forms.iter().map(|form| form.patches.len()).sum::<usize>(), code.unread)
        };
        assert_eq!(read(&file, false), (2, vec![]));
        // The second half in the place of what tells that this is a kernel's.
        let header = |name| {
            let index =
                object::File::parse(&*file).expect("ELF").section_by_name(name).expect(name).index().0;
            let table = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes"));
            usize::try_from(table).expect("small") + 64 * index
        };
        let (table, other) = (header(TABLE), header(".modinfo"));
        file.copy_within(table..table + 64, other);
        for (header, by, field) in [(table, -8, 32), (other, 8, 16), (other, 8, 24), (other, -8, 32)] {
            let field = &mut file[header + field..header + field + 8];
            let value = u64::from_le_bytes((&*field).try_into().expect("8 bytes"));
            field.copy_from_slice(&value.wrapping_add_signed(by).to_le_bytes());
        }
        assert_eq!(read(&file, true), (2, vec![]));
        let unread = format!("{TABLE}: nothing else in the file says that it is a kernel's");
        assert_eq!(read(&file, false), (0, vec![unread]));
    }

    fn moved(abi: Abi, code: &[u8], is_branch: bool, by: i64) -> Option<Vec<u8>> {
        let mut code = code.to_vec();
        relocate(abi, &mut code, is_branch, 0x10_0000_u64.wrapping_add_signed(by), 0x10_0000).map(|()| code)
    }

    #[test]
    fn what_is_moved_names_the_same_addresses() {
        let amd64 = |code: &[u8], is_branch| moved(Abi::Amd64, code, is_branch, 0x100);
        // call, jmp, and jne; lea and movq with a constant behind the displacement; with a prefix, and mov of a register.
        assert_eq!(amd64(&[0xe8, 0, 1, 0, 0], true), Some(vec![0xe8, 0, 2, 0, 0]));
        assert_eq!(amd64(&[0x0f, 0x85, 0xfc, 0xff, 0xff, 0xff], true), Some(vec![0x0f, 0x85, 0xfc, 0, 0, 0]));
        assert_eq!(amd64(&[0x48, 0x8d, 0x3d, 1, 0, 0, 0], false), Some(vec![0x48, 0x8d, 0x3d, 1, 1, 0, 0]));
        assert_eq!(
            amd64(&[0x48, 0xc7, 0x05, 4, 0, 0, 0, 9, 0, 0, 0], false),
            Some(vec![0x48, 0xc7, 0x05, 4, 1, 0, 0, 9, 0, 0, 0])
        );
        assert_eq!(amd64(&[0x65, 0xff, 0x05, 0, 0, 0, 0], false), Some(vec![0x65, 0xff, 0x05, 0, 1, 0, 0]));
        assert_eq!(amd64(&[0x48, 0x89, 0xc3], false), Some(vec![0x48, 0x89, 0xc3]));
        // A short jump has no room.
        assert_eq!(amd64(&[0xeb, 0], true), None);
        let aarch64 = |word: u32, is_branch, by| {
            let code = moved(Abi::Aarch64, &word.to_le_bytes(), is_branch, by)?;
            Some(u32::from_le_bytes(code.try_into().expect("a word")))
        };
        assert_eq!(aarch64(0x9400_0001, true, 0x100), Some(0x9400_0041), "bl");
        assert_eq!(aarch64(0x17ff_ffff, true, 0x100), Some(0x1400_003f), "b backwards");
        assert_eq!(aarch64(0xb400_0020, true, 0x100), Some(0xb400_0820), "cbz");
        assert_eq!(aarch64(0x3600_0020, true, 0x20_0000), None, "tbz does not reach");
        assert_eq!(aarch64(0x9000_0000, false, 0x100), None, "adrp depends on pages");
        assert_eq!(aarch64(0x9100_43ff, false, 0x100), Some(0x9100_43ff), "add");
    }
}
