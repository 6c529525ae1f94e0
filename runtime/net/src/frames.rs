//! Two scanners of foreign bytes: HTTP/2 frames (RFC 9113, section 4.1) and TLS records (RFC 8446, section 5.1).
//!
//! They look at headers alone, to know where things end, and keep nothing of what is inside. Bytes come in whatever pieces the
//! socket gives. Both are total: any bytes are some sequence of frames, however nonsensical; whoever speaks the protocol finds
//! fault with them later.

/// The header of an HTTP/2 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Length of the payload in bytes, below 2^24.
    pub length: u32,
    /// The frame's type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
}

/// What one piece of input has of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePiece<'a> {
    /// The frame.
    pub header: FrameHeader,
    /// How many bytes the frame has here; the whole of the header where it is completed here.
    pub bytes: u32,
    /// The part of the payload that is here.
    pub payload: &'a [u8],
    /// Where that part begins in the payload.
    pub offset: u32,
    /// Whether the header was completed here.
    pub begins: bool,
    /// Whether the payload was completed here.
    pub ends: bool,
    /// How many bytes of the input follow.
    pub behind: usize,
}

impl FrameHeader {
    /// DATA, section 6.1.
    pub const DATA: u8 = 0x0;
    /// HEADERS, section 6.2.
    pub const HEADERS: u8 = 0x1;
    /// GOAWAY, section 6.8.
    pub const GOAWAY: u8 = 0x7;
    /// CONTINUATION, section 6.10.
    pub const CONTINUATION: u8 = 0x9;
    const END_STREAM: u8 = 0x1;
    const END_HEADERS: u8 = 0x4;
    const BYTES: usize = 9;

    /// Whether the frame carries a message's head, body or trailers.
    pub fn is_of_a_message(&self) -> bool {
        matches!(self.kind, Self::DATA | Self::HEADERS | Self::CONTINUATION) && self.stream != 0
    }

    /// Whether the message ends with this frame, or, for a head that goes on, with its continuation.
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, Self::DATA | Self::HEADERS) && self.flags & Self::END_STREAM != 0
    }

    /// Whether no continuation follows.
    pub fn ends_headers(&self) -> bool {
        self.kind == Self::DATA || self.flags & Self::END_HEADERS != 0
    }

    fn parse(bytes: [u8; Self::BYTES]) -> FrameHeader {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes;
        FrameHeader {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The highest bit is reserved and to be ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }
}

/// Finds the frames of one direction of a connection.
#[derive(Debug, Default)]
pub struct FrameScanner {
    /// What is there of a header that is not complete.
    partial: [u8; FrameHeader::BYTES],
    partial_length: usize,
    /// The frame whose payload is not complete, and how much of it is there.
    current: Option<(FrameHeader, u32)>,
    /// Bytes before the first frame.
    skip: usize,
}

impl FrameScanner {
    /// A scanner of what a client sends, which begins with a preface of 24 bytes (section 3.4).
    pub fn of_a_client() -> FrameScanner {
        FrameScanner {
            skip: 24,
            ..FrameScanner::default()
        }
    }

    /// Calls `each` for each frame of which `input` has any payload or the end of its header.
    pub fn scan<'a>(&mut self, mut input: &'a [u8], mut each: impl FnMut(FramePiece<'a>)) {
        let skipped = self.skip.min(input.len());
        self.skip -= skipped;
        input = &input[skipped..];
        while let Some((header, offset, begins)) = self.frame_in(&mut input) {
            let here = input.len().min((header.length - offset) as usize);
            let (payload, behind) = input.split_at(here);
            input = behind;
            let reached = offset + here as u32;
            let ends = reached == header.length;
            self.current = (!ends).then_some((header, reached));
            if here == 0 && !begins {
                return;
            }
            let header_bytes = if begins { FrameHeader::BYTES as u32 } else { 0 };
            let bytes = header_bytes + here as u32;
            each(FramePiece {
                header,
                bytes,
                payload,
                offset,
                begins,
                ends,
                behind: behind.len(),
            });
        }
    }

    /// The frame under way, or the next one if its header can be completed.
    fn frame_in(&mut self, input: &mut &[u8]) -> Option<(FrameHeader, u32, bool)> {
        if let Some((header, offset)) = self.current {
            return Some((header, offset, false));
        }
        let taken = input.len().min(FrameHeader::BYTES - self.partial_length);
        let (head, rest) = input.split_at(taken);
        self.partial[self.partial_length..][..taken].copy_from_slice(head);
        self.partial_length += taken;
        *input = rest;
        if self.partial_length < FrameHeader::BYTES {
            return None;
        }
        self.partial_length = 0;
        Some((FrameHeader::parse(self.partial), 0, true))
    }
}

/// Finds out whether what was read so far of a TLS connection ends with a record. If not, part of another record has come, and
/// with it a later stamp.
#[derive(Debug, Default)]
pub struct RecordScanner {
    header: [u8; Self::HEADER_BYTES],
    header_length: usize,
    payload_left: usize,
}

impl RecordScanner {
    const HEADER_BYTES: usize = 5;

    /// Takes the next bytes.
    pub fn scan(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            if self.payload_left > 0 {
                let here = input.len().min(self.payload_left);
                self.payload_left -= here;
                input = &input[here..];
                continue;
            }
            self.header[self.header_length] = input[0];
            self.header_length += 1;
            input = &input[1..];
            if self.header_length == Self::HEADER_BYTES {
                self.header_length = 0;
                self.payload_left =
                    usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
            }
        }
    }

    /// Whether the last byte was a record's last.
    pub fn at_end_of_record(&self) -> bool {
        self.header_length == 0 && self.payload_left == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame() -> impl Strategy<Value = (FrameHeader, Vec<u8>)> {
        let payload = prop::collection::vec(any::<u8>(), 0..40);
        (any::<u8>(), any::<u8>(), 0..0x8000_0000_u32, payload).prop_map(
            |(kind, flags, stream, payload)| {
                (
                    FrameHeader {
                        length: payload.len() as u32,
                        kind,
                        flags,
                        stream,
                    },
                    payload,
                )
            },
        )
    }

    fn encode(header: &FrameHeader, payload: &[u8]) -> Vec<u8> {
        let mut bytes = header.length.to_be_bytes()[1..].to_vec();
        bytes.extend([header.kind, header.flags]);
        bytes.extend(header.stream.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    /// Cuts `bytes` into pieces of the given sizes, over and over.
    fn pieces<'a>(bytes: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = bytes;
        sizes.iter().cycle().map_while(move |&size| {
            let (piece, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            (!piece.is_empty()).then_some(piece)
        })
    }

    proptest! {
        #[test]
        fn frames_are_found_however_the_bytes_are_cut(
            frames in prop::collection::vec(frame(), 0..10),
            sizes in prop::collection::vec(1..30_usize, 1..8),
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(|(header, payload)| encode(header, payload)).collect();
            let mut scanner = FrameScanner::default();
            let (mut begun, mut ended, mut payloads, mut counted) = (vec![], vec![], vec![], 0);
            for piece in pieces(&bytes, &sizes) {
                scanner.scan(piece, |found| {
                    assert!(found.begins || !found.payload.is_empty());
                    if found.begins { begun.push(found.header); }
                    if found.ends { ended.push(found.header); }
                    payloads.extend_from_slice(found.payload);
                    counted += found.bytes;
                });
            }
            let headers: Vec<_> = frames.iter().map(|(header, _)| *header).collect();
            prop_assert_eq!(&begun, &headers);
            prop_assert_eq!(&ended, &headers);
            prop_assert_eq!(payloads, frames.iter().flat_map(|(_, payload)| payload.clone()).collect::<Vec<_>>());
            prop_assert_eq!(counted as usize, bytes.len());
        }

        #[test]
        fn any_bytes_are_scanned_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            sizes in prop::collection::vec(1..30_usize, 1..8),
        ) {
            let mut client = FrameScanner::of_a_client();
            let mut server = FrameScanner::default();
            let mut records = RecordScanner::default();
            let mut counted = 0;
            for piece in pieces(&bytes, &sizes) {
                client.scan(piece, |found| assert!(found.behind <= piece.len()));
                server.scan(piece, |found| counted += found.bytes as usize);
                records.scan(piece);
            }
            prop_assert!(counted <= bytes.len());
        }

        #[test]
        fn records_end_where_their_lengths_say(
            lengths in prop::collection::vec(0..600_usize, 1..10),
            sizes in prop::collection::vec(1..90_usize, 1..8),
        ) {
            let mut bytes = Vec::new();
            let mut ends = vec![];
            for length in lengths {
                bytes.extend([23, 3, 3, (length >> 8) as u8, length as u8]);
                bytes.extend(std::iter::repeat_n(0xff, length));
                ends.push(bytes.len());
            }
            let mut scanner = RecordScanner::default();
            let mut reached = 0;
            for piece in pieces(&bytes, &sizes) {
                scanner.scan(piece);
                reached += piece.len();
                prop_assert_eq!(scanner.at_end_of_record(), ends.contains(&reached), "at {}", reached);
            }
        }
    }
}
