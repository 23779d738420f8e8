//! libFuzzer on the property `load`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::files::load(data));
