//! Atomic replacement of files, and reading them whole.
//!
//! [`replace`] writes a draft beside the file, and renames it when everything is written and on the disk. A reader of the file,
//! or a crash during the writing, finds either the old content or the new one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the content of a file by what the closure `write` writes.
///
/// - An existing file keeps its mode, and it keeps its content until the new one is complete. A link is followed. A read-only
///   file is refused.
/// - A device or a pipe is written to directly. So is a file that a process has open, named by `/dev/stdout` or by a shell's
///   `>(command)`.
/// - A draft that a killed process left behind is removed.
/// - The result is a new file with the old name. Other names of the old file (hard links) keep the old content, and the owner
///   of the new file is the owner of this process.
///
/// The draft is called `.NAME.PROCESS-COUNT.partial`. It is in the folder of the file and has the mode of the file.
///
/// # Errors
/// Errors of the file system and of `write`, preceded by the path. The file is then unchanged.
pub fn replace(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.as_ref();
    replace_as_private(path, path, write)
}

/// Does the same as [`replace`], for a file that reveals content of another file `secret`: if `secret` exists, the new file
/// gets its mode.
///
/// # Errors
/// Those of [`replace`].
pub fn replace_as_private(
    path: impl AsRef<Path>,
    secret: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.as_ref();
    let mode = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = mode(secret.as_ref()).or_else(|| mode(path));
    let mode = mode.map(|metadata| metadata.permissions());
    target(path).and_then(|target| target.fill(mode, write)).map_err(|error| at(path, &error))
}

/// Checks that [`replace`] could write to a path. Call it before a long computation whose result is to be written there.
///
/// # Errors
/// Those of [`replace`].
pub fn check_writable(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let check = |target| match target {
        Target::Regular(file) => Draft::new(&file, None).map(drop),
        Target::Stream(file) => OpenOptions::new().append(true).open(file).map(drop),
        // Opening a pipe would wait for its reader.
        Target::Pipe(_) => Ok(()),
    };
    target(path).and_then(check).map_err(|error| at(path, &error))
}

/// Opens a file whose end must stay where it is while it is read: [`Whole`].
///
/// # Errors
/// Those of the file system.
pub fn open(path: impl AsRef<Path>) -> io::Result<Whole<File>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    // Devices and pipes have no length.
    let bytes = if found.is_file() { found.len() } else { 0 };
    Ok(Whole::new(file, bytes))
}

/// A text that has a certain number of bytes at least. A text that ends before is an error of reading: the file was cut while it was
/// read, and half of a line may be another number.
#[derive(Debug)]
pub struct Whole<R> {
    text: R,
    left: u64,
}

impl<R: Read> Whole<R> {
    /// A text of at least so many bytes.
    pub fn new(text: R, bytes: u64) -> Self {
        Whole { text, left: bytes }
    }
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(to)?;
        if count == 0 && self.left > 0 && !to.is_empty() {
            let reason = format!("the file became {} bytes shorter while it was read", self.left);
            return Err(io::Error::other(reason));
        }
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}

/// Whether two paths are one file.
pub fn same_file(a: impl AsRef<Path>, b: impl AsRef<Path>) -> bool {
    let (a, b) = (a.as_ref(), b.as_ref());
    let file = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    a == b || file(a).is_some() && file(a) == file(b)
}

/// Whether [`replace`] would create a new file in the place of the old one, rather than write to an existing device or pipe.
pub fn is_replaced(path: impl AsRef<Path>) -> bool {
    matches!(target(path.as_ref()), Ok(Target::Regular(_)))
}

/// Adds the path to an error.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The target of a path after all links.
enum Target {
    /// A regular file, or a path without a file.
    Regular(PathBuf),
    /// A device, or a file that a process has open.
    Stream(PathBuf),
    /// A pipe.
    Pipe(PathBuf),
}

fn target(path: &Path) -> io::Result<Target> {
    // The system follows links that name no file as well, such as those of pipes that a process has open.
    if let Ok(metadata) = fs::metadata(path) {
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
        }
        #[cfg(unix)]
        if std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type()) {
            return Ok(Target::Pipe(path.to_path_buf()));
        }
        if !metadata.is_file() {
            return Ok(Target::Stream(path.to_path_buf()));
        }
    }
    let mut path = path.to_path_buf();
    // More links in a row than any system follows.
    for _ in 0..64 {
        match fs::read_link(&path) {
            Ok(_) if is_open_file(&path) => return Ok(Target::Stream(path)),
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(Target::Regular(path)),
        }
    }
    Err(io::Error::other("too many symbolic links in a row"))
}

/// Whether a link refers to a file that a process has open (`/proc/PROCESS/fd/NUMBER`). That process would not see a new file
/// of the same name.
fn is_open_file(link: &Path) -> bool {
    let folder = fs::canonicalize(folder_of(link)).unwrap_or_default();
    folder.starts_with("/proc") && folder.ends_with("fd")
}

impl Target {
    /// Writes to an existing device or pipe, or creates a new file with the given mode in the place of the old one.
    fn fill(
        self,
        mode: Option<Permissions>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Target::Stream(path) | Target::Pipe(path) => {
                let mut to = BufWriter::new(OpenOptions::new().append(true).open(path)?);
                write(&mut to)?;
                to.flush()
            }
            Target::Regular(path) => {
                let draft = Draft::new(&path, mode)?;
                let mut to = BufWriter::with_capacity(1 << 20, &draft.file);
                write(&mut to)?;
                to.flush()?;
                drop(to);
                draft.file.sync_all()?;
                draft.rename_to(&path)
            }
        }
    }
}

/// A locked draft beside the target file. It is removed unless it is renamed.
struct Draft {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Draft {
    /// Creates a draft with the mode of the target, so that nobody can read the draft who could not read the file.
    fn new(path: &Path, mode: Option<Permissions>) -> io::Result<Draft> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().ok_or_else(|| io::Error::other("not the name of a file"))?;
        if fs::metadata(path).is_ok_and(|found| found.permissions().readonly()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is read-only"));
        }
        let folder = folder_of(path);
        let start = format!(".{}.", name.to_string_lossy());
        remove_abandoned(folder, &start);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if let Some(mode) = &mode {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(mode.mode() & 0o777);
        }
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{start}{}-{count}.partial", std::process::id()));
            let file = match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let draft = Draft { file, path, renamed: false };
            // What the mask of the process took away.
            if let Some(mode) = &mode {
                draft.file.set_permissions(mode.clone())?;
            }
            // File systems without locks lose the cleaning of abandoned drafts, nothing else.
            let _ = draft.file.lock();
            // Between the two calls another process may have taken the draft for an abandoned one.
            if draft.path.exists() {
                return Ok(draft);
            }
        }
    }

    fn rename_to(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes drafts without a lock. Their writers were killed.
fn remove_abandoned(folder: &Path, start: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(start)
            && name.ends_with(".partial")
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fenchel-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let name = |entry: io::Result<fs::DirEntry>| {
                entry.unwrap().file_name().to_string_lossy().into_owned()
            };
            let mut names: Vec<String> = fs::read_dir(&self.0).unwrap().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_failure_leaves_the_old_content_and_no_draft() {
        let folder = Folder::new("failure");
        let path = folder.0.join("model.json");
        replace(&path, |to| to.write_all(b"old")).unwrap();
        let failed = replace(&path, |to| {
            to.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().contains("model.json: no more"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.names(), ["model.json"]);
        replace(&path, |to| to.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(check_writable(&folder.0).unwrap_err().to_string().contains("is a folder"));
        assert!(check_writable(folder.0.join("none/model")).is_err());
        assert!(replace("/", |_| Ok(())).is_err() && replace("", |_| Ok(())).is_err());
    }

    #[test]
    fn abandoned_drafts_go_and_drafts_in_use_stay() {
        let folder = Folder::new("abandoned");
        let path = folder.0.join("m");
        fs::write(folder.0.join(".m.1-0.partial"), "abandoned").unwrap();
        fs::write(folder.0.join(".m2.1-0.partial"), "of another file").unwrap();
        let used = File::create(folder.0.join(".m.2-0.partial")).unwrap();
        used.lock().unwrap();
        replace(&path, |to| to.write_all(b"x")).unwrap();
        assert_eq!(folder.names(), [".m.2-0.partial", ".m2.1-0.partial", "m"]);
    }

    #[cfg(unix)]
    #[test]
    fn modes_are_kept_and_links_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("modes");
        let (path, link, dangling) =
            (folder.0.join("private"), folder.0.join("link"), folder.0.join("dangling"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("private", &link).unwrap();
        symlink("absent", &dangling).unwrap();
        replace(&link, |to| to.write_all(b"new")).unwrap();
        replace(&dangling, |to| to.write_all(b"made")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(folder.0.join("absent")).unwrap(), b"made");
        symlink("loop", folder.0.join("loop")).unwrap();
        assert!(check_writable(folder.0.join("loop")).is_err());
        // Another name of the file keeps the old content.
        fs::hard_link(&path, folder.0.join("other name")).unwrap();
        replace(&path, |to| to.write_all(b"newer")).unwrap();
        assert_eq!(fs::read(folder.0.join("other name")).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_loses_its_end_is_an_error() {
        let folder = Folder::new("shorter");
        let path = folder.0.join("text");
        fs::write(&path, "1 2 3\n4 5 6\n").unwrap();
        let read = |cut: Option<u64>| {
            let mut text = open(&path).unwrap();
            text.read_exact(&mut [0; 6]).unwrap();
            if let Some(length) = cut {
                OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            }
            let mut rest = String::new();
            text.read_to_string(&mut rest).map(|_| rest)
        };
        assert_eq!(read(None).unwrap(), "4 5 6\n");
        let error = read(Some(8)).unwrap_err().to_string();
        assert_eq!(error, "the file became 4 bytes shorter while it was read");
        // It may become longer.
        let mut text = open(&path).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"7").unwrap();
        let mut found = String::new();
        text.read_to_string(&mut found).unwrap();
        assert_eq!(found, "1 2 3\n4 7");
        assert_eq!(open("/dev/null").unwrap().read(&mut [0]).unwrap(), 0);
    }

    /// A file without write permission is not replaced, although the permissions of its folder would allow it.
    #[test]
    fn a_file_that_is_read_only_stays() {
        let folder = Folder::new("read-only");
        let path = folder.0.join("kept");
        fs::write(&path, "old").unwrap();
        let writable = fs::metadata(&path).unwrap().permissions();
        let mut mode = writable.clone();
        mode.set_readonly(true);
        fs::set_permissions(&path, mode).unwrap();
        for failed in [check_writable(&path), replace(&path, |to| to.write_all(b"new"))] {
            assert!(failed.unwrap_err().to_string().ends_with("kept: is read-only"));
        }
        assert_eq!(
            (fs::read(&path).unwrap(), folder.names()),
            (b"old".to_vec(), vec!["kept".to_owned()])
        );
        fs::set_permissions(&path, writable).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn drafts_are_as_private_as_the_file_from_the_beginning() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("private");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = folder.0.join("model");
        fs::write(&path, "old").unwrap();
        for expected in [0o600, 0o640, 0o666] {
            fs::set_permissions(&path, Permissions::from_mode(expected)).unwrap();
            let see = |to: &mut dyn Write| {
                to.write_all(b"new")?;
                let draft = folder.names().into_iter().find(|name| name.ends_with(".partial"));
                assert_eq!(mode(&folder.0.join(draft.unwrap())), expected);
                Ok(())
            };
            replace(&path, see).unwrap();
            assert_eq!(mode(&path), expected);
            // A file that tells what the model holds is no more open than the model.
            let beside = folder.0.join("beside");
            replace_as_private(&beside, &path, |to| to.write_all(b"the same")).unwrap();
            assert_eq!(mode(&beside), expected);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_has_open_is_written_to() {
        use std::io::{Read, Seek};
        use std::os::fd::AsRawFd;
        let folder = Folder::new("open");
        // A pipe without a name: the target of its link is no path.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let name = format!("/dev/fd/{}", writer.as_raw_fd());
        check_writable(&name).unwrap();
        assert!(!is_replaced(&name));
        replace(&name, |to| to.write_all(b"through")).unwrap();
        drop(writer);
        let mut found = String::new();
        reader.read_to_string(&mut found).unwrap();
        assert_eq!(found, "through");
        // A file that is open: what its process wrote stays, and it sees what is written.
        let path = folder.0.join("log");
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all(b"before ").unwrap();
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        check_writable(&name).unwrap();
        assert!(!is_replaced(&name) && is_replaced(&path));
        replace(&name, |to| to.write_all(b"behind")).unwrap();
        let mut found = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut found).unwrap();
        assert_eq!(found, "before behind");
        assert_eq!(folder.names(), ["log"]);
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_written_to() {
        use std::os::unix::fs::FileTypeExt;
        replace("/dev/null", |to| to.write_all(b"gone")).unwrap();
        check_writable("/dev/null").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let folder = Folder::new("pipes");
        let pipe = folder.0.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no mkfifo here");
            return;
        }
        check_writable(&pipe).unwrap();
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read(pipe).unwrap())
        };
        replace(&pipe, |to| to.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }
}
