//! This module writes files atomically, removes old files, and makes file names from titles.

use std::path::Path;

use crate::Error;

/// Writes a file atomically, and creates its folder if it does not exist. A reader sees the old content or the new content, never
/// a part of it. The same holds if the run is interrupted.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    fenchel_optim::file::replace(path, |to| to.write_all(bytes)).map_err(failed)
}

/// Removes the files in `folder` that have one of the extensions. Subfolders are not searched. A missing folder is not an error.
pub(super) fn remove_by_extension(folder: &Path, extensions: &[&str]) -> Result<(), Error> {
    let failed = |path: &Path, source| Error::File { path: path.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(folder, e)),
    };
    for entry in entries {
        let path = entry.map_err(|e| failed(folder, e))?.path();
        let ours = path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x));
        if ours && path.is_file() {
            std::fs::remove_file(&path).map_err(|e| failed(&path, e))?;
        }
    }
    Ok(())
}

/// Makes a file name from a title. It has at most 48 characters: lower-case ASCII letters, digits, and dashes between words.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(48);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "untitled".into() } else { slug.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_file_name() {
        assert_eq!(slug("Gap (SAGA, 1/3L) & more"), "gap-saga-1-3l-more");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("κ"), "untitled");
        assert!(slug(&"long title ".repeat(20)).len() <= 48);
    }

    #[test]
    fn writing_replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/file.csv");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let folder = path.parent().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
        std::fs::write(folder.join("keep.txt"), "x").unwrap();
        remove_by_extension(folder, &["csv"]).unwrap();
        assert!(!path.exists() && folder.join("keep.txt").exists());
        remove_by_extension(&folder.join("absent"), &["csv"]).unwrap();
    }
}
