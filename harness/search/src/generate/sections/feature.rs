//! What is special about a plan, which readings its answers depend on, and which clauses it is about.

use std::collections::BTreeSet;

use sframe_vectors::{Base, Equation, FreType, PcType, Recovery};

use super::dialect::{Dialect, OddWord};
use super::plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};

/// Returns what is special about a section as far as it may matter for a function of it, and a row of
/// that: all of them if there is none.
#[must_use]
pub fn features(plan: &SectionPlan, function: Option<usize>, row: Option<usize>) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let mut add = |is: bool, name: &'static str| {
        if is {
            all.insert(name);
        }
    };
    of_section(plan, &mut add);
    let chosen: Vec<&FunctionPlan> = match function.and_then(|index| plan.functions.get(index)) {
        Some(function) => vec![function],
        None => plan.functions.iter().collect(),
    };
    for function in chosen {
        of_function(plan, function, &mut add);
        let rows: Vec<&RowPlan> = match row.and_then(|index| function.rows.get(index)) {
            Some(row) => vec![row],
            None => function.rows.iter().collect(),
        };
        for row in rows {
            of_row(plan, function, row, &mut add);
        }
    }
    all
}

/// Adds what is special, if it is there.
type Add<'a> = dyn FnMut(bool, &'static str) + 'a;

fn of_section(plan: &SectionPlan, add: &mut Add<'_>) {
    add(plan.broken.is_some(), plan.broken.map_or("", |fault| fault.rule().name));
    add(plan.functions.is_empty(), "no functions");
    add(plan.functions.len() > 1, "several functions");
    add(!plan.sorted, "unsorted");
    add(plan.frame_pointer, "flag frame-pointer");
    add(!plan.pcrel && plan.version.has_pcrel_starts(), "starts relative to the section");
    add(plan.fixed_fp.is_some(), "fixed FP");
    add(plan.fixed_ra != plan.abi.fixed_ra_offset(), "unusual fixed RA");
    add(!plan.auxiliary.is_empty(), "auxiliary header");
    add(plan.header_gap > 0, "gap before the FDEs");
    add(plan.sub_section_gap > 0, "gap before the rows");
    add(plan.trailing > 0, "trailing bytes");
    add(plan.filler != 0 && plan.header_gap.max(plan.sub_section_gap).max(plan.trailing) > 0, "filler not 0");
    let order = plan.row_order();
    add(!order.iter().copied().eq(0..order.len()), "rows in another order");
    let far = |function: &FunctionPlan| {
        i32::try_from(function.start.wrapping_sub(plan.address).cast_signed()).is_err()
    };
    add(plan.functions.iter().any(far), "further than 2 GiB");
}

fn of_function(plan: &SectionPlan, function: &FunctionPlan, add: &mut Add<'_>) {
    add(function.broken.is_some(), function.broken.map_or("", |fault| fault.rule().name));
    let end = function.start.wrapping_add(function.size.into());
    add(end < function.start && end == 0, "ends at 2^64");
    add(function.start == 0, "starts at 0");
    add(function.start >> 63 == 1, "high addresses");
    add(function.size == 0, "size 0");
    add(function.rows.is_empty(), "no rows");
    add(function.rows.len() > 1, "several rows");
    add(function.rows.len() > 255, "more than 255 rows");
    add(function.fre_type == FreType::Addr2, "ADDR2");
    add(function.fre_type == FreType::Addr4, "ADDR4");
    let is_mask = function.pc_type == PcType::Mask;
    add(is_mask, "mask FDE");
    let block = u64::from(function.rep_size.max(1));
    add(is_mask && !block.is_power_of_two(), "block no power of 2");
    add(is_mask && !function.start.is_multiple_of(block), "unaligned block");
    add(is_mask && block > 127, "block of 128 or more");
    add(!is_mask && function.rep_size > 0, "block size without mask");
    add(function.flex, "flex FDE");
    add(function.key_b, "key B");
    add(function.signal, "signal frame");
    add(!is_mask && function.rows.first().is_some_and(|row| row.start > 0), "late first row");
    let ends = |row: &RowPlan| row.start >= function.extent();
    add(!(is_mask && function.rep_size == 0) && function.rows.iter().any(ends), "row past the end");
    add(function.rows.windows(2).any(|pair| pair[0].start == pair[1].start), "equal row starts");
    let touches = |other: &FunctionPlan| {
        other.size > 0 && (other.start == end || other.covers(function.start.wrapping_sub(1)))
    };
    add(plan.functions.iter().any(touches), "adjacent functions");
}

fn of_row(plan: &SectionPlan, function: &FunctionPlan, row: &RowPlan, add: &mut Add<'_>) {
    add(row.broken.is_some(), row.broken.map_or("", |fault| fault.rule().name));
    add(row.start > 127, "row start of 128 or more");
    add(row.start > 0x7fff, "row start of 32768 or more");
    add(row.mangled, "mangled RA");
    let Some(RowRules { cfa, ra, fp }) = row.rules else {
        add(true, "RA undefined");
        return;
    };
    let width = plan.words_of(function, row).map_or(row.width, |(width, _)| width);
    add(width == 2, "offset size 2");
    add(width == 4, "offset size 4");
    add(row.width > 1, "offsets wider than needed");
    add(cfa.base == Base::Fp, "CFA from FP");
    add(matches!(cfa.base, Base::Register(_)), "CFA from another register");
    add(cfa.dereference, "CFA loaded");
    add(cfa.offset < 0, "negative CFA offset");
    add(cfa.offset == 0, "CFA offset 0");
    let far = i32::try_from(cfa.offset).is_err();
    add(Dialect::of(plan.abi).scales_cfa() && far, "CFA offset beyond 32 bits");
    for (recovery, usual, names) in [
        (
            ra,
            plan.usual_ra(),
            ["RA in a register", "RA loaded from a register", "RA of 0", "RA above the CFA"],
        ),
        (
            fp,
            plan.usual_fp(),
            ["FP in a register", "FP loaded from a register", "FP of 0", "FP above the CFA"],
        ),
    ] {
        if let Recovery::Rule(Equation { base, offset, dereference }) = recovery {
            let [in_register, from_register, zero, above] = names;
            add(base != Base::Cfa && !dereference, in_register);
            add(base != Base::Cfa && dereference, from_register);
            add(base == Base::Cfa && offset == 0, zero);
            add(base == Base::Cfa && offset > 0 && recovery != usual, above);
        }
    }
    add(ra != plan.usual_ra(), "RA saved");
    add(fp != plan.usual_fp(), "FP saved");
    // Rules of flex type name SP and FP by their numbers, too: 16 and more need 8 bits of a control word.
    let number = |base: Base| match base {
        Base::Register(number) => number >= 16,
        Base::Sp => function.flex && plan.abi.sp().0 >= 16,
        Base::Fp => function.flex && plan.abi.fp().0 >= 16,
        Base::Cfa => false,
    };
    let bases = [Some(cfa), rule(ra), rule(fp)].into_iter().flatten();
    add(bases.clone().any(|rule| number(rule.base)), "register 16 or more");
}

fn rule(recovery: Recovery) -> Option<Equation> {
    match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Unchanged | Recovery::Undefined => None,
    }
}

/// Returns the readings of the specification that answers about a section depend on, as `readings.yaml` of
/// the vectors names them.
#[must_use]
pub fn readings(plan: &SectionPlan) -> BTreeSet<&'static str> {
    let has = features(plan, None, None);
    let is = |name| has.contains(name);
    let (version, dialect) = (plan.version, Dialect::of(plan.abi));
    let tracks_ra = plan.fixed_ra.is_none();
    let list = [
        ("rows-offset", is("gap before the rows") && !version.has_fde_attributes()),
        ("gaps", is("gap before the rows") || is("gap before the FDEs")),
        ("fixed-fp-beside-word", is("fixed FP") && is("FP saved")),
        ("pauth-key-of-version-1", !version.has_pauth_key() && is("key B")),
        ("mask-fdes", is("unaligned block") && version.has_rep_size()),
        ("mask-fdes-of-version-1", !version.has_rep_size() && is("mask FDE")),
        ("extent-of-rows", is("row past the end") || is("equal row starts")),
        ("size-0", is("size 0")),
        ("trailing-bytes", is("trailing bytes")),
        (
            "number-of-offsets-on-aarch64",
            plan.abi.signs_return_addresses() && tracks_ra && is("RA saved") && !is("FP saved"),
        ),
        ("no-data-words", is("RA undefined")),
        ("fde-without-rows", is("no rows")),
        ("fixed-ra-offset", is("unusual fixed RA")),
        ("s390x-scaling", dialect.scales_cfa() && (is("flex FDE") || is("CFA offset beyond 32 bits"))),
        ("odd-offsets", dialect.odd_word(version) == OddWord::Disputed && has_odd_slot(plan)),
        ("caller-lookup", !plan.functions.is_empty()),
        ("width-of-authentication-codes", is("mangled RA")),
    ];
    list.into_iter().filter(|(_, depends)| *depends).map(|(name, _)| name).collect()
}

/// Readings of places that the specification leaves open: readers that differ there are not wrong.
const OPEN: &[&str] = &[
    "pauth-key-of-version-1",
    "mask-fdes",
    "mask-fdes-of-version-1",
    "extent-of-rows",
    "size-0",
    "trailing-bytes",
    "fixed-ra-offset",
    "odd-offsets",
];

/// Returns the readings that answers depend on and that others need not share.
#[must_use]
pub(super) fn open_readings(plan: &SectionPlan) -> BTreeSet<&'static str> {
    let mut open: BTreeSet<&str> = readings(plan).into_iter().filter(|name| OPEN.contains(name)).collect();
    let means_nothing = |function: &FunctionPlan| function.rows.is_empty() && !plan.is_outermost(function);
    // In version 3 the text says what functions of default type without rows are.
    if plan.functions.iter().any(means_nothing) {
        open.insert("fde-without-rows");
    }
    open
}

/// Whether a row of default type has an odd offset of RA or FP.
fn has_odd_slot(plan: &SectionPlan) -> bool {
    let rules =
        |function: &FunctionPlan| function.rows.iter().filter_map(|row| row.rules).collect::<Vec<_>>();
    let functions = plan.functions.iter().filter(|function| !function.flex);
    let mut slots = functions.flat_map(rules).flat_map(|rules| [rule(rules.ra), rule(rules.fp)]).flatten();
    slots.any(|slot| slot.offset % 2 != 0)
}

/// Returns the clauses that a section is about, with their version.
#[must_use]
pub(super) fn clauses(plan: &SectionPlan) -> Vec<String> {
    let mut names: BTreeSet<&str> = plan.broken_rules().map(|rule| rule.clause).collect();
    if names.is_empty() {
        let has = features(plan, None, None);
        let of = [
            ("mask FDE", "pc-mask"),
            ("flex FDE", "flex-fde"),
            ("fixed FP", "fixed-fp"),
            ("auxiliary header", "aux-header"),
            ("gap before the FDEs", "fdeoff"),
            ("gap before the rows", "freoff"),
            ("unsorted", "flag-sorted"),
            ("offset size 2", "data-word-size"),
            ("offset size 4", "data-word-size"),
            ("ADDR2", "fre-addr2"),
            ("ADDR4", "fre-addr4"),
            ("RA undefined", "ra-undefined"),
            ("key B", "pauth-key-b"),
            ("signal frame", "signal-frame"),
        ];
        names.extend(of.into_iter().filter(|(feature, _)| has.contains(feature)).map(|(_, clause)| clause));
        names.insert(if plan.functions.is_empty() { "header" } else { "lookup" });
        if !plan.version.has_pauth_key() {
            names.remove("pauth-key-b");
        }
    }
    names.into_iter().map(|name| format!("v{}-{name}", plan.version.number())).collect()
}
