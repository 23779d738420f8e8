//! libFuzzer on the property `look_up`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::look_up(data));
