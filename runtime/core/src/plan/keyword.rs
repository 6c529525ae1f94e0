//! Values that are one of a few words. Each is defined once, as a row of variant and word; reading, printing, the list in the
//! error message and the words that have a meaning but are not built follow from it.

use crate::spelling;

/// A word that is none of those that may stand there. One sentence that lists them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}; take {}", spelling::either(.known))]
pub struct KeywordError {
    text: String,
    problem: String,
    known: &'static [&'static str],
}

impl KeywordError {
    /// For `text` that is none of the `known` words for a `what`. A word of `later` that ends in a colon stands for all that
    /// begin so.
    pub(super) fn new(
        text: &str,
        what: &str,
        known: &'static [&'static str],
        later: &[&str],
    ) -> KeywordError {
        let comes_later = |word: &&str| {
            if word.ends_with(':') {
                text.starts_with(*word)
            } else {
                text == *word
            }
        };
        let problem = if later.iter().any(comes_later) {
            "comes with a later version".to_owned()
        } else {
            match spelling::nearest(text, known) {
                Some(meant) => format!("is not {what}, did you mean `{meant}`"),
                None => format!("is not {what}"),
            }
        };
        KeywordError {
            text: text.to_owned(),
            problem,
            known,
        }
    }
}

/// Defines an enum of words.
macro_rules! keywords {
    (
        $(#[$about:meta])*
        $name:ident, $what:literal {
            $( $(#[$doc:meta])* $variant:ident = $word:literal, )+
        } later [ $($later:literal),* ]
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[$doc])* $variant, )+
        }

        impl $name {
            /// Every one, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )+];

            /// The words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$( $word, )+];

            /// The word as it stands in plans and flags.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( $name::$variant => $word, )+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::plan::KeywordError;

            fn from_str(text: &str) -> Result<$name, Self::Err> {
                match text {
                    $( $word => Ok($name::$variant), )+
                    _ => Err($crate::plan::KeywordError::new(text, $what, $name::WORDS, &[$($later),*])),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use keywords;
