//! The files that the rules look at: of the repository, or made up by a test.

use std::fs;
use std::path::{Path, PathBuf};

/// Text files by their path from the root, in order.
pub(super) struct Tree {
    files: Vec<File>,
}

/// One text file.
pub(super) struct File {
    /// From the root, with slashes.
    pub(super) path: String,
    /// Its whole text.
    pub(super) text: String,
}

impl Tree {
    /// Everything in the working tree that is text and not built: what a commit would hold.
    pub(super) fn of_the_repository() -> Tree {
        let root = &crate::support::root();
        let mut files = Vec::new();
        collect(root, root, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(
            files.len() > 50,
            "the repository was not found at {}",
            root.display()
        );
        Tree { files }
    }

    /// A made-up tree.
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Tree {
            files: files.iter().map(file).collect(),
        }
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The Rust sources that people wrote. What a generator wrote, and says so in its first line, has nobody to keep rules.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files()
            .filter(|file| file.path.ends_with(".rs") && !is_generated(file))
    }

    /// The files below a folder.
    pub(super) fn below(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.files().filter(move |file| {
            file.path
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// The file at a path.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// Whether a file or a folder of this name exists.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.file(path).is_some() || self.below(path).next().is_some()
    }
}

fn is_generated(file: &File) -> bool {
    file.text
        .lines()
        .next()
        .is_some_and(|line| line.contains("@generated"))
}

/// Folders that hold what is built or fetched, wherever they are. In a second work tree of a repository, `.git` is a file.
const BUILT: [&str; 6] = [
    "target",
    "node_modules",
    ".git",
    "__pycache__",
    ".zig-cache",
    "zig-out",
];

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for path in entries(folder) {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if BUILT.contains(&name.as_str()) && root.join("runtime/target") != path {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path
                .strip_prefix(root)
                .expect("the walk stays below the root");
            files.push(File {
                path: relative.to_string_lossy().replace('\\', "/"),
                text,
            });
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{} cannot be listed: {error}", folder.display()));
    listing
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect()
}
