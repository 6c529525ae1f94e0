//! What of a plan, and of any text, no result may show: reports and journals are kept by CI systems and sent to colleagues.
//!
//! A secret is known by its place: it is the user of a URL, or the value of something whose name speaks of a secret, be that a
//! header field, a variable or a parameter of a URL. One list of words says which names do.

use super::{Plan, QuickRequest, Work};

/// Stands where a value was.
pub const WITHHELD: &str = "[withheld]";

/// Parts of a name that say that its value is a secret, in lower case.
const SECRET_WORDS: [&str; 11] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
    "jwt",
];

impl Plan {
    /// The plan as results show it: what gives access is replaced by [`WITHHELD`].
    ///
    /// Withheld are the values of header fields, environment variables and URL parameters whose names speak of a secret
    /// (`authorization`, `x-api-key`, `DB_PASSWORD`, `?token=`), the user name and password of every URL, wherever it stands,
    /// and a body that names a secret. Names stay, so that two runs can still be compared.
    #[must_use]
    pub fn without_secrets(&self) -> Plan {
        let mut plan = self.clone();
        for scenario in &mut plan.scenarios {
            withhold(scenario.env.iter_mut());
            withhold(scenario.tags.iter_mut());
            if let Work::Request(request) = &mut scenario.work {
                *request = request.without_secrets();
            }
        }
        let run = &mut plan.run;
        withhold(run.env.iter_mut());
        withhold(run.tags.iter_mut());
        run.user_agent = masked(&run.user_agent);
        for host in &mut run.allow_hosts {
            *host = masked(host);
        }
        plan
    }
}

impl QuickRequest {
    /// The request as it may be shown; see [`Plan::without_secrets`].
    #[must_use]
    pub fn without_secrets(&self) -> QuickRequest {
        let mut request = self.clone();
        request.url = masked(&request.url);
        withhold(
            request
                .headers
                .iter_mut()
                .map(|(name, value)| (&*name, value)),
        );
        let names_one = str::from_utf8(&request.body).is_ok_and(names_a_secret);
        if names_one {
            request.body = WITHHELD.into();
        }
        request
    }
}

/// Whether a name says that what it names is a secret: that of a header field, a variable, a parameter.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn withhold<'a>(values: impl Iterator<Item = (&'a String, &'a mut String)>) {
    for (name, value) in values {
        *value = if names_a_secret(name) {
            WITHHELD.to_owned()
        } else {
            masked(value)
        };
    }
}

/// The text without the users of the URLs in it and the values of their parameters that are secrets.
///
/// Works on a URL, on running text, and on what was meant to be a URL: messages quote such, and a password that makes a URL
/// invalid is a password still.
#[must_use]
pub fn masked(text: &str) -> String {
    // One URL alone may hold blanks and quotes in its password.
    let whole = match begins_as_url(text) {
        true => without_user(text),
        false => text.to_owned(),
    };
    let mut shown = String::with_capacity(whole.len());
    for word in whole.split_inclusive(ends_a_word) {
        let end = word.trim_end_matches(ends_a_word).len();
        let (word, mark) = word.split_at(end);
        shown.push_str(&without_parameters(&without_user(word)));
        shown.push_str(mark);
    }
    shown
}

fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// Where in a text the authority of its first URL begins.
fn authority_begins(text: &str) -> Option<usize> {
    let at = text.find("//")?;
    let before = &text[..at];
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let has_scheme = before
        .strip_suffix(':')
        .is_some_and(|scheme| scheme.ends_with(in_scheme));
    (before.is_empty() || has_scheme).then_some(at + 2)
}

/// Whether a text as a whole may be one URL.
fn begins_as_url(text: &str) -> bool {
    authority_begins(text).is_some_and(|at| !text[..at].contains(char::is_whitespace))
}

/// A URL without the part before `@` (RFC 3986, section 3.2.1), whether or not it has a scheme.
fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_at(authority_begins(url).unwrap_or(0));
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    // What stands for a port and is no number is the begin of a password with a slash in it.
    let port = authority.split_once(':').map(|(_, port)| port);
    let is_broken = !authority.starts_with('[')
        && port.is_some_and(|port| port.contains(|c: char| !c.is_ascii_digit()));
    let user_ends = match authority.rfind('@') {
        None if is_broken => rest.rfind('@'),
        at => at,
    };
    match user_ends {
        // Without a scheme `anna@shop.example` may be an address of mail; with a password it is a user, unless it is a package
        // with its version.
        Some(at)
            if !scheme.is_empty() || (rest[..at].contains(':') && !is_version(&rest[at + 1..])) =>
        {
            format!("{scheme}{}", &rest[at + 1..])
        }
        _ => url.to_owned(),
    }
}

/// Whether a text begins with a version, as in `nettare:load@0.1.0`: three numbers, where an address has four.
fn is_version(text: &str) -> bool {
    let in_version = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !in_version(c)).unwrap_or(text.len());
    let numbers = text[..end].trim_end_matches('.').split('.');
    numbers.clone().count() == 3 && numbers.clone().all(|number| !number.is_empty())
}

/// A word with [`WITHHELD`] for the values of parameters that are secrets: `?token=...`, `#access_token=...`, `password=...`.
fn without_parameters(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    for piece in word.split_inclusive(['?', '#', '&', ';']) {
        let end = piece.trim_end_matches(['?', '#', '&', ';']).len();
        let (parameter, mark) = piece.split_at(end);
        match parameter.split_once('=') {
            Some((name, value)) if names_a_secret(last_name(name)) && !value.is_empty() => {
                shown.extend([name, "=", WITHHELD]);
            }
            _ => shown.push_str(parameter),
        }
        shown.push_str(mark);
    }
    shown
}

/// The name that a text ends in.
fn last_name(text: &str) -> &str {
    let in_name = |c: char| c.is_alphanumeric() || "-_.~%+[]".contains(c);
    let begin = text.trim_end_matches(in_name).len();
    &text[begin..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_loses_its_secrets_and_nothing_else() {
        for (given, shown) in [
            ("http://shop.example/a?b#c", "http://shop.example/a?b#c"),
            ("http://u:p@shop.example/a@b", "http://shop.example/a@b"),
            ("https://u@shop.example:8443", "https://shop.example:8443"),
            ("http://u:p@w@shop.example/", "http://shop.example/"),
            ("http://u:p@shop.example?a=b@c", "http://shop.example?a=b@c"),
            ("//u:p@shop.example", "//shop.example"),
            ("http://:p@[::1]:99999/", "http://[::1]:99999/"),
            ("http://[::1]:80/@a", "http://[::1]:80/@a"),
            ("http://[::1]/@a", "http://[::1]/@a"),
            ("http://user:hunt/er2@127.0.0.1/", "http://127.0.0.1/"),
            ("http://user:hunt?er@2@127.0.0.1/", "http://127.0.0.1/"),
            ("user:hunter2@127.0.0.1", "127.0.0.1"),
            ("user:hunt/er2@127.0.0.1", "127.0.0.1"),
            ("postgres://u:pa ss@db/x", "postgres://db/x"),
            (
                "from `http://u:p@a/` to ftp://v:q@b/ by anna@c",
                "from `http://a/` to ftp://b/ by anna@c",
            ),
            ("anna@shop.example", "anna@shop.example"),
            (
                "nettare:load/files@0.1.0#open",
                "nettare:load/files@0.1.0#open",
            ),
            (
                "nettare:load@0.2.0: build it",
                "nettare:load@0.2.0: build it",
            ),
            ("anna:hush@10.1.2.3/", "10.1.2.3/"),
            ("a (http://u:p@b/) c", "a (http://b/) c"),
            ("jdbc:x:postgres://u:p@b/", "jdbc:x:postgres://b/"),
            (
                "/?token=s&b=1&x-api-key=t#access_token=u",
                "/?token=[withheld]&b=1&x-api-key=[withheld]#access_token=[withheld]",
            ),
            (
                "`http://a/?pwd=s` twice",
                "`http://a/?pwd=[withheld]` twice",
            ),
            ("a?tokens=&b", "a?tokens=&b"),
            ("Server=db;Password=s,x", "Server=db;Password=[withheld]"),
            ("user=a&password=s", "user=a&password=[withheld]"),
            ("rate{key:a}>=0.9; raise it", "rate{key:a}>=0.9; raise it"),
            ("at 12:30 for anna@c: failed", "at 12:30 for anna@c: failed"),
            ("no url at all", "no url at all"),
            ("", ""),
        ] {
            assert_eq!(masked(given), shown, "{given}");
            assert_eq!(masked(shown), shown, "once is enough");
        }
    }

    #[test]
    fn values_go_by_their_names() {
        let mut fields: Vec<(String, String)> = [
            "authorization",
            "Cookie",
            "X-Api-Key",
            "DB_PASSWORD",
            "accept",
            "TARGET",
            "x-request-id",
        ]
        .map(|name| (name.to_owned(), "value".to_owned()))
        .into();
        withhold(fields.iter_mut().map(|(name, value)| (&*name, value)));
        let shown: Vec<&str> = fields
            .iter()
            .filter(|(_, value)| value == "value")
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(shown, ["accept", "TARGET", "x-request-id"]);
    }

    proptest! {
        /// Whatever a password is made of, in whatever kind of URL, alone or in a sentence.
        #[test]
        fn no_password_is_shown(
            scheme in prop::sample::select(vec!["http://", "https://", "postgres://", "//", ""]),
            password in "[a-zA-Z0-9!$%^&*(){};,.|~/?#:_+-]{0,8}S3KR3T[a-zA-Z0-9!$%^&*(){};,.|~@:_+-]{0,8}",
            rest in prop::sample::select(vec!["", "/", "/a/b", ":8080/x"]),
        ) {
            // A password that begins with a number and a slash reads as a port and a path, for everybody.
            prop_assume!(!password.starts_with(|c: char| c.is_ascii_digit() || "/?#".contains(c)));
            let url = format!("{scheme}anna:{password}@127.0.0.1{rest}");
            prop_assert!(!masked(&url).contains("S3KR3T"), "{}", masked(&url));
            let sentence = format!("the URL `{url}` cannot be requested");
            prop_assert!(!masked(&sentence).contains("S3KR3T"), "{}", masked(&sentence));
        }

        #[test]
        fn a_text_without_users_and_values_is_left_alone(text in "[^@=]{0,40}") {
            prop_assert_eq!(masked(&text), text);
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC*") {
            prop_assert!(masked(&text).matches('@').count() <= text.matches('@').count());
        }
    }
}
