//! The numbers of registers in recordings, and those of DWARF.

use sframe_engine::Abi;

/// The registers of an ABI in the order of `perf_regs.h` of Linux (`arch/*/include/uapi/asm`), with their numbers there and in
/// DWARF, and the number of the program counter there.
#[must_use]
pub fn of_perf(abi: Abi) -> (Vec<(u32, u32)>, u32) {
    match abi {
        Abi::Amd64 => {
            // AX BX CX DX SI DI BP SP; IP FLAGS and six segments; R8 to R15.
            let first = [0, 3, 2, 1, 4, 5, 6, 7].into_iter().enumerate();
            let first = first.map(|(perf, dwarf)| (u32::try_from(perf).unwrap_or_default(), dwarf));
            // RIP is DWARF's column of the return address: rules of linkage tables read it.
            (first.chain((8..16).map(|register| (register + 8, register))).chain([(8, 16)]).collect(), 8)
        }
        // X0 to X29, LR, SP; PC.
        Abi::Aarch64 | Abi::Aarch64Be => ((0..32).map(|register| (register, register)).collect(), 32),
        Abi::S390x => {
            let general = (0..16).map(|register| (register, register));
            let floating = (0..16).map(|register| (16 + register, floating_point(register)));
            (general.chain(floating).collect(), 33)
        }
    }
}

/// The DWARF number of a floating-point register of s390x.
const fn floating_point(register: u32) -> u32 {
    // f0 f2 f4 f6, f1 f3 f5 f7, and the same for the upper eight.
    16 + register / 8 * 8 + register % 2 * 4 + register % 8 / 2
}

/// Where `NT_FPREGSET` has registers that rows may name: pairs as in
/// [`of_prstatus`](sframe_machine::of_prstatus).
#[must_use]
pub fn of_fpregset(abi: Abi) -> Vec<(usize, u32)> {
    match abi {
        Abi::S390x => (0..16_u32).map(|it| (1 + it as usize, floating_point(it))).collect(),
        Abi::Amd64 | Abi::Aarch64 | Abi::Aarch64Be => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use sframe_machine::of_prstatus;

    use super::*;

    #[test]
    fn floating_point_registers_have_the_numbers_of_the_abi() {
        let numbers: Vec<u32> = (0..16).map(floating_point).collect();
        assert_eq!(numbers, [16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31]);
    }

    #[test]
    fn each_register_has_one_number() {
        for abi in Abi::ALL {
            for numbers in [
                of_perf(abi).0,
                of_prstatus(abi)
                    .0
                    .iter()
                    .map(|(at, it)| (u32::try_from(*at).expect("a word"), *it))
                    .collect(),
            ] {
                let mut dwarf: Vec<u32> = numbers.iter().map(|(_, dwarf)| *dwarf).collect();
                dwarf.sort_unstable();
                let sixteen = if matches!(abi, Abi::Amd64 | Abi::S390x) { 16 } else { 32 };
                assert!(
                    dwarf.len() >= sixteen && dwarf.iter().zip(0..).all(|(one, other)| *one == other),
                    "{abi}"
                );
            }
        }
    }
}
