//! The options of linkers, in a neutral form.

use sframe_engine::Abi;

/// What they are called.
pub(super) const NAMES: [&str; 22] = [
    "relocatable",
    "shared",
    "pie",
    "static",
    "gc-sections",
    "icf=all",
    "icf=safe",
    "emit-relocs",
    "script=FILE",
    "lazy",
    "now",
    "ibtplt",
    "force-bti",
    "pac-plt",
    "strip-debug",
    "strip-all",
    "discard-all",
    "build-id",
    "no-eh-frame-hdr",
    "eh-frame-hdr",
    "export-dynamic",
    "dynamic",
];

/// Returns the arguments of a linker with GNU's command line for an option; `None` if there is none of that name.
pub(super) fn of_linker(option: &str, abi: Abi) -> Option<Vec<String>> {
    let interpreter = match abi {
        Abi::Amd64 => "/lib64/ld-linux-x86-64.so.2",
        Abi::Aarch64 | Abi::Aarch64Be => "/lib/ld-linux-aarch64.so.1",
        Abi::S390x => "/lib/ld64.so.1",
    };
    let words: &[&str] = match option {
        "relocatable" => &["-r"],
        "shared" => &["-shared", "-soname", "library.so"],
        "pie" => &["-pie", "--no-dynamic-linker"],
        "static" => &["-static"],
        "gc-sections" => &["--gc-sections"],
        "icf=all" => &["--icf=all"],
        "icf=safe" => &["--icf=safe"],
        "emit-relocs" => &["--emit-relocs"],
        "lazy" => &["-z", "lazy"],
        "now" => &["-z", "now"],
        "ibtplt" => &["-z", "ibtplt"],
        "force-bti" => &["-z", "force-bti"],
        "pac-plt" => &["-z", "pac-plt"],
        "strip-debug" => &["-S"],
        "strip-all" => &["-s"],
        "discard-all" => &["-x"],
        "build-id" => &["--build-id"],
        "no-eh-frame-hdr" => &["--no-eh-frame-hdr"],
        "eh-frame-hdr" => &["--eh-frame-hdr"],
        "export-dynamic" => &["--export-dynamic"],
        // A program that is linked with libraries beside it.
        "dynamic" => &["-dynamic-linker", interpreter, "-rpath", "$ORIGIN"],
        _ => {
            let script = option.strip_prefix("script=")?;
            return Some(vec!["-T".to_owned(), script.to_owned()]);
        }
    };
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

/// The name of an ABI's emulation.
pub(super) const fn emulation(abi: Abi) -> &'static str {
    match abi {
        Abi::Amd64 => "elf_x86_64",
        Abi::Aarch64 => "aarch64linux",
        Abi::Aarch64Be => "aarch64linuxb",
        Abi::S390x => "elf64_s390",
    }
}
