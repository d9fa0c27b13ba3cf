//! The table of clauses.

use std::fs;
use std::path::Path;

/// The table says in its last column `module::test`, and of a test elsewhere `path/of/file.rs::test`.
#[test]
fn every_row_of_the_sm_table_names_a_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(here.join("../../docs/conformance-sm.md")).unwrap();
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).map(str::to_owned).collect::<Vec<_>>());
    let mut named = Vec::new();
    for row in rows.filter(|row| row.len() == 4 && row[0] != "clause") {
        let name = row[3].trim_matches('`').to_owned();
        let (module, test) = name.split_once("::").unwrap_or_else(|| panic!("{row:?} names no test"));
        let file = match module.ends_with(".rs") {
            true => here.join("../..").join(module),
            false => here.join("tests/conformance/sm").join(format!("{module}.rs")),
        };
        let source = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{name}: there is no such file"));
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "{name} does not exist");
        named.push(name);
    }
    assert!(!named.is_empty(), "the table has no rows");
    // And no test is left out.
    for entry in fs::read_dir(here.join("tests/conformance/sm")).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&path).unwrap();
        for part in source.split("#[test]\nfn ").skip(1).filter(|_| module != "table") {
            let name = format!("{module}::{}", part.split('(').next().unwrap());
            assert!(named.contains(&name), "the table has no row for {name}");
        }
    }
}
