//! Any bytes as a streamed answer of OpenAI's, and of those who write nearly so: the first says how they are cut.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::provider::OpenAi;

fuzz_target!(|data: &[u8]| seawall_fuzz::streams(&OpenAi::without_key().name("openrouter"), data));
