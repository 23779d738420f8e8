//! A section in the format of `corpus/vectors`, to be added there.

use std::fmt::Write as _;

use serde::Serialize;
use serde_yaml::Value;
use sframe_vectors::{FdeSource, Hex, RowSource, SectionSource, Step, Vector};

/// How many bytes of a section stand on a line.
const LINE: usize = 32;

/// Returns the file of a vector, which a name and a sentence are given to.
#[must_use]
pub fn vector_file(vector: &Vector, name: &str, summary: &str) -> String {
    let mut text = String::new();
    let mut line = |level: usize, content: &str| {
        let _ = writeln!(text, "{:1$}{content}", "", 2 * level);
    };
    line(0, &format!("name: {name}"));
    line(0, &format!("summary: {}", quoted(summary)));
    line(0, &format!("clauses: [{}]", vector.clauses.join(", ")));
    if !vector.readings.is_empty() {
        line(0, &format!("readings: [{}]", vector.readings.join(", ")));
    }
    line(0, &format!("address: \"{:#x}\"", vector.address));
    if let Some(section) = &vector.section {
        line(0, "section:");
        section_lines(section, &mut line);
    }
    if vector.bytes.is_empty() {
        line(0, "bytes: \"\"");
    } else {
        line(0, "bytes: >-");
    }
    for bytes in vector.bytes.chunks(LINE) {
        let words = bytes.chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect());
        line(1, &words.collect::<Vec<String>>().join(" "));
    }
    if let Some(reject) = &vector.reject {
        line(0, &format!("reject: {}", flow_of(reject)));
        return text;
    }
    if let Some(header) = &vector.header {
        line(0, "header:");
        if let Ok(Value::Mapping(fields)) = serde_yaml::to_value(header) {
            for (key, value) in &fields {
                line(1, &format!("{}: {}", plain(key), flow(value)));
            }
        }
    }
    list("fdes", vector.fdes.len(), &mut line);
    for fde in &vector.fdes {
        let Ok(Value::Mapping(mut fields)) = serde_yaml::to_value(fde) else { continue };
        let rows = fields.remove("rows");
        let mut mark = "- ";
        for (key, value) in fields.iter().filter(|(key, value)| plain(key) == "size" || !is_first(value)) {
            line(1, &format!("{mark}{}: {}", plain(key), flow(value)));
            mark = "  ";
        }
        if let Some(Value::Sequence(rows)) = rows.filter(|rows| *rows != Value::Sequence(Vec::new())) {
            line(1, &format!("{mark}rows:"));
            rows.iter().for_each(|row| line(3, &format!("- {}", flow(row))));
        }
    }
    list("lookups", vector.lookups.len(), &mut line);
    vector.lookups.iter().for_each(|lookup| line(1, &format!("- {}", flow_of(lookup))));
    if !vector.steps.is_empty() {
        list("steps", vector.steps.len(), &mut line);
        vector.steps.iter().for_each(|step| step_lines(step, &mut line));
    }
    text
}

type Line<'l> = dyn FnMut(usize, &str) + 'l;

fn list(name: &str, len: usize, line: &mut Line<'_>) {
    if len == 0 {
        line(0, &format!("{name}: []"));
    } else {
        line(0, &format!("{name}:"));
    }
}

fn field_line(level: usize, name: &str, value: Option<String>, line: &mut Line<'_>) {
    if let Some(value) = value {
        line(level, &format!("{name}: {value}"));
    }
}

fn step_lines(step: &Step, line: &mut Line<'_>) {
    line(1, &format!("- frame: {}", flow_of(&step.frame)));
    let mut field = |name: &str, value: Option<String>| field_line(2, name, value, line);
    let map = |entries: Vec<String>| format!("{{{}}}", entries.join(", "));
    field(
        "registers",
        step.registers.as_ref().map(|registers| {
            map(registers.iter().map(|(number, value)| format!("{number}: \"{value}\"")).collect())
        }),
    );
    let memory = step.memory.iter().map(|(at, value)| format!("\"{at}\": \"{value}\"")).collect();
    field("memory", (!step.memory.is_empty()).then(|| map(memory)));
    field("address_bits", step.address_bits.map(|bits| bits.to_string()));
    field("caller", step.caller.as_ref().map(flow_of));
    field("end", step.end.as_ref().map(flow_of));
}

fn section_lines(section: &SectionSource, line: &mut Line<'_>) {
    let mut field = |name: &str, value: Option<String>| field_line(1, name, value, line);
    let number = |value: i64| (value != 0).then(|| value.to_string());
    let hex = |bytes: &Hex| (!bytes.0.is_empty()).then(|| flow_of(bytes));
    field("version", Some(section.version.to_string()));
    field("abi", Some(flow_of(&section.abi)));
    field("byte_order", section.byte_order.as_ref().map(flow_of));
    field("flags", (!section.flags.is_empty()).then(|| flow_of(&section.flags)));
    field("fixed_fp", number(section.fixed_fp.into()));
    field("fixed_ra", number(section.fixed_ra.into()));
    field("aux", hex(&section.aux));
    field("fde_gap", hex(&section.fde_gap));
    field("fre_gap", hex(&section.fre_gap));
    field("row_order", section.row_order.as_ref().map(flow_of));
    let raw = &section.header;
    let overridden = [
        ("magic", raw.magic.map(u32::from)),
        ("version", raw.version.map(u32::from)),
        ("flags", raw.flags.map(u32::from)),
        ("abi", raw.abi.map(u32::from)),
        ("aux_len", raw.aux_len.map(u32::from)),
        ("num_fdes", raw.num_fdes),
        ("num_fres", raw.num_fres),
        ("fre_len", raw.fre_len),
        ("fdeoff", raw.fdeoff),
        ("freoff", raw.freoff),
    ];
    field("header", overrides(&overridden));
    field("trailing", hex(&section.trailing));
    field("keep", section.keep.map(|keep| keep.to_string()));
    if !section.fdes.is_empty() {
        line(1, "fdes:");
    }
    section.fdes.iter().for_each(|fde| fde_lines(fde, line));
}

fn overrides(fields: &[(&str, Option<u32>)]) -> Option<String> {
    let given = fields.iter().filter_map(|(name, value)| Some(format!("{name}: {}", (*value)?)));
    let given: Vec<String> = given.collect();
    (!given.is_empty()).then(|| format!("{{{}}}", given.join(", ")))
}

fn fde_lines(fde: &FdeSource, line: &mut Line<'_>) {
    let other = |value: Value| (!is_first(&value)).then(|| flow(&value));
    let of = |value: Result<Value, serde_yaml::Error>| value.ok().and_then(other);
    line(3, &format!("- start: {}", flow_of(&fde.start)));
    let mut field = |name: &str, value: Option<String>| field_line(4, name, value, line);
    field("size", Some(fde.size.to_string()));
    field("fre_type", of(serde_yaml::to_value(fde.fre_type)));
    field("pc_type", of(serde_yaml::to_value(fde.pc_type)));
    field("fde_type", of(serde_yaml::to_value(fde.fde_type)));
    field("pauth_key", of(serde_yaml::to_value(fde.pauth_key)));
    field("signal", fde.signal.then(|| "true".to_owned()));
    field("rep_size", (fde.rep_size != 0).then(|| fde.rep_size.to_string()));
    let raw = [
        ("fre_offset", fde.raw.fre_offset),
        ("num_fres", fde.raw.num_fres),
        ("info", fde.raw.info.map(u32::from)),
        ("info2", fde.raw.info2.map(u32::from)),
        ("padding", fde.raw.padding.map(u32::from)),
    ];
    field("raw", overrides(&raw));
    if !fde.rows.is_empty() {
        line(4, "rows:");
    }
    for RowSource { start, base, width, words, mangled, raw } in &fde.rows {
        let mut fields = vec![format!("start: {start}"), format!("base: {}", flow_of(base))];
        fields.extend((*width != 1).then(|| format!("width: {width}")));
        fields.push(format!("words: {words:?}"));
        fields.extend(mangled.then(|| "mangled: true".to_owned()));
        let raw = overrides(&[("info", raw.info.map(u32::from))]);
        fields.extend(raw.map(|raw| format!("raw: {raw}")));
        line(5, &format!("- {{{}}}", fields.join(", ")));
    }
}

/// Whether a value is the first of its kind, which is left out.
fn is_first(value: &Value) -> bool {
    let words = ["addr1", "inc", "default", "a"];
    match value {
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(word) => words.contains(&word.as_str()),
        Value::Null => true,
        _ => false,
    }
}

/// A value on one line.
pub(super) fn flow_of(value: &impl Serialize) -> String {
    serde_yaml::to_value(value).map_or_else(|error| error.to_string(), |value| flow(&value))
}

fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let is_word = text.chars().all(|letter| letter.is_ascii_alphabetic() || "_-".contains(letter));
            let is_name = matches!(
                text.as_str(),
                "aarch64" | "aarch64_be" | "amd64" | "s390x" | "addr1" | "addr2" | "addr4"
            );
            if is_name || is_word && !text.is_empty() { text.clone() } else { quoted(text) }
        }
        Value::Sequence(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Mapping(fields) => {
            // What is false is left out.
            let fields = fields.iter().filter(|(_, value)| **value != Value::Bool(false));
            let fields: Vec<String> =
                fields.map(|(key, value)| format!("{}: {}", plain(key), flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Tagged(tagged) => flow(&tagged.value),
    }
}

/// A key.
fn plain(key: &Value) -> String {
    key.as_str().map_or_else(|| flow(key), str::to_owned)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
