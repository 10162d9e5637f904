//! The links of the pages: files and places within the documentation, and the form of addresses outside.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::html::{Piece, pieces};

/// What [`check`] found.
pub(super) struct Checked {
    /// The numbers of pages and of different links of a page.
    pub(super) pages: usize,
    pub(super) links: usize,
    /// One line for each broken link, and for each picture that is cut.
    pub(super) broken: Vec<String>,
}

/// What is known of a page.
#[derive(Default)]
struct Page {
    /// The places that a link can name.
    places: HashSet<String>,
    links: BTreeSet<String>,
    /// Where the page sends its reader.
    redirect: Option<String>,
    /// Whether a paragraph ends within a picture: a browser shows its first tag, and no line of it.
    cuts_picture: bool,
}

/// Checks all pages that can be reached from the given ones. What lies beside them may be of an older build.
pub(super) fn check(doc: &Path, starts: Vec<PathBuf>) -> io::Result<Checked> {
    let mut pages: HashMap<PathBuf, Page> = HashMap::new();
    let mut next: BTreeSet<PathBuf> = starts.into_iter().collect();
    while !next.is_empty() {
        let read = read_all(doc, &next.into_iter().collect::<Vec<_>>())?;
        next = BTreeSet::new();
        for (path, page) in &read {
            let near = page.links.iter().chain(&page.redirect);
            let files = near.filter_map(|link| inside(path, link)?.ok()).map(|(file, _)| file);
            let pages_among = files.filter(|file| {
                file.extension().is_some_and(|ending| ending == "html") && doc.join(file).is_file()
            });
            next.extend(pages_among);
        }
        pages.extend(read);
        next.retain(|path| !pages.contains_key(path));
    }
    let mut broken = BTreeSet::new();
    let mut links = 0;
    for (path, page) in &pages {
        links += page.links.len();
        if page.cuts_picture {
            let reason = "a paragraph ends within a picture; an empty line is missing before it";
            broken.insert(format!("{}: {reason}", path.display()));
        }
        for link in &page.links {
            if let Some(reason) = fault(doc, &pages, path, link) {
                broken.insert(format!("{}: link {link}: {reason}", path.display()));
            }
        }
    }
    Ok(Checked { pages: pages.len(), links, broken: broken.into_iter().collect() })
}

/// Reads pages on all cores.
fn read_all(doc: &Path, paths: &[PathBuf]) -> io::Result<Vec<(PathBuf, Page)>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = paths.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let read = |paths: &[PathBuf]| -> io::Result<Vec<(PathBuf, Page)>> {
            paths
                .iter()
                .map(|path| {
                    let text = fs::read_to_string(doc.join(path)).map_err(|error| {
                        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                    })?;
                    Ok((path.clone(), Page::read(&text)))
                })
                .collect()
        };
        let parts: Vec<_> =
            paths.chunks(share).map(|part| scope.spawn(move || read(part))).collect();
        let mut all = Vec::with_capacity(paths.len());
        for part in parts {
            all.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

impl Page {
    fn read(text: &str) -> Page {
        let mut page = Page::default();
        let mut picture = false;
        for piece in pieces(text) {
            let Piece::Tag(tag) = piece else { continue };
            if tag.name == "svg" {
                picture = !tag.closing && !tag.whole.ends_with("/>");
            }
            page.cuts_picture |= picture && tag.name == "p";
            let id = tag.attribute("id");
            let link = match tag.name {
                // Rustdoc's own link to a list that it does not write for a crate within another.
                "a" if id.as_deref() == Some("all-types") => None,
                "a" => tag.attribute("href"),
                "img" => tag.attribute("src"),
                "meta" if tag.attribute("http-equiv").is_some_and(|kind| kind == "refresh") => {
                    let content = tag.attribute("content").unwrap_or_default();
                    page.redirect = content.split_once("URL=").map(|(_, to)| to.to_owned());
                    None
                }
                _ => None,
            };
            page.links.extend(link);
            page.places.extend(id);
        }
        page
    }

    fn has(&self, place: &str) -> bool {
        // Rustdoc writes some places as they are in an address, and others as they are in a text.
        self.places.contains(place)
            || self.places.contains(&decoded(place))
            // Lines of a source: 12-20.
            || place.split_once('-').is_some_and(|(from, to)| {
                let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                number(from) && number(to) && self.places.contains(from) && self.places.contains(to)
            })
    }
}

/// The scheme of an address outside.
fn scheme(link: &str) -> Option<&str> {
    let (scheme, _) = link.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
    (!scheme.is_empty() && scheme.chars().all(fits)).then_some(scheme)
}

/// The file and the place of a link within the documentation; an error if it leads out of it.
fn inside(page: &Path, link: &str) -> Option<Result<(PathBuf, String), ()>> {
    if scheme(link).is_some() {
        return None;
    }
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or_default();
    if path.is_empty() {
        return Some(Ok((page.to_path_buf(), place.to_owned())));
    }
    let mut file = PathBuf::new();
    let folder = page.parent().unwrap_or(Path::new(""));
    for part in folder.join(decoded(path)).components() {
        match part {
            Component::Normal(name) => file.push(name),
            Component::CurDir => {}
            Component::ParentDir if file.pop() => {}
            _ => return Some(Err(())),
        }
    }
    Some(Ok((file, place.to_owned())))
}

/// Why a link is broken.
fn fault(
    doc: &Path,
    pages: &HashMap<PathBuf, Page>,
    page: &Path,
    link: &str,
) -> Option<&'static str> {
    let Some(target) = inside(page, link) else { return outside(link) };
    let Ok((mut file, place)) = target else { return Some("leaves the documentation") };
    if doc.join(&file).is_dir() {
        return Some("a folder; expected a page");
    }
    if !doc.join(&file).is_file() {
        return Some("no such file");
    }
    // A page that sends its reader on hands the place on.
    for _ in 0..8 {
        match pages.get(&file).and_then(|page| page.redirect.as_deref()) {
            Some(to) => match inside(&file, to) {
                Some(Ok((next, _))) => file = next,
                _ => break,
            },
            None => break,
        }
    }
    match pages.get(&file) {
        Some(page) if !place.is_empty() && !page.has(&place) => Some("no such place on the page"),
        _ => None,
    }
}

/// Why an address outside is none. Whether somebody answers there is not asked.
fn outside(link: &str) -> Option<&'static str> {
    match scheme(link) {
        Some("http" | "https") => {
            let host = link.split_once("://").map(|(_, rest)| rest);
            let host = host.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
            let fits = host.contains('.') && !link.contains(char::is_whitespace);
            (!fits).then_some("not an address")
        }
        Some("mailto" | "data" | "javascript") => None,
        _ => Some("a path of Rust that was not resolved"),
    }
}

/// A text without `%41`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
