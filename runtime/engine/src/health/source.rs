//! A text of the kernel's, kept open and read again from its begin.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// No text read here is nearly as long; a file that never ends must not fill the memory.
const LONGEST_BYTES: usize = 4 << 20;

/// What is read at first in one call; doubled while it does not suffice, since the kernel makes such a text anew for each call.
const FIRST_BYTES: usize = 8 << 10;

/// An open file of `/proc`, `/sys` or a control group.
pub(super) struct Source {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Source {
    /// Opens a file; one that is not there reads as nothing.
    pub(super) fn open(path: impl AsRef<Path>) -> Source {
        Source {
            file: File::open(path).ok(),
            bytes: Vec::new(),
        }
    }

    /// The text as it is now; none when it cannot be read.
    pub(super) fn read(&mut self) -> Option<&str> {
        let file = self.file.as_ref()?;
        let mut filled = 0;
        loop {
            if self.bytes.len() == filled {
                let longer = (filled * 2).clamp(FIRST_BYTES, LONGEST_BYTES);
                self.bytes.resize(longer, 0);
            }
            let space = &mut self.bytes[filled..];
            match file.read_at(space, filled as u64) {
                Ok(0) | Err(_) if filled == 0 => return None,
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if filled >= LONGEST_BYTES {
                break;
            }
        }
        std::str::from_utf8(&self.bytes[..filled]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_is_not_there_reads_as_nothing() {
        assert_eq!(Source::open("/proc/self/no-such-file").read(), None);
        assert_eq!(Source::open("/").read(), None, "nor does a folder");
    }

    #[test]
    fn a_text_is_read_whole_and_anew_each_time() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        let long = "x".repeat(3 * FIRST_BYTES + 1);
        file.write_all(long.as_bytes()).expect("it can be written");
        let mut source = Source::open(file.path());
        assert_eq!(source.read().map(str::len), Some(long.len()));
        file.as_file().set_len(5).expect("it can be cut");
        assert_eq!(source.read(), Some("xxxxx"));
    }
}
