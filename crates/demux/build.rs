//! Compiles the kernel's programs (`bpf/*.bpf.c`) with clang, and writes a module that holds them. The build of
//! another package with such a directory is this file too.
//!
//! Without clang or the headers of libbpf the build goes on with empty objects; loading one then says what is missing.
//! An error in the programs themselves ends the build.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

fn main() {
    let directory = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("bpf");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed={}", directory.display());
    println!("cargo:rerun-if-env-changed=GANNET_BPF_CLANG");
    let missing = probe().err();
    if let Some(reason) = &missing {
        println!("cargo:warning=no kernel programs in this build: {reason}");
    }
    let mut module = String::new();
    for source in sources(&directory) {
        println!("cargo:rerun-if-changed={}", source.display());
        let file = source.file_name().unwrap_or_default().to_string_lossy();
        if !file.ends_with(".bpf.c") {
            continue;
        }
        let name = file.trim_end_matches(".bpf.c").to_owned();
        let object = out.join(format!("{name}.bpf.o"));
        if missing.is_some() {
            fs::write(&object, []).unwrap_or_else(|error| panic!("{}: {error}", object.display()));
        } else {
            compile(&source, &object, &directory);
        }
        writeln!(
            module,
            "/// The programs and maps of `bpf/{file}`.\n\
             pub static {}: Bytecode = Bytecode::new({name:?}, include_bytes_aligned!(concat!(env!(\"OUT_DIR\"), \"/{name}.bpf.o\")));",
            name.to_uppercase().replace('-', "_"),
        )
        .unwrap_or_default();
    }
    let to = out.join("objects.rs");
    fs::write(&to, module).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}

/// All files of the directory, in the order of their names.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The compiler with what every call of it has in common.
fn clang() -> Command {
    let mut command = Command::new(env::var("GANNET_BPF_CLANG").unwrap_or_else(|_| "clang".to_owned()));
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
    // Debian keeps asm/types.h below a directory of the machine, which clang does not know for this target.
    let machine = format!("/usr/include/{}-linux-gnu", env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default());
    command.args(["-idirafter", &machine]);
    command
}

/// Whether there is a clang that can compile for this target, and the headers that the programs include.
fn probe() -> Result<(), String> {
    let mut child = clang()
        .args(["-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("clang cannot be started ({error}); install the package clang"))?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(b"#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n");
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    Err(format!("{first}; install the packages clang, libbpf-dev and linux-libc-dev"))
}

fn compile(source: &Path, object: &Path, directory: &Path) {
    let output = clang()
        .arg("-I")
        .arg(directory)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .unwrap_or_else(|error| panic!("clang: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}:\n{said}", source.display());
}
