//! Any bytes as a request of Anthropic's form.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::serve::Anthropic;

fuzz_target!(|data: &[u8]| seawall_fuzz::asks(&Anthropic::new(), data));
