//! A body as text, by its charset.

use encoding_rs::{Encoding, UTF_8};

use crate::host::values::{WitError, WitErrorKind};

/// The body as text. A byte order mark stands above the charset that `content-type` names (WHATWG Encoding, section 6, decode);
/// without either it is UTF-8. Bytes that are no such text are an error rather than replaced: a check should not pass on them.
pub(crate) fn text(body: &[u8], content_type: Option<&str>) -> Result<String, WitError> {
    let named = content_type.and_then(charset);
    let encoding = match named {
        Some(label) => Encoding::for_label(label.as_bytes())
            .ok_or_else(|| undecodable(format!("the charset `{label}` is not known")))?,
        None => UTF_8,
    };
    let (encoding, body) = match Encoding::for_bom(body) {
        Some((marked, length)) => (marked, body.get(length..).unwrap_or_default()),
        None => (encoding, body),
    };
    match encoding.decode_without_bom_handling_and_without_replacement(body) {
        Some(text) => Ok(text.into_owned()),
        None => Err(undecodable(format!(
            "the body is not text in {}",
            encoding.name()
        ))),
    }
}

fn undecodable(message: String) -> WitError {
    WitError::new(WitErrorKind::Decode, message)
}

/// The parameter `charset` of a media type (RFC 9110, section 8.3.1).
fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_decoded_by_mark_then_charset_then_as_utf_8() {
        for (body, content_type, expected, why) in [
            (
                &b"caf\xc3\xa9"[..],
                None,
                Some("café"),
                "UTF-8 without a type",
            ),
            (
                b"caf\xe9",
                None,
                None,
                "Latin-1 without a type is not UTF-8",
            ),
            (
                b"caf\xe9",
                Some("text/plain; charset=ISO-8859-1"),
                Some("café"),
                "by its charset",
            ),
            (
                b"caf\xe9",
                Some("text/plain;Charset=\"latin1\""),
                Some("café"),
                "quoted, by another label",
            ),
            (
                b"\xef\xbb\xbfcaf\xc3\xa9",
                Some("text/plain; charset=latin1"),
                Some("café"),
                "the mark wins and goes",
            ),
            (b"\xff\xfea\x00", None, Some("a"), "UTF-16 by its mark"),
            (
                b"a",
                Some("text/plain; charset=klingon"),
                None,
                "an unknown charset",
            ),
            (
                b"a",
                Some("text/plain; boundary=x"),
                Some("a"),
                "another parameter",
            ),
            (b"", Some(""), Some(""), "nothing at all"),
        ] {
            assert_eq!(text(body, content_type).ok().as_deref(), expected, "{why}");
        }
    }
}
