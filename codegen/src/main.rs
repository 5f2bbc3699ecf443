//! Writes the generated code of `chat.proto`, or with `--check` holds the committed one to it.
use std::{env, error::Error, fs, path::Path, process::ExitCode};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/adapters/tonic");
    let out = env::temp_dir().join(format!("seawall-codegen-{}", std::process::id()));
    fs::create_dir_all(&out)?;
    let files = protox::compile([folder.join("chat.proto")], [&folder])?;
    tonic_prost_build::configure().build_transport(false).out_dir(&out).compile_fds(files)?;
    let generated = fs::read_to_string(out.join("seawall.chat.v1.rs"))?;
    fs::remove_dir_all(&out)?;

    let file = folder.join("generated.rs");
    if env::args().any(|argument| argument == "--check") {
        if fs::read_to_string(&file)? == generated {
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!("generated.rs is not what chat.proto says: run `cargo run --manifest-path codegen/Cargo.toml`");
        return Ok(ExitCode::FAILURE);
    }
    fs::write(file, generated)?;
    Ok(ExitCode::SUCCESS)
}
