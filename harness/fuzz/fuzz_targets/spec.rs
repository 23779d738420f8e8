//! libFuzzer on the property `spec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::files::spec(data));
