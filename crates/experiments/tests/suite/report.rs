//! The report as a whole: what is on the page, what is beside it, and that it repeats itself.

use std::path::Path;

use fenchel_experiments::report::{self, Entry, Provenance, State};
use fenchel_experiments::{
    Axis, Case, Experiment, Figure, Ground, Outcome, Reason, Series, Size, Source, Table,
};

fn experiment(id: &'static str, needs: &'static [&'static str]) -> Experiment {
    Experiment {
        id,
        title: "Gaps <b>& bounds</b>",
        needs,
        ..Experiment::of("A <thesis>, Fig. 1 & 2")
    }
}

fn outcome() -> Outcome {
    let mut table = Table::new("Passes <table>", [("method", ""), ("passes", "n gradients")]);
    table.push(["SAGA <i>".into(), 12.25.into()]);
    let mut outcome = Outcome::default();
    outcome
        .claim(
            Source::quoted("A <thesis>", "3 & 4", "tight <gaps>")
                .claim("gap < 1e-8 & \"tight\"")
                .on(Ground::Real)
                .at_size("three trials")
                .document("<= 1e-8")
                .holds((1e-9, true)),
        )
        .claim(
            Source::OURS
                .claim("rate <= 1")
                .ours("1")
                .known_failure((2.0, false), Reason::checked("typo in <eq. 5>", 2.5, true)),
        )
        .table(table)
        .figure(
            Figure::new("Gap & more", Axis::linear("passes"), Axis::log("gap <"))
                .caption("See `a < b`.")
                .with(Series::line_points("SAGA <s>", vec![(0.0, 1.0), (1.0, 0.0)])),
        )
        .note("A note with <script>alert(1)</script>.")
        .setting("l2 <x>", "1e-4 <y>");
    outcome
}

fn entries() -> Vec<Entry> {
    let entry = |id, needs, data: &[&str], state| Entry {
        experiment: experiment(id, needs),
        data: data.iter().map(|d| (*d).to_owned()).collect(),
        seconds: matches!(state, State::Done(_)).then_some(12.3),
        state,
    };
    vec![
        entry("xx-1", &["w8a", "ijcnn1"], &["w8a"], State::Done(Box::new(outcome()))),
        entry("xx-2", &[], &[], State::Failed("no <file>".into())),
        entry("xx-3", &[], &[], State::Stopped),
    ]
}

fn write(folder: &Path, entries: &[Entry]) -> String {
    let facts = vec![("Processor".into(), "one & <two>".into())];
    let (version, size) = ("0.1.0".into(), Size::Quick);
    let provenance = Provenance { version, size, seed: 1, data: true, facts };
    let path = report::write(folder, &provenance, entries).unwrap();
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_page_escapes_everything_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let page = write(folder.path(), &entries());
    for raw in
        ["<script", "<thesis>", "<b>& ", "SAGA <", "<file>", "<eq.", "<gaps>", "<x>", "<y>", "<i>"]
    {
        assert!(!page.contains(raw), "{raw} is not escaped");
    }
    for shown in [
        "gap &lt; 1e-8 &amp; &quot;tight&quot;",
        "typo in &lt;eq. 5&gt; (measured: 2.5)",
        "<q>tight &lt;gaps&gt;</q> <cite>A &lt;thesis&gt;, 3 &amp; 4</cite>",
        "threshold of the project; generated data",
        "threshold of the document; real data; smaller: three trials",
        "<code>a &lt; b</code>",
        "no &lt;file&gt;",
        "<b>w8a</b> real; <b>ijcnn1</b> absent, substituted",
        ">does not reproduce<",
        "1 experiment ended with an error.",
        "stopped before 1 could finish",
        "<dt>Processor</dt><dd>one &amp; &lt;two&gt;</dd>",
        "only what does not hold, judged or not: 1<",
        ">1 pass</span> <span class=\"badge known\">1 does not reproduce<",
        "<use href=\"#xx-1-figure-1\"",
    ] {
        assert!(page.contains(shown), "{shown} is missing");
    }
}

/// The contents come first, the table of all claims last and collapsed; what holds can be hidden.
#[test]
fn the_page_leads_from_the_contents_to_what_does_not_hold() {
    let page = write(tempfile::tempdir().unwrap().path(), &entries());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(
        at("<h2>Contents</h2>") < at("id=\"xx-1\"") && at("id=\"xx-3\"") < at("id=\"all-claims\"")
    );
    assert!(at("id=\"all-claims\"") < at("The table of all 2 claims"));
    // The claim that passes, in its section and in the table; the experiment that was stopped, in the contents and by itself.
    assert_eq!(page.matches("<tr class=\"holds\">").count(), 2);
    assert_eq!(page.matches("<li class=\"holds\">").count(), 1);
    assert_eq!(page.matches("<section class=\"experiment holds\"").count(), 1);
}

#[test]
fn every_link_of_the_page_leads_to_a_file_or_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let page = write(folder.path(), &entries());
    let mut links = 0;
    for part in page.split("href=\"").skip(1) {
        let link = part.split('"').next().unwrap();
        links += 1;
        match link.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "{link}"),
            None => assert!(folder.path().join(link).is_file(), "{link}"),
        }
    }
    assert!(links > 5);
    let csv = folder.path().join("xx-1/table-1-passes-table.csv");
    assert_eq!(
        std::fs::read_to_string(csv).unwrap(),
        "method,passes (n gradients)\nSAGA <i>,12.25\n"
    );
}

#[test]
fn the_same_outcomes_give_the_same_bytes_and_no_stale_files() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let page = write(one.path(), &entries());
    assert_eq!(page, write(two.path(), &entries()));
    assert_eq!(page, write(one.path(), &entries()));

    let mut fewer = entries();
    fewer[0].state = State::Done(Box::default());
    write(one.path(), &fewer);
    assert_eq!(std::fs::read_dir(one.path().join("xx-1")).unwrap().count(), 0);
}

#[test]
fn an_entry_differs_on_errors_and_surprises_only() {
    let differs: Vec<bool> = entries().iter().map(Entry::differs).collect();
    assert_eq!(differs, [false, true, false]);
    let page = write(tempfile::tempdir().unwrap().path(), &[]);
    assert!(page.contains("No experiment was run."));
}

/// One claim a cell; a claim that is shown only counts as such, and so does one that is not judged.
#[test]
fn claims_are_counted_by_data_origin_and_verdict() {
    let mut entries = entries();
    let mut shown = outcome();
    shown.claims.iter_mut().for_each(|claim| *claim = claim.clone().not_judged("other data"));
    shown.claim(Source::OURS.claim("counted").on(Ground::Exact).ours("3").holds((3.0, true)));
    entries[2].state = State::Done(Box::new(shown));
    assert_eq!(
        report::counts(&entries).to_markdown(),
        "| measured on | threshold of the document | ours | known not to reproduce | shown only | judged at the document's size |\n\
         |---|---|---|---|---|---|\n\
         | real data | 1 of 1 | 0 of 0 | 0 |  | 0 of 1 |\n\
         | generated data | 0 of 0 | 0 of 1 | 1 |  | 0 of 0 |\n\
         | counted or computed | 0 of 0 | 1 of 1 | 0 |  | 0 of 0 |\n\
         | all | 1 of 1 | 1 of 2 | 1 | 2 | 0 of 1 |\n"
    );
    let page = write(tempfile::tempdir().unwrap().path(), &entries);
    assert!(page.contains("<td>real data</td><td>1 of 1</td><td>0 of 0</td>"));
}

/// The README keeps what is around the marks; a run that is not whole changes nothing.
#[test]
fn counts_are_written_for_a_whole_run_only() {
    let folder = tempfile::tempdir().unwrap();
    let readme = folder.path().join("README.md");
    let facts = vec![("Date".into(), "2000-01-02".into())];
    let provenance =
        Provenance { version: "0".into(), size: Size::Quick, seed: 1, data: true, facts };
    let write = |entries: &[Entry]| report::write_counts(&readme, &provenance, entries);
    let marked = "a\n<!-- counts: written by `cargo xtask reproduce --readme` -->\nold\n<!-- end of counts -->\nz\n";
    let mut whole = entries();
    whole.truncate(1);
    std::fs::write(&readme, marked).unwrap();
    assert!(write(&whole).unwrap_err().to_string().contains("xx-1 ran without ijcnn1"));
    assert!(write(&entries()[1..]).unwrap_err().to_string().contains("xx-2 has no outcome"));
    assert_eq!(std::fs::read_to_string(&readme).unwrap(), marked);
    whole[0].data.push("ijcnn1".into());
    for _ in 0..2 {
        write(&whole).unwrap();
    }
    let text = std::fs::read_to_string(&readme).unwrap();
    assert!(text.starts_with("a\n<!-- counts") && text.ends_with("<!-- end of counts -->\nz\n"));
    assert!(
        text.contains("(1 experiments, quick run with real data on 2000-01-02)")
            && !text.contains("\nold\n")
    );
    std::fs::write(&readme, "no marks").unwrap();
    assert!(write(&whole).unwrap_err().to_string().contains("lacks the line"));
}

/// A sentence about several data sets is one row; its cells are judged one by one. Several figures stand in a grid.
#[test]
fn claims_that_differ_by_their_data_set_are_one_row() {
    let mut outcome = outcome();
    let claim = |set: &str, holds: bool| {
        let faster = Source::OURS.claim(format!("{set}: faster")).in_unit("passes");
        let stated = faster.ours("fewer passes");
        match holds {
            true => stated.holds(("7 against 12", true)),
            false => stated.known_failure(("9 against 8", false), Reason::unknown("not known")),
        }
    };
    outcome.claim(claim("w8a", true)).claim(claim("adult", false)).claim(claim("sachs", true));
    let one = &outcome.figures[0];
    let two = Figure { title: "Second".into(), ..one.clone() };
    outcome.figure(two);
    let mut entries = entries();
    entries.truncate(1);
    entries[0].state = State::Done(Box::new(outcome));
    let page = write(tempfile::tempdir().unwrap().path(), &entries);
    let section =
        &page[page.find("<section class").unwrap()..page.find("id=\"all-claims\"").unwrap()];
    assert_eq!(section.matches("<table class=\"sets\">").count(), 1);
    assert_eq!(section.matches("Expected: fewer passes").count(), 1);
    assert_eq!(section.matches("<td>faster").count(), 1);
    // The row of the claim that passes, and two of its data sets.
    assert_eq!(section.matches("<tr class=\"holds\">").count(), 3);
    assert!(section.contains("<td>7</td><td>12</td><td>passes</td>"), "{section}");
    assert_eq!(section.matches("Registered as not reproducing: not known").count(), 1);
    assert!(section.contains("<div class=\"grid\">") && section.contains("took 12 s"));
    // The table of all claims has a row for each.
    assert_eq!(page.matches(": faster<").count(), 3);
}

/// A claim that was judged on several data sets has a table of them.
#[test]
fn a_claim_about_several_data_sets_is_a_table() {
    let case = |name: &str, measured: &str, holds| Case {
        name: name.into(),
        measured: measured.into(),
        holds,
    };
    let cases = vec![case("w8a", "7 against 12", true), case("adult", "9 against 8", false)];
    let measured = ("holds on 1 of 2: w8a: 7 against 12; adult: 9 against 8".to_owned(), cases);
    let mut outcome = outcome();
    let faster = Source::OURS.claim("faster").in_unit("passes").ours("once");
    outcome.claim(faster.holds((measured, true)));
    let mut entries = entries();
    entries[0].state = State::Done(Box::new(outcome));
    let page = write(tempfile::tempdir().unwrap().path(), &entries);
    for row in ["w8a</td><td>7</td><td>12</td>", "adult</td><td>9</td><td>8</td>"] {
        // In its section and in the table of all claims.
        assert_eq!(page.matches(&format!("{row}<td>passes</td>")).count(), 2, "{row}");
    }
    assert!(page.contains(": holds on 1 of 2</p>") && page.contains("does not hold"));
    assert!(page.contains("<th>against</th><th>unit</th>"));
    // Columns that no row fills are left out.
    let cases = vec![case("w8a", "0 exceptions", true), case("adult", "0 exceptions", true)];
    let mut outcome = self::outcome();
    let exact = Source::OURS.claim("exact").ours("no exception");
    outcome.claim(exact.holds((("holds on 2 of 2".to_owned(), cases), true)));
    entries[0].state = State::Done(Box::new(outcome));
    let page = write(tempfile::tempdir().unwrap().path(), &entries);
    assert!(page.contains("<th>data</th><th>measured</th><th>verdict</th>"));
}

/// A browser, where one is installed, finds the same places and complains of nothing.
#[test]
fn a_browser_shows_the_page_without_a_complaint() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &entries());
    let run = std::process::Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", folder.path().join("report.html").display()))
        .output();
    let Ok(output) = run else {
        println!("skipped: there is no program `chromium`");
        return;
    };
    let (page, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(page.matches("<figure>").count(), 1, "{log}");
    assert_eq!(page.matches("<section").count(), 4);
    assert!(!log.contains("CONSOLE"), "{log}");
}
