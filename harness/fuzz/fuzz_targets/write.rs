//! libFuzzer on the property `write`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::write(data));
