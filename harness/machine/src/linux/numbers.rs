//! System calls by number: the tables of the Linux ABIs.

use sframe_engine::Abi;

/// Returns the name of a system call of an ABI, if there is one with this number.
pub(crate) fn name(abi: Abi, number: u64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    match abi {
        Abi::Amd64 => syscalls::x86_64::Sysno::new(number).map(|call| call.name()),
        Abi::Aarch64 | Abi::Aarch64Be => syscalls::aarch64::Sysno::new(number).map(|call| call.name()),
        Abi::S390x => syscalls::s390x::Sysno::new(number).map(|call| call.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_has_its_own_number_in_each_abi() {
        for (abi, number) in [(Abi::Amd64, 1), (Abi::Aarch64, 64), (Abi::Aarch64Be, 64), (Abi::S390x, 4)] {
            assert_eq!(name(abi, number), Some("write"), "{abi}");
            assert_eq!(name(abi, 4000), None);
            assert_eq!(name(abi, u64::MAX), None);
        }
        assert_eq!(name(Abi::Amd64, 158), Some("arch_prctl"));
    }
}
