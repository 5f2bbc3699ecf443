//! Any bytes as a request of OpenAI's form.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::serve::OpenAi;

fuzz_target!(|data: &[u8]| seawall_fuzz::asks(&OpenAi::new(), data));
