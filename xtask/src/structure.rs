//! This module checks the structure of the crates, without exceptions: no circle between files, and at most 40 names at a root.
//!
//! A file depends on the file that defines a name it uses. `pub use` hands a name on and is looked through.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::workspace;

const NAMES_AT_A_ROOT: usize = 40;

#[test]
fn no_files_depend_on_each_other_in_a_circle() {
    let circles: Vec<String> = crates().iter().flat_map(Crate::circles).collect();
    assert!(circles.is_empty(), "{} circles:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn a_root_has_few_names() {
    let counts = crates().into_iter().map(|one| (one.root_names().len(), one.name));
    let broad: Vec<_> = counts.filter(|(count, _)| *count > NAMES_AT_A_ROOT).collect();
    assert!(broad.is_empty(), "more than {NAMES_AT_A_ROOT} names: {broad:?}");
}

pub(crate) fn crates() -> Vec<Crate> {
    let folders = std::fs::read_dir(workspace::root().join("crates")).unwrap();
    let mut roots: Vec<PathBuf> =
        folders.map(|entry| entry.unwrap().path().join("src/lib.rs")).collect();
    roots.sort();
    roots.iter().filter(|root| root.exists()).map(|root| Crate::read(root)).collect()
}

/// A path in the code: `crate::table::Table` in parts.
type Segments = Vec<String>;

/// What a module says, without its tests.
#[derive(Default)]
struct Module {
    file: usize,
    parent: usize,
    /// The items that are defined here, and whether they are public.
    items: BTreeMap<String, bool>,
    children: BTreeMap<String, usize>,
    /// The names that `use` brings, with their paths.
    imports: BTreeMap<String, Import>,
    globs: Vec<Import>,
    /// The paths in the code, one segment or more.
    paths: BTreeSet<Segments>,
}

#[derive(Clone)]
struct Import {
    path: Segments,
    visible: Visibility,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Private,
    Crate,
    Public,
}

/// The modules of a crate. The root is the first.
pub(crate) struct Crate {
    pub(crate) name: String,
    files: Vec<PathBuf>,
    modules: Vec<Module>,
    /// The macros that are exported, at the root by the rules of the language, and the modules that define them.
    macros: BTreeMap<String, usize>,
}

/// Where a path ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

impl Crate {
    fn read(root: &Path) -> Crate {
        let folder = root.ancestors().nth(2).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut read =
            Crate { name, files: Vec::new(), modules: Vec::new(), macros: BTreeMap::new() };
        read.file(root, root.parent().unwrap(), 0);
        read
    }

    /// Reads the module of a file. Its children lie in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, parent: usize) -> usize {
        let text = std::fs::read_to_string(path).unwrap();
        self.files.push(path.to_path_buf());
        let tokens = text.parse().unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        self.module(tokens, self.files.len() - 1, folder, parent)
    }

    fn module(&mut self, tokens: TokenStream, file: usize, folder: &Path, parent: usize) -> usize {
        let at = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        while !rest.is_empty() {
            let length = item_length(rest);
            let (item, after) = rest.split_at(length);
            rest = after;
            self.item(item, at, file, folder);
        }
        at
    }

    /// One item of a module, attributes included.
    fn item(&mut self, item: &[TokenTree], at: usize, file: usize, folder: &Path) {
        if is_test(item) {
            return;
        }
        let (visible, words) = declaration(item);
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mod", name, ..] => {
                let below = folder.join(name);
                let inline = item.iter().find_map(|token| match token {
                    TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                        Some(group.stream())
                    }
                    _ => None,
                });
                let child = match inline {
                    Some(tokens) => self.module(tokens, file, &below, at),
                    None => {
                        let flat = folder.join(format!("{name}.rs"));
                        let path = if flat.exists() { flat } else { below.join("mod.rs") };
                        self.file(&path, &below, at)
                    }
                };
                self.modules[at].children.insert(name.to_owned(), child);
                self.modules[at].items.insert(name.to_owned(), visible == Visibility::Public);
                return;
            }
            ["use", ..] => {}
            ["macro_rules", name, ..] => {
                let exported = item.iter().any(|token| token.to_string().contains("macro_export"));
                self.modules[at].items.insert(name.to_owned(), false);
                if exported {
                    self.macros.insert(name.to_owned(), at);
                }
            }
            [
                "struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static",
                name,
                ..,
            ] => {
                self.modules[at].items.insert(name.to_owned(), visible == Visibility::Public);
            }
            _ => {}
        }
        scan(item, visible, &mut self.modules[at]);
    }

    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<Target> {
        if depth > 5 {
            return None;
        }
        let mut at = Target::Module(module);
        for (place, segment) in path.iter().enumerate() {
            let Target::Module(here) = at else { break };
            at = match segment.as_str() {
                "crate" => Target::Module(0),
                "self" => at,
                "super" => Target::Module(self.modules[here].parent),
                name => self.member(here, name, place == 0 && path.len() > 1, depth)?,
            };
        }
        Some(at)
    }

    /// What a name means in a module.
    fn member(&self, module: usize, name: &str, first: bool, depth: usize) -> Option<Target> {
        let here = &self.modules[module];
        if let Some(child) = here.children.get(name) {
            return Some(Target::Module(*child));
        }
        if here.items.contains_key(name) {
            return Some(Target::Item(module));
        }
        if let Some(import) = here.imports.get(name)
            && !(first && import.path[0] == name)
        {
            return self.resolve(module, &import.path, depth + 1);
        }
        if module == 0
            && let Some(home) = self.macros.get(name)
        {
            return Some(Target::Item(*home));
        }
        here.globs.iter().find_map(|glob| match self.resolve(module, &glob.path, depth + 1)? {
            Target::Module(other) if other != module => self.member(other, name, false, depth + 1),
            _ => None,
        })
    }

    /// For each file the files that it depends on.
    fn dependencies(&self) -> Vec<BTreeSet<usize>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (at, module) in self.modules.iter().enumerate() {
            let used = module.imports.values().filter(|i| i.visible == Visibility::Private);
            for path in used.map(|import| &import.path).chain(&module.paths) {
                if let Some(Target::Item(other)) = self.resolve(at, path, 0) {
                    edges[module.file].insert(self.modules[other].file);
                }
            }
        }
        edges
    }

    /// The circles, each as its files: the strongly connected parts with two files or more.
    fn circles(&self) -> Vec<String> {
        let edges = self.dependencies();
        let reached: Vec<BTreeSet<usize>> = (0..edges.len())
            .map(|start| {
                let mut seen = BTreeSet::new();
                let mut open: Vec<usize> = vec![start];
                while let Some(file) = open.pop() {
                    open.extend(edges[file].iter().filter(|next| seen.insert(**next)));
                }
                seen
            })
            .collect();
        let mut circles = BTreeSet::new();
        for file in 0..edges.len() {
            let part =
                reached[file].iter().copied().filter(|other| reached[*other].contains(&file));
            let part: Vec<usize> = part.collect();
            if part.len() > 1 {
                circles.insert(part);
            }
        }
        let show = |file: &usize| {
            let path =
                self.files[*file].strip_prefix(workspace::root()).unwrap_or(&self.files[*file]);
            path.display().to_string()
        };
        let describe = |part: &Vec<usize>| {
            let lines = part.iter().map(|file| {
                let inside =
                    edges[*file].iter().filter(|other| *other != file && part.contains(other));
                format!("  {} -> {}", show(file), inside.map(show).collect::<Vec<_>>().join(", "))
            });
            format!(
                "{} files of {}:\n{}",
                part.len(),
                self.name,
                lines.collect::<Vec<_>>().join("\n")
            )
        };
        circles.iter().map(describe).collect()
    }

    /// The names that a user finds at the root. Modules do not count: they keep it short.
    pub(crate) fn root_names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = self.macros.keys().cloned().collect();
        self.public_names(0, &mut names);
        names
    }

    /// The modules that a user can name, by their paths: public ones, and those that `pub use` hands on.
    pub(crate) fn public_modules(
        &self,
        module: usize,
        path: String,
        found: &mut BTreeMap<String, usize>,
    ) {
        let here = &self.modules[module];
        let children = here.children.iter().filter(|(name, _)| here.items[*name]);
        let mut inside: Vec<(&String, usize)> = children.map(|(name, at)| (name, *at)).collect();
        for (name, import) in here.imports.iter().filter(|(_, i)| i.visible == Visibility::Public) {
            if let Some(Target::Module(at)) = self.resolve(module, &import.path, 0) {
                inside.push((name, at));
            }
        }
        for (name, at) in inside {
            let path = format!("{path}::{name}");
            if found.insert(path.clone(), at).is_none() {
                self.public_modules(at, path, found);
            }
        }
    }

    pub(crate) fn public_names(&self, module: usize, names: &mut BTreeSet<String>) {
        let here = &self.modules[module];
        let items = here.items.iter().filter(|(name, _)| !here.children.contains_key(*name));
        names.extend(items.filter(|(_, public)| **public).map(|(name, _)| name.clone()));
        let public = |import: &Import| import.visible == Visibility::Public;
        // A module may have an item of the same name beside it.
        let is_module = |path: &[String]| match self.resolve(module, path, 0) {
            Some(Target::Module(found)) => {
                let beside = &self.modules[self.modules[found].parent].imports;
                !path.last().is_some_and(|name| beside.contains_key(name))
            }
            _ => false,
        };
        let handed_on = here.imports.iter().filter(|(_, i)| public(i) && !is_module(&i.path));
        names.extend(handed_on.map(|(name, _)| name.clone()));
        for glob in here.globs.iter().filter(|glob| public(glob)) {
            if let Some(Target::Module(other)) = self.resolve(module, &glob.path, 0) {
                self.public_names(other, names);
            }
        }
    }
}

/// The number of tokens of the first item: to its `;` or its braces, attributes before it included.
fn item_length(tokens: &[TokenTree]) -> usize {
    let mut is_use = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) => is_use |= word == "use",
            TokenTree::Punct(punct) if punct.as_char() == ';' => return at + 1,
            // The braces of `use a::{b, c};` do not end it, nor do those of a constant.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let value = tokens[..at]
                    .iter()
                    .any(|t| matches!(t, TokenTree::Ident(w) if w == "const" || w == "static"))
                    && tokens[..at]
                        .iter()
                        .any(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == '='));
                if !is_use && !value {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

fn is_test(item: &[TokenTree]) -> bool {
    item.windows(2).any(|pair| match pair {
        [TokenTree::Punct(hash), TokenTree::Group(group)] if hash.as_char() == '#' => {
            let text = group.stream().to_string().replace(' ', "");
            text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test")
        }
        _ => false,
    })
}

/// The visibility of an item, and its words from the keyword on.
fn declaration(item: &[TokenTree]) -> (Visibility, Segments) {
    const KEYWORDS: [&str; 11] = [
        "mod",
        "use",
        "macro_rules",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "fn",
        "const",
        "static",
    ];
    let mut visible = Visibility::Private;
    for (at, token) in item.iter().enumerate() {
        let TokenTree::Ident(word) = token else { continue };
        let word = word.to_string();
        if word == "pub" {
            let restricted = matches!(item.get(at + 1),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
            visible = if restricted { Visibility::Crate } else { Visibility::Public };
        } else if word == "impl" {
            return (visible, vec![word]);
        } else if KEYWORDS.contains(&word.as_str()) {
            let words = item[at..].iter().filter_map(|token| match token {
                TokenTree::Ident(word) => Some(word.to_string()),
                _ => None,
            });
            let mut words: Vec<String> = words.take(4).collect();
            if words.len() > 2 && words[0] == "const" && words[1] == "fn" {
                words.remove(0);
            }
            return (visible, words);
        }
    }
    (visible, Vec::new())
}

/// Collects the imports and the paths of an item, those inside its groups included.
fn scan(tokens: &[TokenTree], visible: Visibility, module: &mut Module) {
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "use" => {
                let end =
                    (at..tokens.len()).find(|i| is_punct(&tokens[*i], ';')).unwrap_or(tokens.len());
                import(&tokens[at + 1..end], &[], visible, module);
                at = end;
            }
            TokenTree::Ident(word) => {
                let field = at > 0 && is_punct(&tokens[at - 1], '.');
                let mut path = vec![word.to_string()];
                while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next), ..] =
                    &tokens[at + 1..]
                    && a.as_char() == ':'
                    && b.as_char() == ':'
                {
                    path.push(next.to_string());
                    at += 3;
                }
                if !field {
                    module.paths.insert(path);
                }
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                scan(&inner, Visibility::Private, module);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Reads the tree of a `use`: `a::{b as c, d::*}`.
fn import(tokens: &[TokenTree], prefix: &[String], visible: Visibility, module: &mut Module) {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "as" => {
                name = tokens.get(at + 1).map(ToString::to_string);
                break;
            }
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                module.globs.push(Import { path, visible });
                return;
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for tree in
                    inner.split(|token| is_punct(token, ',')).filter(|tree| !tree.is_empty())
                {
                    import(tree, &path, visible, module);
                }
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let Some(name) = name.or_else(|| path.last().cloned()) else { return };
    // `as _` brings the methods of a trait, without its name.
    let name = if name == "_" { format!("_ {}", path.join("::")) } else { name };
    module.imports.insert(name, Import { path, visible });
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[test]
fn a_circle_is_found_through_a_name_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("crates/toy/src");
    std::fs::create_dir_all(source.join("shape")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(source.join(name), text).unwrap();
    write("lib.rs", "mod area;\nmod shape;\npub use shape::{Shape, side as edge};");
    write(
        "shape/mod.rs",
        "mod side;\npub use side::side;\nuse crate::area::area;\npub struct Shape;",
    );
    write("shape/side.rs", "pub fn side() {}\n#[cfg(test)]\nmod tests { use crate::area; }");
    write("area.rs", "pub(crate) fn area(of: &crate::Shape) {}");
    let toy = Crate::read(&source.join("lib.rs"));
    let circles = toy.circles();
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert!(circles[0].starts_with("2 files of toy:"), "{circles:?}");
    assert!(!circles[0].contains("side.rs"), "{circles:?}");
    assert_eq!(toy.root_names(), BTreeSet::from(["Shape".to_owned(), "edge".to_owned()]));
}
