//! The other traces of the calls: what is no contradiction.

use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use crate::doctor::build;

/// A callee pops its return address, uses the word again, and calls: so do runtimes that abandon
/// a stack's frames and begin anew at its SP.
#[test]
fn a_return_address_that_was_popped_may_be_overwritten() {
    #[rustfmt::skip]
    const CODE: [u8; 24] = [
        0xe8, 6, 0, 0, 0,        // call 0xb
        0x31, 0xc0,              // xor %eax,%eax
        0xeb, 0x0e,              // jmp 0x17
        0x90, 0x90,
        0x5a,                    // 0xb: pop %rdx
        0x6a, 0,                 // push $0
        0xe8, 4, 0, 0, 0,        // call 0x17
        0x58,                    // pop %rax
        0xff, 0xe2,              // jmp *%rdx
        0x90,
        0xc3,                    // 0x17: ret
    ];
    let mut bytes = build("gnu-2.47/amd64/leaf.O2");
    let at = {
        let target = Target::open(&bytes).expect("a target");
        let module = target.executable();
        let address = module.subject.symbols.addresses_of("main")[0];
        let mut code = module.subject.code();
        let is_there = |(start, data): &(u64, &[u8])| (*start..*start + data.len() as u64).contains(&address);
        let (start, data) = code.find(is_there).expect("code in the file");
        data.as_ptr() as usize - bytes.as_ptr() as usize + usize::try_from(address - start).expect("small")
    };
    bytes[at..at + CODE.len()].copy_from_slice(&CODE);
    let target = Target::open(&bytes).expect("a target");
    let traces = Traces::of_abi(target.executable().image.cpu.abi);
    let look = ExamineOptions { traces, ..ExamineOptions::default() };
    let examination =
        examine(&target, &mut *sframe_unwinder(&target), &look, &Options::default()).expect("a run");
    assert_eq!((examination.exit_status(), examination.doubt), (Some(0), None));
}
