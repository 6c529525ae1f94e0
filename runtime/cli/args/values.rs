//! Values of flags: what people write, and the one sentence that says what is wrong with it.

use std::net::SocketAddr;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use nettare_core::plan::Rate;
use nettare_core::threshold::Threshold;
use nettare_core::units;
use nettare_report::Format;

/// A length of time, as in `30s`. May be zero, which no work but some limits can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) ns: u64,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let ns = units::parse_duration(text).map_err(|error| error.to_string())?;
        Ok(Span { ns })
    }
}

/// A length of time that is more than nothing.
pub(super) fn positive_span(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span { ns: 0 } => Err(format!(
            "`{text}` is no time at all; write for instance `30s`"
        )),
        span => Ok(span),
    }
}

/// Starts per unit of time, as in `200/s`; more than nothing.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    match units::parse_rate(text).map_err(|error| error.to_string())? {
        Rate { arrivals: 0, .. } => Err(format!(
            "`{text}` starts nothing; write for instance `200/s`"
        )),
        Rate { arrivals, per_ns } if arrivals > per_ns => Err(format!(
            "`{text}` is more than one in a nanosecond, the unit of time; write a lower one"
        )),
        rate => Ok(rate),
    }
}

/// A whole number from 1 up.
pub(super) fn positive<N>(text: &str) -> Result<N, String>
where
    N: FromStr<Err = ParseIntError> + PartialEq + From<bool>,
{
    match text.parse::<N>() {
        Ok(number) if number != N::from(false) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(too_large::<N>(text)),
        _ => Err(format!("`{text}` is not a whole number from 1 up")),
    }
}

/// A whole number from 0 up.
pub(super) fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse::<N>().map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow => too_large::<N>(text),
        _ => format!("`{text}` is not a whole number from 0 up"),
    })
}

/// Numbers have no sign, so their width says what the largest is.
fn too_large<N>(text: &str) -> String {
    let most = u64::MAX >> (64 - 8 * size_of::<N>().min(8));
    format!("`{text}` is too large; {most} is the most")
}

/// A number of bytes, as in `64MiB`; more than nothing.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match units::parse_size(text).map_err(|error| error.to_string())? {
        0 => Err(format!("`{text}` is nothing; write for instance `64MiB`")),
        bytes => Ok(bytes),
    }
}

/// Where to listen.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not ADDRESS:PORT; write for instance 127.0.0.1:8080, with port 0 for a free one")
    })
}

/// A share of a whole, from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!(
            "`{text}` is not a share from 0 to 1; write 0.1 for every tenth"
        )),
    }
}

/// `NAME=VALUE`. The value may be empty and may hold more equals signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyValue, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(KeyValue {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            // Not quoted, here and with header fields: what was meant as a value may be a secret.
            _ => Err("what was given is not of the form NAME=VALUE".to_owned()),
        }
    }
}

/// `Name: value`, of a request's header, as RFC 9110, section 5, allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderField {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for HeaderField {
    type Err = String;

    fn from_str(text: &str) -> Result<HeaderField, String> {
        let Some((name, value)) = text.split_once(':') else {
            return Err("what was given is not of the form `Name: value`".to_owned());
        };
        if !is_token(name) {
            return Err(
                "what stands before the colon is not the name of a field: letters, digits and hyphens are".to_owned(),
            );
        }
        let value = value.trim_matches([' ', '\t']);
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!("the value of `{name}` holds a control character"));
        }
        Ok(HeaderField {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// A method, as RFC 9110, section 9.1, allows it; in capitals, as all registered ones are.
pub(super) fn method(text: &str) -> Result<String, String> {
    if is_token(text) {
        Ok(text.to_ascii_uppercase())
    } else {
        Err(format!("`{text}` is not a method; write for instance POST"))
    }
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let in_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(in_token)
}

/// A report to be written, and what its extension says of its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportFile {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<ReportFile, String> {
        let path = PathBuf::from(text);
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match Format::of_extension(&extension) {
            Some(format @ Format::Json) => Ok(ReportFile { path, format }),
            Some(later) => Err(format!(
                "reports in .{} come later; .json holds all that they will be made from",
                later.extension()
            )),
            None => Err(format!(
                "`{text}` does not say which report it is; end the name in .json"
            )),
        }
    }
}

/// A guest's profile to be written, and what its extension says of its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProfileFile {
    pub(crate) path: PathBuf,
    pub(crate) form: ProfileForm,
}

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileForm {
    /// For the Firefox profiler.
    Firefox,
    /// A drawing.
    FlameGraph,
}

impl FromStr for ProfileFile {
    type Err = String;

    fn from_str(text: &str) -> Result<ProfileFile, String> {
        let path = PathBuf::from(text);
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let form = match extension.to_ascii_lowercase().as_str() {
            "json" => ProfileForm::Firefox,
            "svg" => ProfileForm::FlameGraph,
            _ => {
                return Err(format!(
                    "`{text}` does not say which profile it is; end the name in .svg for a flame graph, in .json for the \
                     Firefox profiler"
                ));
            }
        };
        Ok(ProfileFile { path, form })
    }
}

/// A condition on a metric.
pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    Threshold::parse_flag(text).map_err(|error| error.to_string())
}

/// One of a few words, which help and completions list; what else was typed is answered by the word's own type.
pub(super) fn word<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    Listed(words).try_map(|text: String| text.parse::<T>())
}

/// Any text, with a list of those that are worth offering.
#[derive(Clone, Copy)]
struct Listed(&'static [&'static str]);

impl TypedValueParser for Listed {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            self.0.iter().map(|word| PossibleValue::new(*word)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_split_at_the_first_equals_sign() {
        let rows = [
            ("A=b", Some(("A", "b")), "the plain case"),
            ("A=", Some(("A", "")), "an empty value is a value"),
            (
                "A=b=c",
                Some(("A", "b=c")),
                "the value may hold equals signs",
            ),
            ("A", None, "a value is needed"),
            ("=b", None, "a name is needed"),
        ];
        for (text, expected, sentence) in rows {
            let found = text.parse::<KeyValue>().ok();
            let found = found
                .as_ref()
                .map(|pair| (pair.key.as_str(), pair.value.as_str()));
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn header_fields_are_split_at_the_first_colon() {
        let rows = [
            ("Accept: */*", Some(("Accept", "*/*")), "the plain case"),
            (
                "Referer:http://a:1/",
                Some(("Referer", "http://a:1/")),
                "the value may hold colons",
            ),
            ("X-Empty:", Some(("X-Empty", "")), "an empty value is legal"),
            (
                "X:  padded\t",
                Some(("X", "padded")),
                "space around the value is not part of it",
            ),
            ("X Y: 1", None, "a name has no space"),
            (": 1", None, "a name is needed"),
            (
                "X: a\r\nY: b",
                None,
                "a value cannot smuggle in another field",
            ),
        ];
        for (text, expected, sentence) in rows {
            let found = text.parse::<HeaderField>().ok();
            let found = found
                .as_ref()
                .map(|field| (field.name.as_str(), field.value.as_str()));
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn the_extension_decides_the_report() {
        let rows = [
            ("run.json", "", "built"),
            ("a.b/RUN.JSON", "", "in whatever case"),
            ("run.html", "later", "not built yet, and says so"),
            ("run.xml", "later", "not built yet, and says so"),
            ("run.pdf", "end the name in .json", "never heard of"),
            ("run", "end the name in .json", "none at all"),
        ];
        for (text, complaint, sentence) in rows {
            let found = text.parse::<ReportFile>().err().unwrap_or_default();
            assert!(
                found.contains(complaint) && found.is_empty() == complaint.is_empty(),
                "{text}: {sentence}: {found}"
            );
        }
    }

    #[test]
    fn the_extension_decides_the_profile() {
        let form = |text: &str| text.parse::<ProfileFile>().map(|file| file.form);
        assert_eq!(form("guest.json"), Ok(ProfileForm::Firefox));
        assert_eq!(form("a.b/GUEST.SVG"), Ok(ProfileForm::FlameGraph));
        for text in ["guest.png", "guest", "svg", ".svg"] {
            let why = form(text).unwrap_err();
            assert!(why.contains("end the name in .svg"), "{text}: {why}");
        }
    }

    #[test]
    fn nothing_is_no_number_of_virtual_users() {
        assert_eq!(positive::<u32>("1"), Ok(1));
        for text in ["0", "-1", "1.5", "", "many", "4294967296"] {
            assert!(positive::<u32>(text).is_err(), "{text}");
        }
        let too_large = positive::<u32>("4294967296").unwrap_err();
        assert!(too_large.ends_with("4294967295 is the most"), "{too_large}");
        let too_large = whole::<u64>("18446744073709551616").unwrap_err();
        assert!(
            too_large.ends_with("18446744073709551615 is the most"),
            "{too_large}"
        );
    }
}
