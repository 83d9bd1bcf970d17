//! The source as tests of it see it: the words of the product's code, without its comments and its tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file under `src` whose code is part of the product.
pub(super) struct Source {
    /// The path below `src`, such as `lb/packet.rs`.
    pub(super) path: String,
    /// The names of its module below the crate: `lb`, `packet`. None for `lib.rs` and `main.rs`.
    pub(super) module: Vec<String>,
    /// Its lines, comments and tests included.
    pub(super) lines: Vec<String>,
    /// Its code without tests.
    pub(super) words: Vec<Word>,
}

/// An identifier, a literal, a delimiter, `::` or another sign.
pub(super) struct Word {
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
}

/// A path that a file names, in a `use` or in its code.
pub(super) struct Named {
    /// Its names from the left; a `use` of several is several.
    pub(super) names: Vec<String>,
    /// The name that a `use` gives it here.
    pub(super) imported_as: Option<String>,
    pub(super) line: usize,
}

impl Source {
    /// The room that it belongs to: its first module.
    pub(super) fn room(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// `src/path:line`.
    pub(super) fn at(&self, line: usize) -> String {
        format!("src/{}:{line}", self.path)
    }

    /// Whether the word number `index` is `text`.
    pub(super) fn is(&self, index: usize, text: &str) -> bool {
        self.words.get(index).is_some_and(|word| word.text == text)
    }

    /// Whether the word number `index` is a text of several words, in place or as a constant of this file.
    pub(super) fn is_in_words(&self, index: usize) -> bool {
        let Some(Word { text, .. }) = self.words.get(index) else { return false };
        if text.starts_with('"') {
            return text.contains(' ');
        }
        let declares = |at: usize| (self.is(at, "const") || self.is(at, "let")) && self.is(at + 1, text);
        let declared = is_name(text).then(|| (0..self.words.len()).find(|at| declares(*at))).flatten();
        let value = declared.and_then(|at| self.words[at..].iter().find(|word| word.text.starts_with('"')));
        value.is_some_and(|word| word.text.contains(' '))
    }

    /// Every path of two names or more, and every name that is imported.
    pub(super) fn paths(&self) -> Vec<Named> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let goes_on = at > 0 && (self.is(at - 1, "::") || self.is(at - 1, "."));
            if is_name(&self.words[at].text) && !goes_on {
                let is_import = at > 0 && self.is(at - 1, "use");
                self.path(&mut at, &[], is_import, &mut found);
            } else {
                at += 1;
            }
        }
        found.retain(|named| named.names.len() > 1 || named.imported_as.is_some());
        found
    }

    /// Reads the path that begins at `at`, which follows `prefix` in a `use`, and moves behind it.
    fn path(&self, at: &mut usize, prefix: &[String], is_import: bool, found: &mut Vec<Named>) {
        let (mut names, line) = (prefix.to_vec(), self.words[*at].line);
        while self.words.get(*at).is_some_and(|word| is_name(&word.text) || word.text == "*") {
            names.push(self.words[*at].text.clone());
            *at += 1;
            if !self.is(*at, "::") {
                break;
            }
            *at += 1;
            if self.is(*at, "{") {
                *at += 1;
                while !self.is(*at, "}") {
                    self.path(at, &names, is_import, found);
                    *at += usize::from(self.is(*at, ","));
                }
                *at += 1;
                return;
            }
        }
        let is_renamed = self.is(*at, "as") && names.len() > 1;
        *at += if is_renamed { 2 } else { 0 };
        if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
            names.pop();
        }
        let called = if is_renamed { Some(&self.words[*at - 1].text) } else { names.last() };
        let imported_as = called.filter(|_| is_import).cloned();
        found.push(Named { names, imported_as, line });
    }
}

/// Whether a word is an identifier or a key word.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && !text.contains('"')
}

/// Every file of the product, in order of paths.
pub(super) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut tests = BTreeSet::new();
        let mut found: Vec<Source> = files(&root).iter().map(|file| read(&root, file, &mut tests)).collect();
        found.retain(|source| !(1..=source.module.len()).any(|end| tests.contains(&source.module[..end])));
        found
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Reads `file`, and adds the modules that it declares for tests alone to `tests`.
fn read(root: &Path, file: &Path, tests: &mut BTreeSet<Vec<String>>) -> Source {
    let path = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let stem = path.trim_end_matches(".rs");
    let is_root = ["lib", "main"].contains(&stem);
    let module: Vec<String> = if is_root { Vec::new() } else { stem.split('/').map(str::to_owned).collect() };
    let text = fs::read_to_string(file).unwrap();
    let mut words = Vec::new();
    flatten(text.parse().unwrap(), &mut words, &mut |name| {
        tests.insert(module.iter().cloned().chain([name]).collect());
    });
    Source { path, module, lines: text.lines().map(str::to_owned).collect(), words }
}

/// Adds the words of `tokens` but those of items under `#[cfg(test)]`, of which `declared` is told the modules.
fn flatten(tokens: TokenStream, words: &mut Vec<Word>, declared: &mut impl FnMut(String)) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let line = token.span().start().line;
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' && is_of_tests(tokens.peek()) => {
                skip_item(&mut tokens, declared);
            }
            // Documentation is an attribute of text.
            TokenTree::Punct(sign) if sign.as_char() == '#' && is_attribute(tokens.peek(), "doc") => {
                tokens.next();
            }
            TokenTree::Punct(sign) if sign.as_char() == ':' && is_sign(tokens.peek(), ':') => {
                tokens.next();
                words.push(Word { text: "::".to_owned(), line });
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(Word { text: open.to_owned(), line });
                flatten(group.stream(), words, declared);
                words.push(Word { text: close.to_owned(), line: group.span_close().start().line });
            }
            other => words.push(Word { text: other.to_string(), line }),
        }
    }
}

fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

fn is_attribute(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.stream().to_string().starts_with(name))
}

fn is_of_tests(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// Skips an item, up to its `;` or its body.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>, declared: &mut impl FnMut(String)) {
    let mut names: Vec<String> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == ';' => break,
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace
                    && names.first().is_none_or(|name| name != "use") =>
            {
                break;
            }
            TokenTree::Ident(name) => names.push(name.to_string()),
            _ => {}
        }
    }
    if let Some(at) = names.iter().position(|name| name == "mod") {
        declared(names[at + 1].clone());
    }
}
