//! Vectors as tables in C, with the runner of the kit.

use std::fmt::Write as _;

use sframe_vectors::{
    Answer, Base, Class, End, Equation, Fde, FdeType, FreType, Header, Pattern, PauthKey, PcKind, PcType,
    Query, Recovery, RejectKind, Row, StepAnswer, Tracked, Vector,
};

use super::LARGEST;
use crate::stacks::{LICENCE, abi_name, bytes, joined, quoted};

/// The types that readers are hooked in by, and the runner.
const PARTS: [&str; 6] = [
    include_str!("../../../adapters/c/sframe-kit.h"),
    include_str!("../../../adapters/c/run-moment.h"),
    include_str!("../../../adapters/c/run-apart.h"),
    include_str!("../../../adapters/c/run-vectors.h"),
    include_str!("../../../adapters/c/run-reader.h"),
    include_str!("../../../adapters/c/run-flip.h"),
];

/// A command line in a comment, which it must not end.
fn in_comment(text: &str) -> String {
    let text: String = text.chars().map(|it| if it.is_control() { '?' } else { it }).collect();
    text.replace("*/", "*\\/").replace("/*", "/\\*")
}

/// How a header in C is written.
#[derive(Clone, Copy, Debug)]
pub struct HeaderOptions<'o> {
    /// The profile that the vectors are of.
    pub profile: Option<&'o str>,
    /// What the names in it begin with; without it `vectors`, and the profile's name if there is one.
    pub name: Option<&'o str>,
    /// The command that it was written by.
    pub how: &'o str,
}

impl HeaderOptions<'_> {
    /// What the names begin with. One file may include several headers whose names begin otherwise.
    fn prefix(&self) -> String {
        let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
        match (self.name, self.profile) {
            (Some(name), _) => name.to_owned(),
            (None, Some(profile)) => format!("vectors_{}", profile.chars().map(letter).collect::<String>()),
            (None, None) => "vectors".to_owned(),
        }
    }
}

/// The vectors as a header in C99 and C++17. `run_exported_vectors`, or as [`HeaderOptions`] have it, asks a reader. The
/// header says by which command it was written, and which vectors are left out.
#[must_use]
pub fn header(vectors: &[&Vector], left_out: &[&Vector], options: &HeaderOptions<'_>) -> String {
    let HeaderOptions { profile, how, .. } = *options;
    let prefix = &*options.prefix();
    let mut text = format!(
        "/* SPDX-License-Identifier: {LICENCE}\n\n   Questions about SFrame sections, by sframe-testbench {} {how}.\n   \
         Include it in one file with a reader, a struct kit_reader, and call\n   run_exported_{prefix}.\n",
        env!("CARGO_PKG_VERSION"),
        how = in_comment(how)
    );
    if !left_out.is_empty() {
        let _ = writeln!(
            text,
            "\n   Left out: large sections, made by recipes, of more than {LARGEST} bytes. --large has them:"
        );
    }
    for vector in left_out {
        let _ = writeln!(text, "     {}", vector.id);
    }
    text.insert_str(text.len() - 1, "  */");
    text.push('\n');
    text += &joined(&PARTS);
    let mut table = String::new();
    for (index, vector) in vectors.iter().enumerate() {
        write_vector(&mut text, (prefix, index), vector);
        let abi =
            vector.header.as_ref().map_or_else(|| "KIT_UNKNOWN".to_owned(), |header| abi_name(header.abi));
        let (name, address, len) = (quoted(&vector.id), vector.address, vector.bytes.len());
        let count = vector.asked().len();
        let _ = writeln!(
            table,
            "  {{ {name}, {abi}, {address:#x}u, {prefix}_bytes_{index}, {len}, {prefix}_questions_{index}, {count} }},"
        );
    }
    let _ = write!(
        text,
        "\nstatic const struct run_vector {prefix}_table[] = {{\n{table}}};\n\n\
         /* Returns the number of wrong answers, or -1 if too little was compared: run_status\n   makes the bench's exit \
         status of it.  */\n\
         static inline long\nrun_exported_{prefix} (const struct kit_reader *reader)\n{{\n  \
         return run_vectors (reader, {prefix}_table, sizeof {prefix}_table / sizeof {prefix}_table[0],\n\t\t      \
         {is_profile});\n}}\n\n\
         /* The same about sections with changed bytes: how often the reader has ended.  */\n\
         static inline long\nrun_flipped_{prefix} (const struct kit_reader *reader, unsigned sections, uint64_t seed)\n{{\n  \
         return run_flipped (reader, {prefix}_table, sizeof {prefix}_table / sizeof {prefix}_table[0],\n\t\t      \
         sections, seed);\n}}\n",
        is_profile = profile.is_some()
    );
    text
}

fn write_vector(text: &mut String, (prefix, index): (&str, usize), vector: &Vector) {
    let _ = writeln!(text, "\nstatic const unsigned char {prefix}_bytes_{index}[] = {{");
    // C has no empty tables.
    bytes(text, if vector.bytes.is_empty() { &[0] } else { &vector.bytes });
    text.push_str("};\n");
    let asked = vector.asked();
    let mut questions = String::new();
    for (number, asked) in asked.iter().enumerate() {
        let _ = writeln!(text, "static const struct run_accepted {prefix}_accepted_{index}_{number}[] = {{");
        for accepted in &asked.accepted {
            let (pattern, kind, values) = pattern(&accepted.pattern);
            let class = match accepted.class {
                Class::Must => "MUST",
                Class::Reading(_) => "READING",
                Class::Quality => "QUALITY",
            };
            let values = if values.is_empty() { vec![0] } else { values };
            let values: Vec<String> = values.iter().map(|value| number_text(*value)).collect();
            let kind = kind.map_or_else(|| "NULL".to_owned(), |kind| quoted(&kind));
            let _ =
                writeln!(text, "  {{ RUN_{pattern}, RUN_{class}, {kind}, {{ {} }} }},", values.join(", "));
        }
        text.push_str("};\n");
        let question = question(text, &format!("{index}_{number}"), prefix, (asked.query, vector));
        let count = asked.accepted.len();
        let _ = writeln!(questions, "  {{ {question}, {prefix}_accepted_{index}_{number}, {count} }},");
    }
    let _ =
        writeln!(text, "static const struct run_question {prefix}_questions_{index}[] = {{\n{questions}}};");
}

/// A number as C has it: the lowest has no literal of its own.
fn number_text(value: i64) -> String {
    if value == i64::MIN { format!("{} - 1", value + 1) } else { value.to_string() }
}

/// The members of a question up to its memory.
fn question(text: &mut String, place: &str, prefix: &str, (query, vector): (Query, &Vector)) -> String {
    let plain = |name: &str, first: u64, second: u64| {
        format!("RUN_{name}, {first:#x}u, {second}, 0, 0, false, 64, 0, 0, NULL, NULL")
    };
    match query {
        Query::Opening => plain("OPENING", 0, 0),
        Query::Header => plain("HEADER", 0, 0),
        Query::Fde(fde) => plain("FDE", fde as u64, 0),
        Query::Row(fde, row) => plain("ROW", fde as u64, row as u64),
        Query::Lookup(position) => {
            let lookup = vector.lookups.get(position);
            let (pc, is_return) = lookup.map_or((0, false), |lookup| (lookup.pc.0, lookup.return_address));
            plain("LOOK_UP", pc, is_return.into())
        }
        Query::Step(position) => {
            let Some(step) = vector.steps.get(position) else { return plain("STEP", 0, 0) };
            let registers: Vec<(u64, u64)> =
                step.registers.iter().flatten().map(|(number, value)| ((*number).into(), value.0)).collect();
            let memory: Vec<(u64, u64)> = step.memory.iter().map(|(at, value)| (at.0, value.0)).collect();
            let mut table = |name: &str, words: &[(u64, u64)]| {
                if words.is_empty() {
                    return "NULL".to_owned();
                }
                let name = format!("{prefix}_{name}_{place}");
                let words: Vec<String> =
                    words.iter().map(|(at, value)| format!("{{ {at:#x}u, {value:#x}u }}")).collect();
                let _ = writeln!(
                    text,
                    "static const struct run_word {name}[] = {{\n  {}\n}};",
                    words.join(",\n  ")
                );
                name
            };
            let (known, there) = (table("registers", &registers), table("memory", &memory));
            format!(
                "RUN_STEP, {:#x}u, {}, {:#x}u, {:#x}u, {}, {}, {}, {}, {known}, {there}",
                step.frame.pc.0,
                u8::from(step.frame.kind == PcKind::Return),
                step.frame.sp.0,
                step.frame.fp.0,
                step.registers.is_some(),
                step.address_bits.unwrap_or(64),
                registers.len(),
                memory.len()
            )
        }
    }
}

/// The name of a pattern, the kind of its rejection, and its numbers.
fn pattern(pattern: &Pattern) -> (&'static str, Option<String>, Vec<i64>) {
    let numbers = |values| ("NUMBERS", None, values);
    match pattern {
        Pattern::Anything => ("ANYTHING", None, Vec::new()),
        Pattern::Opens => ("OPENS", None, Vec::new()),
        Pattern::Reject(reject) => ("REJECT", kind_name(reject.kind), Vec::new()),
        Pattern::Refused => ("REFUSED", None, Vec::new()),
        Pattern::NoRow => ("NO_ROW", None, Vec::new()),
        Pattern::NoCaller => ("NO_CALLER", None, Vec::new()),
        Pattern::Header(header) => numbers(of_header(header)),
        Pattern::Fde(fde, rows) => numbers(of_fde(fde, *rows)),
        Pattern::Row(row) => numbers(of_row(row)),
        Pattern::Lookup(lookup) => numbers(of_answer(&lookup.answer)),
        Pattern::Step(step) => numbers(of_step(step)),
    }
}

/// The word for a kind of rejection.
fn kind_name(kind: RejectKind) -> Option<String> {
    serde_json::to_value(kind).ok()?.as_str().map(str::to_owned)
}

fn of_header(header: &Header) -> Vec<i64> {
    let abi = match header.abi {
        sframe_vectors::Abi::Amd64 => 1,
        sframe_vectors::Abi::Aarch64 => 2,
        sframe_vectors::Abi::Aarch64Be => 3,
        sframe_vectors::Abi::S390x => 4,
    };
    let Header { version, flags, fixed_fp, fixed_ra, aux_len, .. } = header;
    let Header { num_fdes, num_fres, fre_len, fdeoff, freoff, .. } = header;
    let mut values = vec![i64::from(*version), abi, (*flags).into(), (*fixed_fp).into(), (*fixed_ra).into()];
    values.push((*aux_len).into());
    values.extend([num_fdes, num_fres, fre_len, fdeoff, freoff].map(|it| i64::from(*it)));
    values
}

fn of_fde(fde: &Fde, rows: Option<usize>) -> Vec<i64> {
    let start_size = match fde.fre_type {
        FreType::Addr1 => 1,
        FreType::Addr2 => 2,
        FreType::Addr4 => 4,
    };
    vec![
        fde.start.unwrap_or_default().0.cast_signed(),
        fde.size.unwrap_or_default().into(),
        start_size,
        (fde.pc_type == PcType::Mask).into(),
        (fde.fde_type == FdeType::Flex).into(),
        (fde.pauth_key == PauthKey::B).into(),
        fde.signal.into(),
        fde.rep_size.into(),
        fde.outermost.into(),
        rows.map_or(-1, |rows| i64::try_from(rows).unwrap_or(-1)),
    ]
}

fn of_row(row: &Row) -> Vec<i64> {
    let Row::Rules(rules) = row else { return Vec::new() };
    let equation = |it: Option<Equation>| match it {
        None => [0; 4],
        Some(Equation { base, offset, dereference }) => {
            let base = match base {
                Base::Cfa => -1,
                Base::Sp => -2,
                Base::Fp => -3,
                Base::Register(number) => number.into(),
            };
            [1, dereference.into(), base, offset]
        }
    };
    let rule = |recovery: Option<Recovery>| match recovery {
        Some(Recovery::Rule(rule)) => equation(Some(rule)),
        _ => [0; 4],
    };
    let is_undefined = rules.ra == Recovery::Undefined;
    let mut values = vec![i64::from(rules.start), is_undefined.into(), rules.mangled.into()];
    values.extend(equation(rules.cfa));
    values.extend(rule(Some(rules.ra)));
    values.extend(rule(rules.fp));
    values
}

/// As `enum kit_found` numbers them.
fn of_answer(answer: &Answer) -> Vec<i64> {
    let number = |index: usize| i64::try_from(index).unwrap_or(-1);
    match answer {
        Answer::NoFde | Answer::Rules(_) | Answer::Reject(_) => vec![0],
        Answer::NoRow(fde) => vec![1, number(*fde)],
        Answer::Outermost(fde) => vec![2, number(*fde)],
        Answer::Row(fde, row) => vec![3, number(*fde), number(*row)],
    }
}

/// As `enum kit_end_kind` numbers them.
fn of_step(step: &StepAnswer) -> Vec<i64> {
    if let Some(caller) = &step.caller {
        let is_return = i64::from(caller.kind == PcKind::Return);
        let [pc, cfa, sp, fp] = [caller.pc, caller.cfa, caller.sp, caller.fp].map(|it| it.0.cast_signed());
        return vec![0, pc, is_return, cfa, sp, fp];
    }
    let tracked = |what: Tracked| match what {
        Tracked::Cfa => 1,
        Tracked::Ra => 2,
        Tracked::Fp => 3,
    };
    match step.end {
        Some(End::Outermost {}) => vec![1],
        Some(End::NoFde {}) => vec![2],
        Some(End::NoRow {}) => vec![3],
        Some(End::Malformed {}) => vec![4],
        Some(End::Unreadable { what, address }) => vec![5, tracked(what), address.0.cast_signed()],
        Some(End::UnsafeRegister { what, register }) => vec![6, tracked(what), register.into()],
        Some(End::UnknownRegister { what, register }) => vec![7, tracked(what), register.into()],
        Some(End::RaNotSaved {}) => vec![8],
        Some(End::Misaligned { cfa }) => vec![9, 0, cfa.0.cast_signed()],
        Some(End::NoProgress { cfa }) => vec![10, 0, cfa.0.cast_signed()],
        None => vec![11],
    }
}
