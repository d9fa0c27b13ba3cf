use super::{Answer, Cell, Database, Limits, QueryError, schema};
use crate::reading::{Reading, Settings};
use std::time::Duration;

const LIMITS: Limits = Limits { rows: 1_000, time: Duration::from_secs(600) };

fn filled(names: &[&str]) -> Database {
    let path = |name: &&str| format!("{}/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"));
    let paths: Vec<String> = names.iter().map(path).collect();
    let database = Database::create(None).unwrap();
    database.fill(&mut Reading::open(&paths, Settings::default()).unwrap()).unwrap();
    database
}

fn ask(database: &mut Database, sql: &str, limits: Limits) -> Result<(Vec<Vec<Cell>>, Answer), QueryError> {
    let mut rows = Vec::new();
    let mut take = |row: &[Cell]| {
        rows.push(row.to_vec());
        Ok(())
    };
    let answer = database.ask(sql, limits, &mut |_| Ok(()), &mut take)?;
    Ok((rows, answer))
}

fn number(database: &mut Database, sql: &str) -> i64 {
    let (rows, _) = ask(database, sql, LIMITS).unwrap();
    match rows[..] {
        [ref row] => match row[..] {
            [Cell::Whole(number)] => number,
            _ => panic!("{row:?}"),
        },
        _ => panic!("{rows:?}"),
    }
}

#[test]
fn each_record_segment_and_block_is_a_row() {
    let names = ["real-phone-um.pcapng.gz", "real-phone-core.pcapng.gz"];
    let path = |name: &str| format!("{}/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reading = Reading::open(&names.map(path), Settings::default()).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for seen in reading.by_ref() {
        *counts.entry(seen.what.layer()).or_insert(0_i64) += 1;
    }
    let mut database = filled(&names);
    for (layer, count) in &counts {
        let sql = format!("SELECT count(*) FROM records WHERE layer = '{layer}'");
        assert_eq!(number(&mut database, &sql), *count, "{layer}");
    }
    for (table, layer) in [("segments", "TCP"), ("blocks", "RLC/MAC")] {
        let sql = format!("SELECT count(*) FROM {table} JOIN records USING (record, at_ns, file, frame)");
        assert_eq!(number(&mut database, &sql), counts[layer], "{layer}");
    }
    // One phone, whatever it was called before its IMSI was known.
    let whose = "SELECT count(DISTINCT mobile) FROM records WHERE mobile IS NOT NULL";
    assert_eq!(number(&mut database, whose), 1);
    let by_imsi = "SELECT count(*) FROM segments JOIN mobile_names USING (mobile) WHERE kind = 'IMSI' AND direction IS NOT NULL";
    // The others carry GSUP.
    assert_eq!((number(&mut database, by_imsi), counts["TCP"]), (148, 166));
    assert_eq!(number(&mut database, "SELECT count(*) FROM tbfs"), 21);
    assert!(
        number(
            &mut database,
            "SELECT count(DISTINCT kind) FROM findings JOIN finding_proofs USING (finding)"
        ) > 4
    );
    assert_eq!(number(&mut database, "SELECT count(*) FROM places WHERE kind IN ('Um', 'Gb', 'Gn')"), 3);
}

#[test]
fn a_question_reads_and_nothing_else() {
    let mut database = filled(&["spike-sender.pcap"]);
    for sql in [
        "DELETE FROM segments",
        "INSERT INTO places VALUES (1, 1, 1, 'x', 'IP')",
        "UPDATE records SET what = ''",
        "DROP TABLE records",
        "CREATE TABLE other (x)",
        "CREATE TEMP TABLE other (x)",
        "ATTACH '/tmp/other' AS other",
        "PRAGMA cache_size = 0",
        "VACUUM INTO '/tmp/other'",
        "BEGIN",
    ] {
        let refused = ask(&mut database, sql, LIMITS);
        assert!(matches!(refused, Err(QueryError::Forbidden)), "{sql}: {refused:?}");
    }
    for sql in [
        "SELECT load_extension('/tmp/other')",
        "SELECT 1; SELECT 2",
        "SELECT",
        "",
        "SELECT nothing FROM records",
    ] {
        let refused = ask(&mut database, sql, LIMITS);
        assert!(matches!(refused, Err(QueryError::Statement(_))), "{sql}: {refused:?}");
    }
    assert_eq!(number(&mut database, "SELECT count(*) FROM segments"), 98);
}

#[test]
fn rows_and_time_have_limits() {
    let mut database = filled(&["spike-sender.pcap"]);
    let few = Limits { rows: 97, ..LIMITS };
    let (rows, answer) = ask(&mut database, "SELECT record FROM segments", few).unwrap();
    assert_eq!((rows.len(), answer), (97, Answer { rows: 97, has_more: true }));
    let just = Limits { rows: 98, ..LIMITS };
    let (_, answer) = ask(&mut database, "SELECT record FROM segments", just).unwrap();
    assert_eq!(answer, Answer { rows: 98, has_more: false });
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    let short = Limits { time: Duration::from_millis(20), ..LIMITS };
    assert!(matches!(ask(&mut database, endless, short), Err(QueryError::TooLong(_))));
    assert_eq!(number(&mut database, "SELECT count(*) FROM segments"), 98);
}

#[test]
fn values_come_as_they_are() {
    let mut database = Database::create(None).unwrap();
    let (rows, _) = ask(&mut database, "VALUES (NULL, 7, 0.5, 'text', x'00ff')", LIMITS).unwrap();
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(rows, [[Cell::Null, Cell::Whole(7), Cell::Real(0.5), text("text"), text("00ff")]]);
}

#[test]
fn tables_are_kept_where_nothing_was() {
    let directory = gannet_testkit::TempDir::new("gannet-query");
    let path = directory.path().join("kept.sqlite");
    let database = Database::create(Some(&path)).unwrap();
    let capture = format!("{}/tests/captures/spike-sender.pcap", env!("CARGO_MANIFEST_DIR"));
    database.fill(&mut Reading::open(&[capture], Settings::default()).unwrap()).unwrap();
    drop(database);
    let kept = rusqlite::Connection::open(&path).unwrap();
    let count: i64 = kept.query_row("SELECT count(*) FROM segments", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 98);
    // What a column means stands in the file too.
    let sql = "SELECT sql FROM sqlite_master WHERE name = 'segments'";
    let made: String = kept.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(made.contains("-- first sequence number, as on the wire"), "{made}");
    assert!(matches!(Database::create(Some(&path)), Err(QueryError::Exists(_))));
}

#[test]
fn each_column_is_documented() {
    let text = schema::text();
    for table in schema::TABLES {
        assert!(text.contains(&format!("{}: {}", table.name, table.about)));
        for (name, _, about) in table.columns {
            assert!(!about.is_empty() && text.contains(about), "{}.{name}", table.name);
        }
    }
}
