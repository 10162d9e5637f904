//! The page of the examples: a wall of thumbnails, then a section for each.

use std::fmt::Write;

use super::{Example, Shown};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:light-dark(#1d2433,#e3e6ec);--soft:light-dark(#5b6474,#9aa3b2);--line:light-dark(#d9dee7,#343a46);\
--sheet:light-dark(#f5f7fa,#1e2128);--page:light-dark(#fff,#16181c)}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:1.5rem 1rem;background:light-dark(#fff,#16181d);color:var(--ink)}
h1{font-size:1.6rem;margin:0}
h2{font-size:1.25rem;margin:0 0 .3rem}
a{color:inherit}
.wall{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem;margin:1.5rem 0 3rem}
.wall a{display:flex;flex-direction:column;border:1px solid var(--line);border-radius:.5rem;overflow:hidden;text-decoration:none}
.thumb{height:10rem;overflow:hidden;background:var(--page);border-bottom:1px solid var(--line)}
.thumb img{width:100%;height:100%;object-fit:contain}
.thumb pre{font-size:.5rem;line-height:1.35;margin:0;padding:.5rem;background:var(--sheet);color:var(--ink);height:100%;overflow:hidden;border-radius:0}
.wall span{padding:.5rem .7rem;font-weight:600}
.wall small{padding:0 .7rem .6rem;color:var(--soft)}
article{border-top:1px solid var(--line);padding:1.5rem 0}
.conclusion{font-weight:600}
.facts{color:var(--soft);margin:.2rem 0}
.failure{color:light-dark(#a3190c,#ff9d8f)}
pre{background:var(--sheet);border-radius:.4rem;padding:.8rem;overflow-x:auto;font-size:.8rem;line-height:1.4}
article img{max-width:100%;border-radius:.4rem}
details{margin:.6rem 0}
summary{cursor:pointer;color:var(--soft)}
";

/// The lines of an output that stand for a picture.
const LINES: usize = 24;

pub(super) fn page(all: &[Shown]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Gallery of Fenchel</title>\n<style>{STYLE}</style>\n<h1>Gallery</h1>\n\
         <p>Each example is a question, the data, a program of a page, what it prints, and its conclusion. \
         Run one by <code>cargo run --release -p fenchel-examples --example NAME</code>.</p>\n<nav class=\"wall\">\n"
    );
    for shown in all {
        let Example { name, question, .. } = &shown.example;
        let real = shown.data.first().is_some_and(|(real, _)| *real);
        let kind = if real { "real data" } else { "generated data" };
        let _ = writeln!(
            html,
            "<a href=\"#{name}\"><div class=\"thumb\">{}</div><span>{}</span><small>{name}, {kind}, {}</small></a>",
            thumbnail(shown),
            escaped(question),
            seconds(shown.seconds)
        );
    }
    html += "</nav>\n";
    all.iter().for_each(|shown| section(&mut html, shown));
    html + "</html>\n"
}

fn thumbnail(shown: &Shown) -> String {
    let name = &shown.example.name;
    match shown.pictures.first() {
        Some(picture) => format!("<img src=\"{name}/{picture}\" alt=\"\" loading=\"lazy\">"),
        None => {
            let lines: Vec<&str> = shown.output.lines().take(LINES).collect();
            format!("<pre aria-hidden=\"true\">{}</pre>", escaped(&lines.join("\n")))
        }
    }
}

fn section(html: &mut String, shown: &Shown) {
    let Shown { example, data, output, conclusion, pictures, failure, .. } = shown;
    let Example { name, question, about, code } = example;
    let _ = writeln!(html, "<article id=\"{name}\">\n<h2>{}</h2>", escaped(question));
    if !conclusion.is_empty() {
        let _ = writeln!(html, "<p class=\"conclusion\">{}</p>", escaped(&sentence(conclusion)));
    }
    if let Some(failure) = failure {
        let _ = writeln!(html, "<p class=\"failure\">It failed: {}</p>", escaped(failure));
    }
    for (real, text) in data {
        let kind = if *real { "Real data" } else { "Generated data" };
        let _ = writeln!(html, "<p class=\"facts\">{kind}: {}.</p>", escaped(text));
    }
    for paragraph in about {
        let _ = writeln!(html, "<p>{}</p>", escaped(paragraph));
    }
    for picture in pictures {
        let title = picture.trim_end_matches(".svg").replace('_', " ");
        let _ = writeln!(
            html,
            "<p><img src=\"{name}/{picture}\" alt=\"{}\" loading=\"lazy\"></p>",
            escaped(&title)
        );
    }
    let _ = writeln!(
        html,
        "<details open><summary>What it prints, in {}</summary><pre>{}</pre></details>\n\
         <details><summary>The program, {name}.rs, {} lines</summary><pre>{}</pre></details>\n</article>",
        seconds(shown.seconds),
        escaped(output),
        code.lines().count(),
        escaped(code)
    );
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.05 => "less than 0.1\u{a0}s".to_owned(),
        s if s < 9.95 => format!("{s:.1}\u{a0}s"),
        s => format!("{s:.0}\u{a0}s"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
