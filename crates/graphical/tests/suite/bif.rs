//! BIF: the published networks, the quirks of the format, damaged texts.

use std::io::Read;
use std::path::PathBuf;

use fenchel_graphical::{BayesNet, Error, bif};
use flate2::read::GzDecoder;
use proptest::prelude::*;

/// The published networks and their numbers of nodes and arcs (bnlearn repository).
const NETWORKS: [(&str, usize, usize); 24] = [
    ("alarm", 37, 46),
    ("andes", 223, 338),
    ("asia", 8, 8),
    ("barley", 48, 84),
    ("cancer", 5, 4),
    ("child", 20, 25),
    ("diabetes", 413, 602),
    ("earthquake", 5, 4),
    ("hailfinder", 56, 66),
    ("hepar2", 70, 123),
    ("insurance", 27, 52),
    ("link", 724, 1125),
    ("mildew", 35, 46),
    ("munin", 1041, 1397),
    ("munin1", 186, 273),
    ("munin2", 1003, 1244),
    ("munin3", 1041, 1306),
    ("munin4", 1038, 1388),
    ("pathfinder", 109, 195),
    ("pigs", 441, 592),
    ("sachs", 11, 17),
    ("survey", 6, 6),
    ("water", 32, 66),
    ("win95pts", 76, 112),
];

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("FENCHEL_DATA").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = named.unwrap_or(beside).join("bif");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no folder bif in FENCHEL_DATA");
    None
}

fn text_of(name: &str) -> Option<Vec<u8>> {
    let file = std::fs::File::open(folder()?.join(format!("{name}.bif.gz"))).ok()?;
    let mut text = Vec::new();
    GzDecoder::new(file).read_to_end(&mut text).unwrap();
    Some(text)
}

fn bits(net: &BayesNet) -> Vec<u64> {
    net.variables().flat_map(|v| net.cpt_of(v).iter().map(|p| p.to_bits())).collect()
}

#[test]
fn published_networks_are_read_whole_and_come_back_bit_for_bit() {
    for (name, nodes, arcs) in NETWORKS {
        let Some(text) = text_of(name) else { continue };
        let net = bif::read(&text[..]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((net.len(), net.dag().arc_count()), (nodes, arcs), "{name}");
        let mut written = Vec::new();
        bif::write(&net, &mut written).unwrap();
        let again = bif::read(&written[..]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(again, net, "{name}");
        assert_eq!(bits(&again), bits(&net), "{name}");
    }
}

#[test]
fn numbers_and_states_are_those_of_the_text() {
    let net = bif::read(&include_bytes!("../../networks/asia.bif")[..]).unwrap();
    let either = net.variable("either").unwrap();
    let names: Vec<&str> = net.parents_of(either).iter().map(|&p| net.name_of(p)).collect();
    assert_eq!(names, ["lung", "tub"]);
    assert_eq!(net.cpt_of(either), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let dysp = net.variable("dysp").unwrap();
    assert_eq!(net.cpt_of(dysp), [0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.1, 0.9]);
    let Some(child) = text_of("child") else { return };
    let child = bif::read(&child[..]).unwrap();
    let states = |name| child.states_of(child.variable(name).unwrap());
    assert_eq!(states("LowerBodyO2"), ["<5", "5-12", "12+"]);
    assert_eq!(states("CO2Report"), ["<7.5", ">=7.5"]);
    assert_eq!(
        states("XrayReport"),
        ["Normal", "Oligaemic", "Plethoric", "Grd_Glass", "Asy/Patchy"]
    );
    assert_eq!(states("CardiacMixing")[3], "Transp.");
}

#[test]
fn other_dialects_are_read_too() {
    let text = r#"
        // a comment
        network "Dog; problem" { property "version 0.1; x"; property author = me; }
        variable "light on" { //2 values
            type discrete[2] { "true" "false" }; property position = (1, 2) ; }
        variable family-out { type discrete [2] { a/b, c / d /* not this */ }; };
        variable coin { type discrete [ 2 ] { heads, tails(2) }; }
        probability ( "light on" | family-out, coin ) {
            table 0.6 0.05 0.5 0.25 /* false: */ 0.4 0.95, 0.5, 0.75 ;
        }
        probability(family-out) { table 1e-3 , .999; }
        probability ( coin | family-out ) { default 0.5, 0.5; ( c / d ) 1, 0; }
    "#;
    let net = bif::read(text.as_bytes()).unwrap();
    assert_eq!(net.name(), "Dog; problem");
    let [light, family, coin] =
        ["light on", "family-out", "coin"].map(|n| net.variable(n).unwrap());
    // The child's state is the slowest of `table`.
    assert_eq!(net.cpt_of(light), [0.6, 0.4, 0.05, 0.95, 0.5, 0.5, 0.25, 0.75]);
    assert_eq!(net.states_of(family), ["a/b", "c / d"]);
    assert_eq!(net.states_of(coin), ["heads", "tails(2)"]);
    assert_eq!(net.cpt_of(coin), [0.5, 0.5, 1.0, 0.0]);
    let mut written = Vec::new();
    bif::write(&net, &mut written).unwrap();
    assert_eq!(bif::read(&written[..]).unwrap(), net);
}

#[test]
fn parents_in_quotes_without_a_bar_and_a_byte_order_mark_are_read() {
    let with = |given: &str| {
        let text = format!(
            "\u{feff}network \"n\" {{ }}\n\
             variable \"q\" {{ type discrete[2] {{ \"t\" \"f\" }}; }}\n\
             variable \"p\" {{ type discrete[2] {{ \"t\" \"f\" }}; }}\n\
             probability ( \"p\" ) {{ table 0.3 0.7; }}\n\
             probability ( \"q\" {given} \"p\" ) {{ table 0.9 0.2 0.1 0.8; }}\n"
        );
        bif::read(text.as_bytes()).unwrap()
    };
    let net = with("");
    assert_eq!(net, with("|"));
    let q = net.variable("q").unwrap();
    assert_eq!(net.parents_of(q), [net.variable("p").unwrap()]);
    // The child's state is the slowest of `table`.
    assert_eq!(net.cpt_of(q), [0.9, 0.1, 0.2, 0.8]);
}

const HEAD: &str = "variable a { type discrete [ 2 ] { y, n }; }\n\
                    variable b { type discrete [ 3 ] { 1, 2, 3 }; }\n";

#[test]
fn bad_texts_are_errors_with_their_places() {
    for (rest, expected) in [
        (
            "probability ( c ) { }",
            "line 3, column 15: there is no variable \"c\"; known, nearest first: a, b",
        ),
        (
            "probability ( b | a ) { (x) 1, 0, 0; }",
            "line 3, column 26: \"a\" has no state \"x\"; it has y, n",
        ),
        (
            "probability ( a ) { table 0.5, 0.6; }",
            "line 3, column 21: P(\"a\" | no parents) sums to 1.1; expected 1 up to 0.001",
        ),
        (
            "probability ( b | a ) { (y) 1, 0, 0; (n) 1, 0, 1; }",
            "line 3, column 38: P(\"b\" | a = n) sums to 2; expected 1 up to 0.001",
        ),
        (
            "probability ( a ) { table -0.5, 1.5; }",
            "line 3, column 21: P(\"a\" = y | no parents) is -0.5; expected a number >= 0",
        ),
        ("probability ( a ) { table 0.5; }", "line 3, column 30: 1 numbers; expected 2"),
        (
            "probability ( a ) { table 0.5, 0.25, 0.25; }",
            "line 3, column 38: expected \";\" after 2 numbers, found \"0.25\"",
        ),
        (
            "probability ( a ) { table 0.5, nan; }",
            "line 3, column 32: expected a finite number, found \"nan\"",
        ),
        (
            "probability ( a ) { table 0.5, 0,5; }",
            "line 3, column 34: expected \";\" after 2 numbers, found \"5\"",
        ),
        (
            "probability ( b | a ) { (y) 1, 0, 0; }",
            "line 3, column 15: the table of \"b\" has no row (n)",
        ),
        (
            "probability ( b | a ) { (y) 1, 0, 0; (y) 1, 0, 0; }",
            "line 3, column 38: a row that was given before",
        ),
        ("probability ( b | a, a ) { }", "line 3, column 15: parent of \"b\" \"a\" is given twice"),
        ("probability ( b | b ) { }", "line 3, column 15: the arcs form a cycle: b -> b"),
        (
            "probability ( a ) { table 1, 0; } probability ( a ) { table 1, 0; }",
            "line 3, column 49: table of variable \"a\" is given twice",
        ),
        (
            "variable a { type discrete [ 1 ] { y }; }",
            "line 3, column 10: variable \"a\" is given twice",
        ),
        (
            "variable c { type discrete [ 2 ] { y, y }; }",
            "line 3, column 39: state of \"c\" \"y\" is given twice",
        ),
        (
            "variable c { type discrete [ 99999999999999999999 ] { y }; }",
            "line 3, column 30: expected a number of states, found \"99999999999999999999\"",
        ),
        (
            "variable c { type discrete [ 18446744073709551615 ] { y }; }",
            "line 3, column 57: 1 states where 18446744073709551615 were announced",
        ),
        (
            "variable c { type discrete [ 0 ] { }; }",
            "line 3, column 36: expected the name of a state, found \"}\"",
        ),
        (
            "variable c { type continuous; }",
            "line 3, column 19: expected \"discrete\", found \"continuous\"",
        ),
        ("variable c { }", "line 3, column 10: variable \"c\" has no type"),
        (
            "Probability ( a ) { }",
            "line 3, column 1: expected \"network\", \"variable\" or \"probability\", found \"Probability\"",
        ),
        (
            "?",
            "line 3, column 1: expected \"network\", \"variable\" or \"probability\", found \"?\"",
        ),
        ("/* ", "line 3, column 1: a comment without an end"),
        ("probability ( a ) { table 0.5, 0.5;", "line 3, column 36: the text ends; expected \"}\""),
        (
            "probability ( a ) { table 0.5, 0.5; }",
            "variable \"b\" has no conditional probability table",
        ),
        (
            "probability ( a | b ) { default 1, 0; } probability ( b | a ) { default 1, 0, 0; }",
            "the arcs form a cycle: a -> b -> a",
        ),
    ] {
        let error = bif::read(format!("{HEAD}{rest}").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{rest}");
    }
    for text in ["", " \n// nothing\n"] {
        let error = bif::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("the text is empty; expected a network"), "{error}");
    }
    assert!(bif::read(&b"network n {}"[..]).unwrap().is_empty());
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    assert!(
        bif::read(endless).unwrap_err().to_string().contains("a token of more than 65536 bytes")
    );
    let negative = bif::BifOptions { tolerance: -1.0, ..Default::default() };
    assert!(matches!(bif::read_with(&b""[..], &negative), Err(Error::Invalid(_))));
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_asked_for() {
    // 2^70 cells: the product overflows; 2^40: it does not, and is still too much.
    for parents in [70, 40] {
        let mut text = String::new();
        for v in 0..=parents {
            text += &format!("variable v{v} {{ type discrete [ 2 ] {{ y, n }}; }}\n");
        }
        let names: Vec<String> = (1..=parents).map(|v| format!("v{v}")).collect();
        text += &format!("probability ( v0 | {} ) {{ default 0.5, 0.5; }}", names.join(", "));
        let error = bif::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("the network up to this table needs"), "{error}");
    }
}

#[test]
fn rows_are_kept_or_renormalised_as_wished() {
    let text =
        "variable a { type discrete [ 2 ] { y, n }; } probability ( a ) { table 0.3333, 0.6666; }";
    let kept = bif::read(text.as_bytes()).unwrap();
    assert_eq!(kept.cpt_of(kept.variable("a").unwrap()), [0.3333, 0.6666]);
    let options = bif::BifOptions { renormalise: true, ..Default::default() };
    let scaled = bif::read_with(text.as_bytes(), &options).unwrap();
    let sum = 0.3333 + 0.6666;
    assert_eq!(scaled.cpt_of(scaled.variable("a").unwrap()), [0.3333 / sum, 0.6666 / sum]);
    let strict = bif::BifOptions { tolerance: 1e-5, ..Default::default() };
    assert!(bif::read_with(text.as_bytes(), &strict).is_err());
}

#[test]
fn names_that_bif_cannot_hold_are_refused_by_the_writer() {
    let one =
        |name: &str| BayesNet::builder().variable(name, &["s"]).cpt(name, &[], &[1.0]).build();
    for name in ["say \"hi\" now", "\""] {
        let error = bif::write(&one(name).unwrap(), Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Unwritable { format: "BIF", .. }), "{error}");
    }
}

/// Whatever is wrong, the error says where, and the place is in the text.
fn check_damage(text: &[u8]) {
    let Err(error) = bif::read(text) else { return };
    match error {
        Error::Format { line, column, .. } => {
            let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
            let found = lines.get(line as usize - 1);
            let inside = found.is_some_and(|l| (1..=l.len() as u64 + 1).contains(&column));
            assert!(inside, "line {line}, column {column} of {} lines", lines.len());
        }
        // What only the whole shows has no place.
        Error::NoCpt { .. } | Error::Cycle { .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn every_cut_and_every_changed_byte_of_asia_is_a_network_or_an_error_with_its_place() {
    let whole = include_bytes!("../../networks/asia.bif");
    for cut in 0..whole.len() {
        check_damage(&whole[..cut]);
    }
    let mut text = whole.to_vec();
    for at in 0..whole.len() {
        for byte in
            [b'{', b'}', b'(', b')', b',', b';', b'|', b'"', b'/', b'9', b'-', b'\n', 0, 0xff]
        {
            text[at] = byte;
            check_damage(&text);
        }
        text[at] = whole[at];
    }
}

#[test]
fn files_are_read_by_their_path() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/networks");
    let net = bif::read_file(format!("{folder}/asia.bif")).unwrap();
    assert_eq!(net, fenchel_graphical::networks::asia());
    let error = bif::read_file(format!("{folder}/nowhere.bif")).unwrap_err();
    let Error::File { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**source, Error::Io { kind: std::io::ErrorKind::NotFound, .. }));
    assert!(error.to_string().starts_with(&format!("{folder}/nowhere.bif: ")), "{error}");
    // Packed, and with a byte order mark.
    let text = std::fs::read(format!("{folder}/asia.bif")).unwrap();
    let marked = [b"\xEF\xBB\xBF", text.as_slice()].concat();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &marked).unwrap();
    let place =
        |name: &str| std::env::temp_dir().join(format!("fenchel-{}-{name}", std::process::id()));
    for (name, bytes) in
        [("marked.bif", marked.clone()), ("packed.bif.gz", packed.finish().unwrap())]
    {
        std::fs::write(place(name), bytes).unwrap();
        let read = bif::read_file(place(name));
        std::fs::remove_file(place(name)).unwrap();
        assert_eq!(read.unwrap(), net, "{name}");
    }
    // What is written is read, packed or not, and a fault of the text names the file.
    for name in ["written.bif", "written.bif.gz"] {
        bif::write_file(&net, place(name)).unwrap();
        let packed = std::fs::read(place(name)).unwrap().starts_with(&[0x1F, 0x8B]);
        assert_eq!(packed, name.ends_with(".gz"));
        let read = bif::read_file(place(name));
        std::fs::write(place(name), "network {}\nvariables").unwrap();
        let error = bif::read_file(place(name)).unwrap_err().to_string();
        std::fs::remove_file(place(name)).unwrap();
        assert_eq!(read.unwrap(), net, "{name}");
        let start = format!("{}: line 2, column 1: ", place(name).display());
        assert!(error.starts_with(&start), "{error}");
    }
    let error = bif::write_file(&net, format!("{folder}/no/where.bif")).unwrap_err().to_string();
    assert_eq!(error.matches("where.bif").count(), 1, "{error}");
    let odd = fenchel_graphical::BayesNet::builder().variable("\"", &["x"]).cpt("\"", &[], &[1.0]);
    let error = bif::write_file(&odd.build().unwrap(), place("odd.bif")).unwrap_err();
    assert!(error.to_string().starts_with(place("odd.bif").to_str().unwrap()), "{error}");
    assert!(!place("odd.bif").exists());
    // Tables together are held against the limit.
    let tight = bif::BifOptions { max_memory: Some(8 * 30), ..Default::default() };
    let error = bif::read_file_with(format!("{folder}/asia.bif"), &tight).unwrap_err();
    assert!(error.to_string().contains("max_memory is 240 bytes"), "{error}");
    // A folder is found, and cannot be read.
    let error = bif::read_file(folder).unwrap_err();
    assert!(error.to_string().starts_with(folder), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_names_and_numbers_come_back(
        names in proptest::collection::btree_set("[^\"\\p{Cc}]{1,12}", 2..6),
        weights in proptest::collection::vec(1e-300f64..1.0, 64),
    ) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let states = &names[..2];
        let row = |i: usize| { let p = weights[i]; [p, 1.0 - p] };
        let mut net = BayesNet::builder().name(names[0]);
        for (i, name) in names.iter().enumerate() {
            let parents = &names[i.saturating_sub(3)..i];
            let table: Vec<f64> = (0..1 << parents.len()).flat_map(|r| row(8 * i + r)).collect();
            net = net.variable(name, states).cpt(name, parents, &table);
        }
        let net = net.build().unwrap();
        let mut text = Vec::new();
        bif::write(&net, &mut text).unwrap();
        let again = bif::read(&text[..]).unwrap();
        prop_assert_eq!(bits(&again), bits(&net));
        prop_assert_eq!(again, net);
    }

    #[test]
    fn damaged_texts_are_networks_or_errors_but_never_panics(
        cut in 0.0f64..1.0,
        changes in proptest::collection::vec((0.0f64..1.0, any::<u8>()), 0..4),
    ) {
        let whole = include_bytes!("../../networks/alarm.bif");
        let mut text = whole.to_vec();
        for (at, byte) in changes {
            text[(at * whole.len() as f64) as usize] = byte;
        }
        check_damage(&text);
        check_damage(&whole[..(cut * whole.len() as f64) as usize]);
        let cut = (cut * whole.len() as f64) as usize;
        // A cut that loses more than the last white space loses a table, and that is noticed; before the first variable there is a
        // network without any.
        let begun = cut > whole.windows(8).position(|word| word == b"variable").unwrap();
        prop_assert!(!begun || cut + 2 >= whole.len() || bif::read(&whole[..cut]).is_err());
    }
}
