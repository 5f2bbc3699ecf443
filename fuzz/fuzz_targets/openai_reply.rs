//! Any bytes as an answer of OpenAI's, and of those who write nearly so.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::provider::OpenAi;

fuzz_target!(|data: &[u8]| seawall_fuzz::decodes(&OpenAi::without_key().name("openrouter"), data));
