//! `cargo xtask docs`: the pages of all crates, with formulas as MathML and without a broken link.
//!
//! A formula is LaTeX: a block of code of the language `math`, or `$...$` and `$$...$$` in a text. Markdown changes `_` and `\\` in
//! a text; a formula with either is written `` $`...`$ ``. The pages are changed in place and need neither a script nor a font.

mod formulas;
mod html;
mod links;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{mpi, workspace};

/// The command that makes the pages.
pub(crate) fn command() -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["doc", "--no-deps"]).args(mpi::all_crates()).env("RUSTDOCFLAGS", "-D warnings");
    cargo
}

pub(crate) fn run() -> io::Result<ExitCode> {
    let target = workspace::target();
    make(&target, || workspace::stream(&mut command(), "cargo doc"))?;
    println!("the pages begin at {}", target.join("doc/fenchel/index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Makes the pages in a build folder by the command, renders their formulas and checks their links.
pub(crate) fn make(target: &Path, command: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let (doc, crates) = (target.join("doc"), crates()?);
    // Rustdoc makes the pages of crates in any order, and links to a crate only if it has a folder by then. Cargo removes the
    // folder of a crate before its turn.
    let folders: Vec<PathBuf> = crates.iter().map(|name| doc.join(name)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let keep = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                folders.iter().try_for_each(fs::create_dir_all)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        let made = command();
        done.store(true, Ordering::Relaxed);
        made.and(keep.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    println!("{}", finish(&doc, &crates)?);
    Ok(())
}

/// The names under which the crates have their pages.
fn crates() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace::root().join("crates"))? {
        let folder = entry?.path();
        if folder.join("src/lib.rs").is_file() {
            let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
            names.extend(name.map(|name| name.trim_matches('"').replace('-', "_")));
        }
    }
    names.sort();
    Ok(names)
}

/// Renders and checks the pages in a folder. Returns what was done, in a sentence.
fn finish(doc: &Path, crates: &[String]) -> io::Result<String> {
    let start = Instant::now();
    let mut formulas = 0;
    let mut failures = Vec::new();
    for name in crates {
        for page in pages(&doc.join(name))? {
            let text = fs::read_to_string(&page)?;
            match formulas::render(&text) {
                Ok(None) => {}
                Ok(Some((rendered, count))) => {
                    fs::write(&page, rendered)?;
                    formulas += count;
                }
                Err(faults) => {
                    let shown = page.strip_prefix(doc).unwrap_or(&page).display().to_string();
                    failures.extend(faults.into_iter().map(|fault| format!("{shown}: {fault}")));
                }
            }
        }
    }
    let starts = crates.iter().map(|name| PathBuf::from(name).join("index.html")).collect();
    let links::Checked { pages, links, broken } = links::check(doc, starts)?;
    failures.extend(broken);
    let seconds = start.elapsed().as_secs_f64();
    if failures.is_empty() {
        return Ok(format!(
            "{formulas} formulas rendered anew, {links} links on {pages} pages hold ({seconds:.1} s)"
        ));
    }
    let list = failures.join("\n");
    Err(io::Error::other(format!("{} faults in the pages:\n{list}", failures.len())))
}

/// All pages below a folder.
fn pages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "html") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(pages: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, body) in pages {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("<!DOCTYPE html><html><body>{body}</body></html>")).unwrap();
        }
        folder
    }

    fn finished(pages: &[(&str, &str)]) -> Result<String, String> {
        finish(folder(pages).path(), &["toy".to_owned()]).map_err(|error| error.to_string())
    }

    #[test]
    fn links_that_hold_pass() {
        let done = finished(&[
            (
                "toy/index.html",
                "<h2 id=\"top\">x</h2><a href=\"#top\">1</a><a href='a/struct.A.html#b%3CT%3E'>2</a>\
                 <a href=\"../src/toy/lib.rs.html#1-2\">3</a><a href=\"https://docs.rs/x\">4</a><a href=\"a/old.html#c\">5</a>\
                 <script>\"<a href='nowhere'>\"</script><!-- <a href=\"nowhere\"> -->",
            ),
            ("toy/a/struct.A.html", "<p id='b%3CT%3E' class=x><p id=c>"),
            (
                "toy/a/old.html",
                "<meta http-equiv=\"refresh\" content=\"0;URL=struct.A.html\"><a href=\"struct.A.html\">x</a>",
            ),
            ("src/toy/lib.rs.html", "<a href=#1 id=1>1</a><a href=#2 id=2>2</a>"),
        ]);
        assert!(done.as_ref().is_ok_and(|text| text.contains("links on 4 pages hold")), "{done:?}");
    }

    #[test]
    fn a_broken_link_is_named_with_its_page() {
        for (link, reason) in [
            ("none.html", "no such file"),
            ("#none", "no such place"),
            ("other.html#none", "no such place"),
            ("old.html#none", "no such place"),
            ("../toy", "a folder"),
            ("../../outside.html", "leaves the documentation"),
            ("https://", "not an address"),
            ("http://a b", "not an address"),
            ("crate::Thing", "a path of Rust that was not resolved"),
            ("fn@thing", "no such file"),
        ] {
            let body = format!("<a href=\"{link}\">x</a><a href=\"{link}\">y</a>");
            let error = finished(&[
                ("toy/index.html", &format!("<a href=\"page.html\">x</a>{body}")),
                ("toy/page.html", "<img src=\"data:image/png;base64,AA\">"),
                ("toy/other.html", ""),
                ("toy/old.html", "<meta http-equiv=\"refresh\" content=\"0;URL=other.html\">"),
            ])
            .unwrap_err();
            assert!(error.starts_with("1 faults"), "{error}");
            let line = format!("toy/index.html: link {link}: {reason}");
            assert!(error.lines().any(|found| found.starts_with(&line)), "{error}");
        }
    }

    #[test]
    fn a_picture_within_a_paragraph_is_named() {
        let whole = "<p>a</p><svg><title>b</title></svg><p>c</p><svg/><p>d</p>";
        assert!(finished(&[("toy/index.html", whole)]).is_ok());
        let error = finished(&[("toy/index.html", "<p>a <svg></p><title>b</title></svg>")]);
        let error = error.unwrap_err();
        assert!(error.contains("toy/index.html: a paragraph ends within a picture"), "{error}");
    }

    #[test]
    fn a_page_is_rendered_once() {
        let page = "<div class=\"example-wrap\"><pre class=\"language-math\"><code>x_i &lt; 1</code></pre></div>";
        let folder = folder(&[("toy/index.html", page)]);
        let crates = ["toy".to_owned()];
        assert!(finish(folder.path(), &crates).unwrap().starts_with("1 formulas"));
        let first = fs::read_to_string(folder.path().join("toy/index.html")).unwrap();
        assert!(finish(folder.path(), &crates).unwrap().starts_with("0 formulas"));
        assert_eq!(fs::read_to_string(folder.path().join("toy/index.html")).unwrap(), first);
        let error = finished(&[("toy/index.html", "<p>$\\nonsense$</p>")]).unwrap_err();
        assert!(error.contains("toy/index.html: the formula \\nonsense: "), "{error}");
    }
}
