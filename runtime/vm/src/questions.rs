//! Patterns and JSON paths, compiled once in a run and shared by all instances: ten thousand virtual users that each compile the same
//! expression would pay for it ten thousand times, in time and in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::bytes::{Regex, RegexBuilder};
use serde_json_path::JsonPath;

/// Expressions of one kind that are kept. Past them each is compiled anew: a guest that makes expressions from data should not fill
/// the memory of the machine.
const MAX_KEPT: usize = 1000;

/// Bytes that one compiled expression may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A compiled expression, or what is wrong with it.
type Compiled<T> = Result<Arc<T>, Arc<str>>;

/// All that was compiled in a run.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    patterns: Mutex<HashMap<String, Compiled<Regex>>>,
    paths: Mutex<HashMap<String, Compiled<JsonPath>>>,
}

impl Questions {
    /// A regular expression in the syntax of the crate `regex`: no look-around, no back-references, time linear in the body.
    pub(crate) fn pattern(&self, expression: &str) -> Compiled<Regex> {
        kept(&self.patterns, expression, || {
            let built = RegexBuilder::new(expression)
                .size_limit(MAX_COMPILED_BYTES)
                .build();
            built.map_err(|error| format!("`{expression}` is no regular expression: {error}"))
        })
    }

    /// A JSON path (RFC 9535).
    pub(crate) fn path(&self, expression: &str) -> Compiled<JsonPath> {
        kept(&self.paths, expression, || {
            let parsed = JsonPath::parse(expression);
            parsed.map_err(|error| format!("`{expression}` is no JSON path: {error}"))
        })
    }
}

fn kept<T>(
    all: &Mutex<HashMap<String, Compiled<T>>>,
    expression: &str,
    compile: impl FnOnce() -> Result<T, String>,
) -> Compiled<T> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(expression) {
        return known.clone();
    }
    // Under the lock: whoever else wants it should wait for it rather than compile it too.
    let compiled = compile().map(Arc::new).map_err(Arc::from);
    if all.len() < MAX_KEPT {
        all.insert(expression.to_owned(), compiled.clone());
    }
    compiled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_compiled_once() {
        let questions = Questions::default();
        let (one, two) = (questions.pattern("a+"), questions.pattern("a+"));
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
        let (one, two) = (questions.path("$.a"), questions.path("$.a"));
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let questions = Questions::default();
        let rows = [
            (questions.pattern("(").err(), "regular expression"),
            (questions.pattern("a{1000}{1000}").err(), "size limit"),
            (questions.pattern("(?=a)").err(), "look-around"),
            (questions.path("a.b").err(), "JSON path"),
        ];
        for (error, part) in rows {
            let error = error.expect(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn no_more_are_kept_than_may_be() {
        let questions = Questions::default();
        for n in 0..MAX_KEPT + 10 {
            assert!(questions.path(&format!("$.a{n}")).is_ok());
        }
        assert_eq!(questions.paths.lock().unwrap().len(), MAX_KEPT);
    }
}
