//! A page in pieces: tags, texts, and what is neither.

/// A piece of a page. All pieces one after the other are the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Tag(Tag<'a>),
    /// What is between tags, as it stands in the page.
    Text(&'a str),
    /// A comment, a declaration, the content of a script or a style.
    Other(&'a str),
}

/// A tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// As it stands in the page.
    pub(super) whole: &'a str,
    pub(super) name: &'a str,
    pub(super) closing: bool,
    attributes: &'a str,
}

/// The pieces of a page.
pub(super) fn pieces(page: &str) -> Pieces<'_> {
    Pieces { rest: page, raw: None }
}

pub(super) struct Pieces<'a> {
    rest: &'a str,
    /// The element whose content is no text.
    raw: Option<&'a str>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(name) = self.raw.take() {
            let end = self.rest.find(&format!("</{name}")).unwrap_or(self.rest.len());
            if end > 0 {
                return Some(Piece::Other(self.take(end)));
            }
        }
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.starts_with("<!--") {
            let end = self.rest.find("-->").map_or(self.rest.len(), |at| at + 3);
            return Some(Piece::Other(self.take(end)));
        }
        if self.rest.starts_with("<!") {
            let end = self.rest.find('>').map_or(self.rest.len(), |at| at + 1);
            return Some(Piece::Other(self.take(end)));
        }
        if begins_tag(self.rest) {
            let whole = self.take(tag_end(self.rest));
            let inner = whole.trim_start_matches('<').trim_end_matches('>');
            let closing = inner.starts_with('/');
            let inner = inner.trim_start_matches('/');
            let end = inner.find(|c: char| c.is_ascii_whitespace() || c == '/');
            let (name, attributes) = inner.split_at(end.unwrap_or(inner.len()));
            if !closing && ["script", "style"].contains(&name) {
                self.raw = Some(name);
            }
            return Some(Piece::Tag(Tag { whole, name, closing, attributes }));
        }
        // A `<` that begins no tag is text.
        let starts = self.rest.match_indices('<').map(|(at, _)| at).skip_while(|at| *at == 0);
        let end = starts
            .into_iter()
            .find(|&at| begins_tag(&self.rest[at..]) || self.rest[at..].starts_with("<!"))
            .unwrap_or(self.rest.len());
        Some(Piece::Text(self.take(end)))
    }
}

impl<'a> Pieces<'a> {
    fn take(&mut self, end: usize) -> &'a str {
        let (piece, rest) = self.rest.split_at(end);
        self.rest = rest;
        piece
    }
}

fn begins_tag(text: &str) -> bool {
    let name = text.strip_prefix("</").or_else(|| text.strip_prefix('<'));
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The length of the tag that a text begins with. A `>` in quotes does not end it.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (None, '>') => return at + 1,
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    text.len()
}

impl Tag<'_> {
    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            let end =
                rest.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(rest.len());
            let found = &rest[..end];
            rest = &rest[end..];
            let mut value = "";
            if let Some(after) = rest.strip_prefix('=') {
                let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
                (value, rest) = match quote {
                    Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                    None => {
                        let end = after.find(|c: char| c.is_ascii_whitespace());
                        after.split_at(end.unwrap_or(after.len()))
                    }
                };
            }
            if found == name {
                return Some(unescaped(value));
            }
        }
    }
}

/// The text that is meant by one with the entities that rustdoc writes.
pub(super) fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'")];
    let text = pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    // The last, so that nothing is read twice.
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_page() {
        let page = "<!DOCTYPE html><p class=\"a>b\" id=c>1 < 2 &amp; <b>x</b><!-- <a> --><script>if (a<b) {}</script>é<br/>";
        let all: Vec<Piece<'_>> = pieces(page).collect();
        let whole = |piece: &Piece<'_>| match *piece {
            Piece::Tag(tag) => tag.whole.to_owned(),
            Piece::Text(text) | Piece::Other(text) => text.to_owned(),
        };
        assert_eq!(all.iter().map(whole).collect::<String>(), page);
        let texts: Vec<&str> = all
            .iter()
            .filter_map(|p| if let Piece::Text(t) = p { Some(*t) } else { None })
            .collect();
        assert_eq!(texts, ["1 < 2 &amp; ", "x", "é"]);
        let Piece::Tag(tag) = all[1] else { panic!("{:?}", all[1]) };
        assert_eq!((tag.name, tag.closing), ("p", false));
        assert_eq!(tag.attribute("class").as_deref(), Some("a>b"));
        assert_eq!(tag.attribute("id").as_deref(), Some("c"));
        assert_eq!(tag.attribute("href"), None);
    }

    #[test]
    fn attributes_are_read_in_every_form() {
        let tag = |text| match pieces(text).next() {
            Some(Piece::Tag(tag)) => tag,
            other => panic!("{other:?}"),
        };
        let link = tag("<a data-x hidden href='a&amp;b#&#39;' title=\"it's\">");
        assert_eq!(link.attribute("href").as_deref(), Some("a&b#'"));
        assert_eq!(link.attribute("title").as_deref(), Some("it's"));
        assert_eq!(link.attribute("hidden").as_deref(), Some(""));
        assert_eq!(tag("<a href=#12 id=12>").attribute("id").as_deref(), Some("12"));
    }
}
