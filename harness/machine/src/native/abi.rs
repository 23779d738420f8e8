//! What differs between hosts.

use std::fs;

use sframe_engine::Abi;

use super::error::NativeError;
use crate::cpu::Cpu;

/// Where Linux says what the host's processors are.
const CPUINFO: &str = "/proc/cpuinfo";

/// Returns the ABI of the programs that the host executes.
pub(super) const fn host() -> Option<Abi> {
    if cfg!(target_arch = "x86_64") {
        Some(Abi::Amd64)
    } else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
        Some(Abi::Aarch64)
    } else if cfg!(all(target_arch = "aarch64", target_endian = "big")) {
        Some(Abi::Aarch64Be)
    } else if cfg!(target_arch = "s390x") {
        Some(Abi::S390x)
    } else {
        None
    }
}

/// Checks that the host executes programs for a CPU.
pub(super) fn executes(cpu: &Cpu) -> Result<(), NativeError> {
    let host = host();
    if host == Some(cpu.abi) { Ok(()) } else { Err(NativeError::OtherAbi { program: cpu.abi, host }) }
}

/// Where `NT_PRSTATUS` has the number of a system call while that is made, in words: `orig_rax`, or `x8`. On s390x it may be
/// in the instruction alone.
pub(super) const fn call_number(abi: Abi) -> Option<usize> {
    match abi {
        Abi::Amd64 => Some(15),
        Abi::Aarch64 | Abi::Aarch64Be => Some(8),
        Abi::S390x => None,
    }
}

/// How an instruction that makes a system call begins.
pub(super) const fn system_call(abi: Abi) -> &'static [u8] {
    match abi {
        Abi::Amd64 => &[0x0f, 0x05],
        // `svc #0`; instructions are little endian in either byte order of data.
        Abi::Aarch64 | Abi::Aarch64Be => &[0x01, 0x00, 0x00, 0xd4],
        Abi::S390x => &[0x0a],
    }
}

/// What of a processor lets programs choose other code: the keys of its lines in `/proc/cpuinfo`, and the names there.
const fn features(abi: Abi) -> (&'static str, &'static str, &'static [&'static str]) {
    match abi {
        Abi::Amd64 => (
            "model name",
            "flags",
            &[
                "avx",
                "avx2",
                "avx512f",
                "avx512bw",
                "avx512vl",
                "avx10_1",
                "amx_tile",
                "bmi1",
                "bmi2",
                "erms",
                "fsrm",
                "movbe",
                "rtm",
                "xsave",
                "user_shstk",
                "apx",
            ],
        ),
        Abi::Aarch64 | Abi::Aarch64Be => (
            "CPU part",
            "Features",
            &["atomics", "asimd", "sve", "sve2", "sme", "paca", "pacg", "bti", "mte", "gcs", "mops"],
        ),
        Abi::S390x => ("processor 0", "features", &["vx", "vxe", "vxe2", "vxp", "dflt", "sort", "gs", "te"]),
    }
}

/// The processor that executes programs natively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostProcessor {
    /// Its model, as Linux names it; empty if it does not.
    pub model: String,
    /// What it has that lets programs choose other code, by Linux's names.
    pub features: Vec<String>,
}

/// Returns what the host's processor is.
#[must_use]
pub fn host_processor() -> HostProcessor {
    let text = fs::read_to_string(CPUINFO).unwrap_or_default();
    host().map(|abi| processor(abi, &text)).unwrap_or_default()
}

/// Reads what Linux says of the first processor.
fn processor(abi: Abi, cpuinfo: &str) -> HostProcessor {
    let (model, flags, known) = features(abi);
    let value = |key: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.trim() == key).map_or("", |(_, value)| value.trim())
    };
    let has = |name: &&&str| value(flags).split_whitespace().any(|flag| flag == **name);
    let features = known.iter().filter(has).map(|name| (*name).to_owned()).collect();
    HostProcessor { model: value(model).to_owned(), features }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_read_as_linux_describes_it() {
        let text = "processor\t: 0\nmodel name\t: A Model\nflags\t\t: fpu avx avx2 sse2\n\nprocessor : 1\nflags : rtm\n";
        let found = processor(Abi::Amd64, text);
        assert_eq!(
            (found.model.as_str(), found.features),
            ("A Model", vec!["avx".to_owned(), "avx2".to_owned()])
        );
        assert_eq!(processor(Abi::S390x, ""), HostProcessor::default());
    }
}
