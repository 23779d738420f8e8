//! The document as tables in C, with the runner of the kit.

use std::fmt::Write as _;

use sframe_engine::{Abi, ByteOrder};
use sframe_judge::moments::{End, Memory, Moment, Program, Stacks};

use super::LICENCE;

/// The types that readers are hooked in by, and the runner.
const PARTS: [&str; 4] = [
    include_str!("../../../adapters/c/sframe-kit.h"),
    include_str!("../../../adapters/c/run-moment.h"),
    include_str!("../../../adapters/c/run-apart.h"),
    include_str!("../../../adapters/c/run-stacks.h"),
];

/// The parts of a header that needs no other file.
pub(crate) fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    for line in parts.iter().flat_map(|part| part.lines()) {
        if !line.starts_with("#include \"") {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// The name of an ABI in the kit.
pub(crate) fn abi_name(abi: Abi) -> String {
    format!("KIT_{}", abi.to_string().to_uppercase())
}

/// Bytes as rows of an initialiser.
pub(crate) fn bytes(text: &mut String, bytes: &[u8]) {
    for row in bytes.chunks(24) {
        text.push_str("  ");
        for byte in row {
            let _ = write!(text, "{byte},");
        }
        text.push('\n');
    }
}

/// The document as a header in C99 and C++17: the types of the kit, the runner, and tables. `run_exported_stacks` asks a
/// reader; `name`, which all names begin with, takes the place of `stacks`.
#[must_use]
pub fn header(stacks: &Stacks, name: Option<&str>) -> String {
    let prefix = name.unwrap_or("stacks");
    let mut text = format!(
        "/* SPDX-License-Identifier: {LICENCE}\n\n   Stacks to walk, by {} export stacks --seed {}.\n   Include it in \
         one file with a reader, a struct kit_reader, and\n   call run_exported_{prefix}.  */\n\n",
        stacks.bench, stacks.seed
    );
    text += &joined(&PARTS);
    for (index, program) in stacks.programs.iter().enumerate() {
        write_program(&mut text, (prefix, index), program);
    }
    let _ = writeln!(text, "\nstatic const struct run_program {prefix}_programs[] = {{");
    for (index, program) in stacks.programs.iter().enumerate() {
        let Program { name, abi, address_bits, images, moments, .. } = program;
        let (name, abi) = (quoted(name), abi_name(*abi));
        let (images, moments) = (images.len(), moments.len());
        let _ = writeln!(
            text,
            "  {{ {name}, {abi}, {address_bits}, {prefix}_images_{index}, {images}, {prefix}_moments_{index}, {moments} }},"
        );
    }
    let _ = write!(
        text,
        "}};\n\n/* Returns the number of moments at which a walk is wrong, or -1 if the\n   reader was asked about none: \
         run_status makes the bench's exit status of\n   it.  */\n\
         static inline long\nrun_exported_{prefix} (const struct kit_reader *reader)\n{{\n  return run_stacks (reader, \
         {prefix}_programs,\n\t\t     sizeof {prefix}_programs / sizeof {prefix}_programs[0]);\n}}\n"
    );
    text
}

/// A string literal.
pub(crate) fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|it| match it {
            '"' | '\\' => format!("\\{it}"),
            ' '..='~' => it.to_string(),
            _ => "?".to_owned(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn write_program(text: &mut String, (prefix, index): (&str, usize), program: &Program) {
    for (image, of) in program.images.iter().enumerate() {
        if let Some(section) = &of.sframe {
            let _ = writeln!(text, "\nstatic const unsigned char {prefix}_section_{index}_{image}[] = {{");
            bytes(text, &section.bytes.0);
            text.push_str("};\n");
        }
    }
    let _ = writeln!(text, "\nstatic const struct run_image {prefix}_images_{index}[] = {{");
    for (image, of) in program.images.iter().enumerate() {
        let (start, end) = (of.start.0, of.end.0);
        let _ = match &of.sframe {
            None => writeln!(text, "  {{ {start:#x}u, {end:#x}u, 0, NULL, 0 }},"),
            Some(section) => writeln!(
                text,
                "  {{ {start:#x}u, {end:#x}u, {:#x}u, {prefix}_section_{index}_{image}, {} }},",
                section.address.0,
                section.bytes.0.len()
            ),
        };
    }
    text.push_str("};\n");
    for (moment, of) in program.moments.iter().enumerate() {
        write_moment(text, prefix, &format!("{index}_{moment}"), of, program.endian);
    }
    let _ = writeln!(text, "static const struct run_moment {prefix}_moments_{index}[] = {{");
    for (moment, of) in program.moments.iter().enumerate() {
        let (end, frame) = match of.end {
            End::Outermost {} => ("RUN_OUTERMOST", 0),
            End::Unmarked {} | End::Context {} => ("RUN_ANY", 0),
            End::NoFde { frame } | End::InRegister { frame } | End::NoProgress { frame } => {
                ("RUN_STOPS", frame)
            }
        };
        let name = format!("{index}_{moment}");
        let _ = writeln!(
            text,
            "  {{ {prefix}_registers_{name}, {prefix}_memory_{name}, {}, {}, {prefix}_frames_{name}, {}, {end}, {frame} }},",
            of.registers.len(),
            words(&of.memory, program.endian).count(),
            of.frames.len()
        );
    }
    text.push_str("};\n");
}

fn write_moment(text: &mut String, prefix: &str, name: &str, moment: &Moment, order: ByteOrder) {
    let registers = moment.registers.iter().map(|(number, value)| (u64::from(*number), value.0));
    let tables: [(&str, Vec<(u64, u64)>); 2] =
        [("registers", registers.collect()), ("memory", words(&moment.memory, order).collect())];
    for (table, entries) in tables {
        let _ = write!(text, "static const struct run_word {prefix}_{table}_{name}[] = {{");
        for (index, (at, value)) in entries.iter().enumerate() {
            text.push_str(if index % 3 == 0 { "\n  " } else { " " });
            let _ = write!(text, "{{ {at:#x}u, {value:#x}u }},");
        }
        // C has no empty tables.
        text.push_str(if entries.is_empty() { "\n  { 0, 0 }\n};\n" } else { "\n};\n" });
    }
    let _ = writeln!(text, "static const struct run_frame {prefix}_frames_{name}[] = {{");
    for frame in &moment.frames {
        let cfa = frame.cfa.unwrap_or_default().0;
        let _ = writeln!(text, "  {{ {:#x}u, {cfa:#x}u, {:#x}u }},", frame.pc.0, frame.fp.0);
    }
    text.push_str("};\n");
}

/// The whole words of memory, as numbers.
fn words(memory: &[Memory], order: ByteOrder) -> impl Iterator<Item = (u64, u64)> {
    memory.iter().flat_map(move |piece| {
        let number = move |bytes: &[u8]| -> Option<u64> {
            let bytes = bytes.try_into().ok()?;
            Some(match order {
                ByteOrder::Little => u64::from_le_bytes(bytes),
                ByteOrder::Big => u64::from_be_bytes(bytes),
            })
        };
        let word = move |(index, bytes): (usize, &[u8])| {
            Some((piece.address.0.wrapping_add(index as u64 * 8), number(bytes)?))
        };
        piece.bytes.0.chunks_exact(8).enumerate().filter_map(word)
    })
}
