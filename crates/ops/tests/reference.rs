//! `docs/vty.md` is what the program itself says about its commands.

use gannet_ops::vty::reference;
use std::path::Path;

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vty.md");
    let document = reference::document();
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &document).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document,
        "docs/vty.md is old: GANNET_BLESS=1 cargo test -p gannet-ops --test reference"
    );
    for command in
        ["show why imsi IMSI", "mobile <1-1000000> cell <0-65000>", "ip prefix (static|dynamic) A.B.C.D/M"]
    {
        assert!(document.contains(&format!("- `{command}`\n")), "{command}");
    }
}
