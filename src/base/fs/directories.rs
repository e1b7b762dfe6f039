//! Directories that were looked into: each is opened once, whatever its spelling, and names that are not
//! there are remembered, so that a search over many names costs one short system call for each.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::rc::Rc;

/// As many directories stay open; what is in others is opened by its path. Far below the usual limit of
/// 1024 files a process.
const MOST_OPEN: usize = 256;

/// Where on this machine a path leads.
pub(super) type Place<'a> = dyn Fn(&str) -> io::Result<PathBuf> + 'a;

/// A directory that was found.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// The same number for the same directory.
    number: usize,
    /// None when enough are open already.
    file: Option<Rc<File>>,
}

/// What is known of directories.
#[derive(Debug)]
pub(super) struct Directories(RefCell<Known>);

#[derive(Debug)]
struct Known {
    most_open: usize,
    /// By the text of their path; the number of the system's error for what is no directory.
    by_path: HashMap<String, Result<Directory, i32>>,
    /// By device and inode.
    by_id: HashMap<(u64, u64), Directory>,
    /// By directory and name in it.
    steps: HashMap<(usize, String), Result<Directory, i32>>,
    absent: HashSet<(usize, String)>,
}

impl Default for Directories {
    fn default() -> Self {
        Self::keeping(MOST_OPEN)
    }
}

impl Directories {
    /// At most `most_open` stay open.
    pub(super) fn keeping(most_open: usize) -> Self {
        let (by_path, by_id) = (HashMap::new(), HashMap::new());
        Self(RefCell::new(Known { most_open, by_path, by_id, steps: HashMap::new(), absent: HashSet::new() }))
    }

    /// The directory of a path, found from its parent: paths that wind through the same directories cost
    /// one opening a step. `place` translates a path into one of this machine; without `plain` the kernel
    /// may not take the step, because links and `..` lead elsewhere than it thinks.
    pub(super) fn get(&self, path: &str, plain: bool, place: &Place<'_>) -> io::Result<Directory> {
        self.find(path, plain, place).map_err(io::Error::from_raw_os_error)
    }

    fn find(&self, path: &str, plain: bool, place: &Place<'_>) -> Result<Directory, i32> {
        if let Some(known) = self.0.borrow().by_path.get(path) {
            return known.clone();
        }
        let found = match path.rsplit_once('/') {
            None => self.enter(open_place(place, if path.is_empty() { "/" } else { path })),
            Some((parent, name)) => self.find(parent, plain, place).and_then(|parent| {
                if matches!(name, "" | ".") {
                    return Ok(parent);
                }
                let step = (parent.number, name.to_owned());
                if let Some(known) = self.0.borrow().steps.get(&step) {
                    return known.clone();
                }
                let opened = parent.open(name, libc::O_PATH | libc::O_DIRECTORY).filter(|_| plain);
                let found = self.enter(opened.unwrap_or_else(|| open_place(place, path)));
                self.0.borrow_mut().steps.insert(step, found.clone());
                found
            }),
        };
        self.0.borrow_mut().by_path.insert(path.to_owned(), found.clone());
        found
    }

    /// The directory that was opened, or the one that it is.
    fn enter(&self, opened: io::Result<File>) -> Result<Directory, i32> {
        let opened = opened.and_then(|file| Ok((file.metadata()?, file)));
        // An error without a number is a chain of links that is too long.
        let (data, file) = opened.map_err(|error| error.raw_os_error().unwrap_or(libc::ELOOP))?;
        let known = &mut *self.0.borrow_mut();
        let number = known.by_id.len();
        let file = (number < known.most_open).then(|| Rc::new(file));
        Ok(known.by_id.entry((data.dev(), data.ino())).or_insert(Directory { number, file }).clone())
    }

    /// Whether a name was looked for there in vain.
    pub(super) fn is_absent(&self, directory: &Directory, name: &str) -> bool {
        // The set owns its names: a look-up without a copy of the name is not to be had.
        self.0.borrow().absent.contains(&(directory.number, name.to_owned()))
    }

    /// Remembers that a name is not there.
    pub(super) fn miss(&self, directory: &Directory, name: &str) {
        self.0.borrow_mut().absent.insert((directory.number, name.to_owned()));
    }
}

impl Directory {
    /// Opens a file in it; `None` when this directory does not stay open.
    pub(super) fn open(&self, name: &str, flags: i32) -> Option<io::Result<File>> {
        let directory = self.file.as_ref()?;
        let Ok(name) = CString::new(name) else { return Some(Err(io::ErrorKind::InvalidInput.into())) };
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | flags;
        loop {
            // SAFETY: the name ends with NUL, the descriptor is open, and the new one belongs to nobody else.
            let file = unsafe {
                match libc::openat(directory.as_raw_fd(), name.as_ptr(), flags) {
                    -1 => Err(io::Error::last_os_error()),
                    descriptor => Ok(File::from_raw_fd(descriptor)),
                }
            };
            match file {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                file => return Some(file),
            }
        }
    }
}

/// A directory to look names up in; it need not be readable.
fn open_place(place: &Place<'_>, path: &str) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(place(path)?)
}
