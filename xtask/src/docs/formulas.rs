//! Formulas in LaTeX become MathML, which browsers show without a script and without a font.

use pulldown_latex::config::DisplayMode;
use pulldown_latex::{Parser, RenderConfig, Storage, push_mathml};

use super::html::{Piece, pieces, unescaped};

/// How rustdoc writes a block of code of the language `math`.
const BLOCK: (&str, &str) =
    ("<div class=\"example-wrap\"><pre class=\"language-math\"><code>", "</code></pre></div>");

/// Elements whose text is no prose.
const VERBATIM: [&str; 7] = ["head", "code", "pre", "textarea", "svg", "math", "button"];

/// Renders all formulas of a page and counts them; `None` if it has none. A failure names each formula that cannot be rendered.
pub(super) fn render(page: &str) -> Result<Option<(String, usize)>, Vec<String>> {
    if !page.contains("language-math") && !page.contains('$') {
        return Ok(None);
    }
    let mut work = Work { out: String::with_capacity(page.len()), count: 0, faults: Vec::new() };
    let blocks = work.blocks(page);
    work.inline(&blocks);
    match work {
        Work { faults, .. } if !faults.is_empty() => Err(faults),
        Work { count: 0, .. } => Ok(None),
        Work { out, count, .. } => Ok(Some((out, count))),
    }
}

struct Work {
    out: String,
    count: usize,
    faults: Vec<String>,
}

impl Work {
    /// The page with its blocks rendered.
    fn blocks(&mut self, page: &str) -> String {
        let mut out = String::with_capacity(page.len());
        let mut rest = page;
        while let Some((before, after)) = rest.split_once(BLOCK.0)
            && let Some((formula, after)) = after.split_once(BLOCK.1)
        {
            out += before;
            out += "<div class=\"formula\" style=\"overflow-x:auto;overflow-y:hidden;padding:.3em 0;margin:.7em 0\">";
            out += &self.formula(&unescaped(formula), DisplayMode::Block);
            out += "</div>";
            rest = after;
        }
        if rest.contains("\"language-math") {
            let fault =
                "a block of the language math does not have the form that rustdoc used to give it";
            self.faults.push(fault.to_owned());
        }
        out + rest
    }

    /// Renders the formulas in the texts of a page.
    fn inline(&mut self, page: &str) {
        let all: Vec<Piece<'_>> = pieces(page).collect();
        let mut verbatim = 0usize;
        // The beginning of the next text that belongs to a formula already.
        let mut at = 0;
        let mut skip = 0;
        while at < all.len() {
            match all[at] {
                Piece::Other(text) => self.out += text,
                Piece::Tag(tag) => {
                    if VERBATIM.contains(&tag.name) && !tag.whole.ends_with("/>") {
                        verbatim =
                            if tag.closing { verbatim.saturating_sub(1) } else { verbatim + 1 };
                    }
                    self.out += tag.whole;
                }
                Piece::Text(text) if verbatim > 0 => self.out += text,
                Piece::Text(text) => {
                    let text = &text[std::mem::take(&mut skip)..];
                    // $`...`$: Markdown has made the formula a code.
                    if let Some(before) = text.strip_suffix('$')
                        && let [
                            Piece::Tag(open),
                            Piece::Text(formula),
                            Piece::Tag(close),
                            Piece::Text(after),
                            ..,
                        ] = all[at + 1..]
                        && open.name == "code"
                        && close.name == "code"
                        && after.starts_with('$')
                    {
                        self.text(before);
                        let math = self.formula(&unescaped(formula), DisplayMode::Inline);
                        self.out += &math;
                        skip = 1;
                        at += 4;
                        continue;
                    }
                    self.text(text);
                }
            }
            at += 1;
        }
    }

    /// Renders `$...$` and `$$...$$` in a text.
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            self.out += before;
            let (mark, mode, inside) = match after.strip_prefix('$') {
                Some(inside) => ("$$", DisplayMode::Block, inside),
                None => ("$", DisplayMode::Inline, after),
            };
            let Some((formula, after)) = inside.split_once(mark) else {
                let near: String = after.chars().take(30).collect();
                self.faults.push(format!(
                    "a $ before {near:?} ends no formula: write a formula with _ or \\ as $`...`$, and a sign as code"
                ));
                self.out += &rest[before.len()..];
                return;
            };
            let math = self.formula(&unescaped(formula), mode);
            self.out += &math;
            rest = after;
        }
        self.out += rest;
    }

    /// A formula in MathML, with its LaTeX beside it for those who copy it.
    fn formula(&mut self, latex: &str, display_mode: DisplayMode) -> String {
        self.count += 1;
        let latex = latex.trim();
        let storage = Storage::new();
        let fault = Parser::new(latex, &storage).find_map(Result::err);
        if let Some(fault) = fault {
            self.faults.push(format!("the formula {latex}: {}", one_line(&fault.to_string())));
            return String::new();
        }
        let beside = escaped(latex);
        let config =
            RenderConfig { display_mode, annotation: Some(&beside), ..RenderConfig::default() };
        let (storage, mut math) = (Storage::new(), String::new());
        if let Err(error) = push_mathml(&mut math, Parser::new(latex, &storage), config) {
            self.faults.push(format!("the formula {latex}: {error}"));
        }
        // The renderer writes the sign as it is, which would begin a tag.
        math.replace("><<", ">&lt;<")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(body: &str) -> (String, usize) {
        render(&format!("<html><head><title>$x</title></head><body>{body}</body></html>"))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn every_form_of_a_formula_is_rendered() {
        let (page, count) = rendered(
            "<p>with $x^2$ and $<code>a_i &lt; b</code>$, $<code>c</code>$.</p><p>$$y = 1$$</p>\
             <div class=\"example-wrap\"><pre class=\"language-math\"><code>\\frac{1}{n} \\sum_i x_i</code></pre></div>",
        );
        assert_eq!(count, 5, "{page}");
        assert!(page.contains("<msup><mi>x</mi><mn>2</mn></msup>"), "{page}");
        assert!(
            page.contains("<mo>&lt;</mo>") && page.contains("a_i &lt; b</annotation>"),
            "{page}"
        );
        assert!(page.contains("<mfrac>"), "{page}");
        assert_eq!(page.matches("display=\"block\"").count(), 2, "{page}");
        assert!(!page.contains("language-math") && !page.contains("</code>$"), "{page}");
        assert!(page.contains("<title>$x</title>"));
    }

    #[test]
    fn code_and_scripts_are_left_alone() {
        let page = "<body><pre class=\"rust\"><code>macro $x:expr</code></pre><code>$wi</code><script>`${f}`</script></body>";
        assert_eq!(render(page), Ok(None));
        assert_eq!(render("<p>no formula</p>"), Ok(None));
    }

    #[test]
    fn what_is_no_formula_is_named() {
        let faults = |body: &str| render(body).unwrap_err().join("\n");
        assert!(faults("<p>$a<em>i + b</em>i$</p>").contains("ends no formula"));
        assert!(faults("<p>5 $ a piece</p>").contains("a $ before \" a piece\""));
        assert!(faults("<p>$\\frac{1$</p>").starts_with("the formula \\frac{1: "));
        let strange = "<pre class=\"language-math extra\"><code>x</code></pre>";
        assert!(faults(strange).contains("does not have the form"));
    }
}
