//! What of a plan no result may show: reports and journals are kept by CI systems and sent to colleagues.

use super::{Plan, QuickRequest, Work};

/// Stands where a value was.
pub const WITHHELD: &str = "[withheld]";

/// Parts of a name that say that its value is a secret, in lower case.
const SECRET_WORDS: [&str; 8] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "secret",
    "session",
    "token",
];

impl Plan {
    /// The plan as results show it: what gives access is replaced by [`WITHHELD`].
    ///
    /// Withheld are the user name and password of a URL, and the values of header fields and environment variables whose names
    /// speak of a secret (`authorization`, `x-api-key`, `DB_PASSWORD`). Names stay, so that two runs can still be compared.
    #[must_use]
    pub fn without_secrets(&self) -> Plan {
        let mut plan = self.clone();
        let scenarios = plan.scenarios.iter_mut();
        for scenario in scenarios {
            withhold(scenario.env.iter_mut());
            if let Work::Request(request) = &mut scenario.work {
                *request = request.without_secrets();
            }
        }
        withhold(plan.run.env.iter_mut());
        plan
    }
}

impl QuickRequest {
    /// The request as it may be shown; see [`Plan::without_secrets`].
    #[must_use]
    pub fn without_secrets(&self) -> QuickRequest {
        let mut request = self.clone();
        request.url = without_user(&request.url);
        withhold(
            request
                .headers
                .iter_mut()
                .map(|(name, value)| (&*name, value)),
        );
        request
    }
}

fn withhold<'a>(values: impl Iterator<Item = (&'a String, &'a mut String)>) {
    for (name, value) in values {
        let name = name.to_lowercase();
        if SECRET_WORDS.iter().any(|word| name.contains(word)) {
            WITHHELD.clone_into(value);
        }
    }
}

/// A URL without the part before `@` (RFC 3986, section 3.2.1). Works on text that is no URL too, since messages quote such.
#[must_use]
pub fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("//") else {
        return url.to_owned();
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    match authority.rfind('@') {
        Some(at) => format!("{scheme}//{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_loses_its_user_and_nothing_else() {
        for (given, shown) in [
            ("http://shop.example/a?b#c", "http://shop.example/a?b#c"),
            ("http://u:p@shop.example/a@b", "http://shop.example/a@b"),
            ("https://u@shop.example:8443", "https://shop.example:8443"),
            ("http://u:p@w@shop.example/", "http://shop.example/"),
            ("http://u:p@shop.example?a=b@c", "http://shop.example?a=b@c"),
            ("//u:p@shop.example", "//shop.example"),
            ("http://:p@[::1]:99999/", "http://[::1]:99999/"),
            ("no url at all", "no url at all"),
            ("", ""),
        ] {
            assert_eq!(without_user(given), shown, "{given}");
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
}
