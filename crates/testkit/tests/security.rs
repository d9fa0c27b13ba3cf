//! docs/security.md names the tests that its claims are held to: they are there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

fn sources(below: &Path, into: &mut String) {
    for path in std::fs::read_dir(below).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn each_claim_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let mut all = String::new();
    sources(&root.join("crates"), &mut all);
    let words = document.split('`').skip(1).step_by(2);
    let tests: Vec<&str> =
        words.filter(|word| word.contains('_') && !word.contains(['/', '.', ' '])).collect();
    assert!(tests.len() > 20, "{tests:?}");
    // A function, or a case by its name.
    let all = all.replace("(\n", "(").replace("  ", "");
    let is_there =
        |name: &str| all.contains(&format!("fn {name}(")) || all.contains(&format!("(\"{name}\","));
    let missing: Vec<&&str> = tests.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let claims = document.lines().filter(|line| line.starts_with("| ") && line.ends_with('|'));
    let heads = ["| source |", "| claim |", "| peer |", "| leniency |", "| policy |", "| file |"];
    for claim in claims.filter(|line| !heads.iter().any(|head| line.starts_with(head))) {
        assert!(tests.iter().any(|name| claim.contains(name)), "no test: {claim}");
    }
}
