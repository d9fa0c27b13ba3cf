//! A configuration that is wrong says all that is wrong with it, and what to write instead; one that is written loads again.

use gannet_ops::config::ConfigError;
use gannet_ops::config::Element;
use gannet_ops::{AccessPoint, Bss, Ggsn, Sgsn, config};
use gannet_testkit::TempDir;

/// What is shown of a text, line by line.
fn shown<E: Element>(text: &str) -> Vec<String> {
    let errors = config::read::<E>("x.cfg", text).expect_err("a problem").to_string();
    errors.lines().map(str::to_owned).collect()
}

#[test]
fn every_wrong_line_is_named_with_its_place() {
    let text = "sgsn\n gtp local-ip 127.0.0.1\n gtp lokal-ip 127.0.0.1\n timer T3350 7\n timr T3312 9\nfrobnicate\n within it\n  deeper\n\
                ns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipacess\n apn x\nbssgp\n frob 1500\n";
    let shown = shown::<Sgsn>(text);
    let expected = [
        "x.cfg:3: unknown command 'gtp lokal-ip 127.0.0.1' in node config-sgsn; the nearest known is 'gtp local-ip A.B.C.D'",
        "x.cfg:5: unknown command 'timr T3312 9' in node config-sgsn; the nearest known is 'timer",
        "x.cfg:6: unknown command 'frobnicate' in node config",
        "x.cfg:12: unknown command 'accept-ipacess' in node config-ns-bind; the nearest known is 'accept-ipaccess'",
        "x.cfg:13: unknown command 'apn x' in node config-ns",
        "x.cfg:15: unknown command 'frob 1500' in node config-bssgp",
        "6 errors",
    ];
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (shown, expected) in shown.iter().zip(expected) {
        assert!(shown.starts_with(expected), "{shown}\n  instead of\n{expected}");
    }
    // No hint at all is better than one that helps nobody.
    assert!(!shown.iter().any(|line| line.contains("do .LINE")), "{shown:#?}");
    assert!(shown[2].ends_with("in node config") && shown[5].ends_with("in node config-bssgp"), "{shown:#?}");
}

#[test]
fn what_is_missing_is_named_with_the_line_that_needs_it() {
    let text = "sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 gtp-version 1\n apn * ggsn 0\n apn a ggsn 3\n ggsn 3 remote-ip 127.0.0.3\n apn b ggsn 7\n \
                auth-policy remote\nns\n nse 101\n  nsvc ipa elsewhere 127.0.0.9 22000 nsvci 101\n bind udp local\n";
    let expected = [
        "x.cfg:3: GGSN 0 has no address: add 'ggsn 0 remote-ip A.B.C.D'",
        "x.cfg:7: APN b leads to GGSN 7, which is not there: add 'ggsn 7 remote-ip A.B.C.D'",
        "x.cfg:8: 'auth-policy remote' asks an HLR: add 'gsup remote-ip A.B.C.D' under 'sgsn'",
        "x.cfg:11: nse 101 uses bind elsewhere, which is not there: add 'bind udp elsewhere' under 'ns'",
        "x.cfg:12: bind udp local needs a line 'listen A.B.C.D <1-65535>'",
        "5 errors",
    ];
    assert_eq!(shown::<Sgsn>(text), expected);
    // What no line says at all stands at the line that opened its node.
    assert_eq!(
        shown::<Sgsn>("hostname x\nsgsn\n ggsn 0 remote-ip 127.0.0.2\n"),
        ["x.cfg:2: the SGSN has no address: add 'gtp local-ip A.B.C.D' under 'sgsn'"]
    );
    // A wrong line may be the one that is missing; what concerns other nodes is told all the same.
    let text = "sgsn\n gtp lokal-ip 127.0.0.1\nns\n bind udp local\n";
    let errors = config::read::<Sgsn>("x.cfg", text).unwrap_err();
    let lines = errors.all().iter().filter_map(|error| match error {
        ConfigError::Line { line, .. } => Some(*line),
        _ => None,
    });
    assert_eq!(lines.collect::<Vec<_>>(), [2, 4], "{errors}");
}

#[test]
fn lines_that_are_not_understood_hide_no_reference() {
    let wrong = " frob 1\n".repeat(11);
    let text = format!(
        "sgsn\n gtp local-ip 127.0.0.1\n{wrong} apn * ggsn 3\n apn x ggsn 4\n ggsn 4 remot-ip 127.0.0.4\nfrobnicate\nns\n \
         bind udp local\n"
    );
    let shown = shown::<Sgsn>(&text);
    let of_line = |line: usize| shown.iter().find(|shown| shown.starts_with(&format!("x.cfg:{line}: ")));
    assert!(of_line(14).unwrap().contains("APN * leads to GGSN 3, which is not there"), "{shown:#?}");
    assert!(of_line(19).unwrap().contains("bind udp local needs a line"), "{shown:#?}");
    // What looks like the line that is missing is named alone.
    assert!(of_line(15).is_none() && of_line(16).is_some(), "{shown:#?}");
    assert_eq!(shown.last().unwrap(), "15 errors");
}

#[test]
fn osmocoms_other_words_come_with_the_lines_to_write() {
    // The network service before osmo-sgsn 1.7.
    let text = "sgsn\n gtp local-ip 127.0.0.1\n ggsn dynamic\nns\n timer tns-alive 3\n encapsulation udp local-ip 192.0.2.1\n \
                encapsulation udp local-port 23001\n encapsulation framerelay-gre enabled 0\n nse 101 nsvci 102\n nse 101 remote-role bss\n \
                nse 101 encapsulation udp\n nse 101 remote-ip 192.0.2.9\n nse 101 remote-port 22000\n";
    let shown = shown::<Sgsn>(text);
    let instead = [
        "    ns",
        "     bind udp local",
        "      listen 192.0.2.1 23001",
        "      accept-ipaccess",
        "     nse 101",
        "      nsvc ipa local 192.0.2.9 22000 nsvci 102",
    ];
    let place = shown.iter().position(|line| line.starts_with("x.cfg:6: ")).unwrap();
    assert!(shown[place].ends_with("; write instead:"), "{shown:#?}");
    assert_eq!(shown[place + 1..=place + 6], instead);
    let (others, _) = shown[place + 7..].split_at(7);
    for (line, number) in others.iter().zip(7..) {
        let expected = format!("x.cfg:{number}: unknown command 'n");
        let other = format!("x.cfg:{number}: unknown command 'e");
        assert!(line.starts_with(&expected) || line.starts_with(&other), "{line}");
        assert!(line.ends_with("; line 6 has what to write instead"), "{line}");
    }
    assert!(
        shown[0].starts_with("x.cfg:3: 'ggsn dynamic'") && shown[0].ends_with("; write instead:"),
        "{shown:#?}"
    );
    // What is to be written instead is understood.
    let mut rewritten = "sgsn\n gtp local-ip 127.0.0.1\n".to_owned();
    instead.iter().for_each(|line| rewritten.push_str(&format!("{}\n", &line[4..])));
    config::read::<Sgsn>("y.cfg", &rewritten).unwrap();
}

#[test]
fn a_file_of_rubbish_does_not_fill_the_screen() {
    let text = "rubbish\n".repeat(5000);
    let shown = shown::<Sgsn>(&text);
    assert_eq!(shown.len(), 101);
    assert_eq!(shown[100], "5000 errors, of which the first 100 are shown");
}

#[test]
fn the_former_file_is_kept_and_no_half_file_is_left() {
    let directory = TempDir::new("gannet-save");
    let (path, kept) = (directory.path().join("x.cfg"), directory.path().join("x.cfg.sav"));
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let entries = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(config::save_and_keep(&path, "one\n").unwrap(), None);
    assert_eq!(
        config::save_and_keep(&path, "two\n").unwrap().unwrap(),
        std::fs::canonicalize(&kept).unwrap()
    );
    assert_eq!((read(&path).as_str(), read(&kept).as_str()), ("two\n", "one\n"));
    // The same once more does not push out what was kept.
    assert_eq!(config::save_and_keep(&path, "two\n").unwrap(), None);
    assert_eq!((read(&path).as_str(), read(&kept).as_str(), entries()), ("two\n", "one\n", 2));
    // What cannot be kept, since its name is a directory's, is not replaced either.
    std::fs::remove_file(&kept).unwrap();
    std::fs::create_dir(&kept).unwrap();
    assert!(config::save_and_keep(&path, "three\n").is_err());
    assert_eq!((read(&path).as_str(), entries()), ("two\n", 2));
}

#[test]
fn a_wrong_value_is_named_with_what_is_allowed() {
    let text = "sgsn\n gtp local-ip 127.0.0.256\n ggsn 300 remote-ip 127.0.0.2\n ggsn 0 remote-ip here\n ggsn 0\n timer T9999 7\n \
                timer T3350 -1\n encryption gea 0 0 1 2 9\n auth-policy nobody\n ggsn 0 remote-ip 127.0.0.2 127.0.0.3\n";
    let shown = shown::<Sgsn>(text);
    let expected = [
        (2, "'gtp local-ip 127.0.0.256' in node config-sgsn: '127.0.0.256' must be an IPv4 address"),
        (3, "'ggsn 300 remote-ip 127.0.0.2' in node config-sgsn: '300' must be "),
        (4, "'ggsn 0 remote-ip here' in node config-sgsn: 'here' must be an IPv4 address"),
        (5, "incomplete command 'ggsn 0' in node config-sgsn: next comes "),
        (6, "'timer T9999 7': there is no timer 'T9999'"),
        (7, "'timer T3350 -1' in node config-sgsn: '-1' must be a number from "),
        (8, "'encryption gea 0 0 1 2 9' in node config-sgsn: '9' "),
        (9, "'auth-policy nobody' in node config-sgsn: 'nobody' must be "),
        (10, "'ggsn 0 remote-ip 127.0.0.2 127.0.0.3' in node config-sgsn: '127.0.0.3' is one word too many"),
    ];
    for (line, expected) in expected {
        let expected = format!("x.cfg:{line}: {expected}");
        assert!(shown.iter().any(|shown| shown.starts_with(&expected)), "{expected}\n{shown:#?}");
    }
    let choice = shown.iter().find(|shown| shown.starts_with("x.cfg:9:")).unwrap();
    assert!(
        choice.contains("accept-all") && choice.contains(" or ") && choice.contains("remote"),
        "{choice}"
    );
    // A key that was said in the wrong place is not repeated.
    let key = "000102030405060708090a0b0c0d0e0f";
    let shown = self::shown::<Bss>(&format!("bss\n sim comp128v1 ki {key} {key}\n"));
    assert!(!shown[0].contains(key), "{shown:#?}");
}

#[test]
fn a_file_for_another_program_is_named_as_such() {
    let sgsn = "hostname x\nline vty\n no login\nsgsn\n gtp local-ip 127.0.0.1\nns\n bind udp local\n";
    let ggsn = "ggsn a\n gtp bind-ip 127.0.0.2\n";
    for (shown, expected) in [
        (shown::<Ggsn>(sgsn), "x.cfg:4: this is a configuration of 'gannet sgsn', and this is 'gannet ggsn'"),
        (shown::<Bss>(sgsn), "x.cfg:4: this is a configuration of 'gannet sgsn', and this is 'gannet bss'"),
        (shown::<Sgsn>(ggsn), "x.cfg:1: this is a configuration of 'gannet ggsn', and this is 'gannet sgsn'"),
        (
            shown::<Sgsn>("bss\n cells 3\n"),
            "x.cfg:1: this is a configuration of 'gannet bss', and this is 'gannet sgsn'",
        ),
        (
            shown::<Sgsn>("pcu\n x\n"),
            "x.cfg:1: this is a configuration of 'osmo-pcu', and this is 'gannet sgsn'",
        ),
    ] {
        assert_eq!(shown, [expected]);
    }
    // One section too many.
    let both = format!("sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n{ggsn}");
    let shown = shown::<Sgsn>(&both);
    assert!(
        shown.contains(&"x.cfg:4: 'ggsn a' is of the configuration of 'gannet ggsn'".to_owned()),
        "{shown:#?}"
    );
}

#[test]
fn what_is_no_text_is_named_as_such() {
    let directory = TempDir::new("gannet-no-text");
    let path = directory.path().join("x.cfg");
    let load = |octets: &[u8]| {
        std::fs::write(&path, octets).unwrap();
        config::load::<Sgsn>(&path).err().map(|error| error.to_string())
    };
    let right = "sgsn\r\n gtp local-ip 127.0.0.1\r\n ggsn 0 remote-ip 127.0.0.2\r\nns\r\n bind udp local\r\n  listen 127.0.0.1 23000\r\n";
    for octets in [&b"sgsn\n\x7fELF\x02"[..], &b"!\n\0\0"[..], &b"!\n\xff\xfes\0g\0"[..]] {
        let error = load(octets).unwrap();
        assert!(error.contains("x.cfg:2: this is not a text file: octet 0x"), "{error}");
    }
    assert_eq!(load(right.as_bytes()), None);
    assert_eq!(load(&[b"\xef\xbb\xbf", right.as_bytes(), b"! caf\xe9\n"].concat()), None);
    // What never ends is read no further than it is looked at.
    let error = config::load::<Sgsn>(std::path::Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(error.contains("/dev/zero:1: this is not a text file"), "{error}");
}

#[test]
fn an_access_point_has_no_rlc_mac_and_t3192_is_one_that_can_be_broadcast() {
    let text = "ap\n radio rlcmac slots 3 cs 2\n bearer ethernet a\n";
    let refused = shown::<AccessPoint>(text);
    assert!(refused[0].starts_with("x.cfg:2: ") && refused[0].contains("is for 'gannet bss'"), "{refused:?}");
    let refused = shown::<Bss>("bss\n timer t3192 300\n");
    assert!(refused[0].contains("0, 80, 120, 160, 200, 500, 1000 or 1500 ms"), "{refused:?}");
    let lines = [
        "radio rlcmac slots 4 cs 2",
        "radio rlcmac weights high 9 normal 3 low 2",
        "radio rlcmac real-time lifetime 1000",
        "timer t3192 1000",
        "flow-control bucket-time 250",
    ];
    let text = format!("bss\n {}\n", lines.join("\n "));
    let config = config::read::<Bss>("x.cfg", &text).expect("all are right").config;
    let pcu = config.gb.radio.pcu;
    assert_eq!((pcu.weights, pcu.real_time_ms, pcu.t3192_ms, pcu.bucket_cs), ([9, 3, 2], 1000, 1000, 250));
    let written = config::write::<Bss>(&config);
    assert!(lines.iter().all(|line| written.contains(&format!(" {line}\n"))), "{written}");
}
