//! Signal frames whose restorer no FDE describes.

use sframe_engine::ReturnAddress;
use sframe_judge::examine::{Examination, ExamineOptions, Signals, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_machine::Options;

use crate::doctor::{build, section_offset};

/// Delivers signals to a leaf function, once the FDE that covers the address before the
/// restorer has another size, is one of a function or of a signal's frame, and has a wrong row.
fn deliver(id: &str, is_for_signal_frame: bool, fde_size: u8) -> Examination {
    deliver_with(id, is_for_signal_frame, fde_size, false)
}

/// The same; its row may be that of an outermost frame.
fn deliver_with(id: &str, is_for_signal_frame: bool, fde_size: u8, is_outermost: bool) -> Examination {
    let mut bytes = build(id);
    let (flags, size, cfa_offset) = {
        let target = Target::open(&bytes).expect("a target");
        let restorer = target.executable().subject.symbols.addresses_of("bench_restorer")[0];
        let address = ReturnAddress(restorer + target.executable().image.bias);
        let fde = target.sections.lookup_fde(address).expect("a sound section").expect("an FDE");
        assert!(fde.signal && u64::from(fde.size) > 4);
        // The header has 28 bytes, an FDE 16, with the size behind the start.
        let size = 28 + 16 * fde.index as usize + 8;
        // After the row's start, its info byte, and the control word.
        (fde.rows_offset - 3, size, fde.rows_offset + 4)
    };
    let section = section_offset(&bytes);
    bytes[section + size] = fde_size;
    if is_outermost {
        // No data words: the row's info byte has their number.
        bytes[section + cfa_offset - 3] &= !0x1e;
    } else {
        bytes[section + cfa_offset] += 8;
    }
    if !is_for_signal_frame {
        bytes[section + flags] &= 0x7f;
    }
    let target = Target::open(&bytes).expect("a target");
    let leaf = target.addresses_of("leaf")[0].0;
    let ranges = std::iter::once(leaf..leaf + 8).collect();
    let signals = vec![Signals { signal: 10, ranges, hits: 1 }];
    let look = ExamineOptions { signals, ..ExamineOptions::default() };
    examine(&target, &mut *sframe_unwinder(&target), &look, &Options::default()).expect("a run")
}

/// The row is that of the function before, which the look-up finds by accident: a walk by it that goes on has a frame
/// that is not there. One that ends there has done nothing wrong.
#[test]
fn a_walk_by_the_rows_before_a_restorer_is_wrong() {
    let wrong = deliver("gnu-2.47/aarch64/signals.O2", true, 4);
    let is_wrong = wrong.findings.iter().any(|finding| finding.verdict == Verdict::WrongCfa);
    assert!(is_wrong, "{:?}", wrong.findings);
    // The return address is in no register that is known there.
    let ended = deliver("gnu-2.47/aarch64/signals.O2", false, 4);
    assert!(ended.findings.is_empty(), "{:?}", ended.findings);
    assert!(ended.deliveries[0].delivered > 0 && ended.deliveries[0].complete == 0);
}

/// The mark of the function before is found by accident as well: a walk that ends by it claims to be complete, and lacks the
/// interrupted frames.
#[test]
fn a_walk_that_ends_by_the_mark_before_a_restorer_is_silent() {
    let silent = deliver_with("gnu-2.47/aarch64/signals.O2", false, 4, true);
    let verdicts: Vec<Verdict> = silent.findings.iter().map(|finding| finding.verdict).collect();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|of| *of == Verdict::Truncated), "{verdicts:?}");
    let says = silent.findings[0].message.to_string();
    assert!(says.contains("an outermost frame; the call stack has "), "{says}");
}

/// Nothing describes it, so a walk ends there.
#[test]
fn a_restorer_without_fde_is_an_end() {
    let ended = deliver("gnu-2.47/aarch64/signals.O2", true, 0);
    assert!(ended.findings.is_empty(), "{:?}", ended.findings);
    assert!(ended.deliveries[0].delivered > 0 && ended.deliveries[0].complete == 0);
}
