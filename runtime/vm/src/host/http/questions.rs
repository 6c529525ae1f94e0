//! Questions of a guest about a response's body, answered here: the body does not enter the guest.
//!
//! What an answer costs is charged to the innermost check, like the guest's own work. Patterns and paths are compiled once in a run,
//! whoever compiles them first.

use std::sync::Arc;

use bytes::Bytes;
use regex::bytes::Regex;
use serde_json_path::JsonPath as Path;
use wasmtime::Result;
use wasmtime::component::{LinkerInstance, Resource, WasmList, WasmStr};

use crate::host::Context;
use crate::host::http::answers::response;
use crate::host::http::response::Response;
use crate::host::http::{Answer, push};
use crate::host::values::{WitError, WitErrorKind};
use crate::scopes::Looker;
use crate::state::State;

/// `http.pattern`.
pub(super) struct Pattern(Arc<Regex>);

/// `http.json-path`.
pub(super) struct JsonPath(Arc<Path>);

pub(super) fn link(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap("[static]pattern.compile", compile_pattern)?;
    http.func_wrap("[static]json-path.compile", compile_path)?;
    http.func_wrap("[method]response.contains", contains)?;
    http.func_wrap("[method]response.matches", matches)?;
    http.func_wrap("[method]response.capture", capture)?;
    http.func_wrap("[method]response.json", json)
}

fn compile_pattern(
    mut store: Context<'_>,
    (expression,): (WasmStr,),
) -> Result<(Answer<Resource<Pattern>>,)> {
    let compiled = {
        let expression = expression.to_str(&store)?;
        store.data().run.registry.questions().pattern(&expression)
    };
    match compiled {
        Ok(regex) => Ok((Ok(push(store.data_mut(), Pattern(regex))?),)),
        Err(why) => Ok((Err(WitError::invalid(&*why)),)),
    }
}

fn compile_path(
    mut store: Context<'_>,
    (expression,): (WasmStr,),
) -> Result<(Answer<Resource<JsonPath>>,)> {
    let compiled = {
        let expression = expression.to_str(&store)?;
        store.data().run.registry.questions().path(&expression)
    };
    match compiled {
        Ok(path) => Ok((Ok(push(store.data_mut(), JsonPath(path))?),)),
        Err(why) => Ok((Err(WitError::invalid(&*why)),)),
    }
}

fn contains(
    mut store: Context<'_>,
    (this, needle): (Resource<Response>, WasmList<u8>),
) -> Result<(Answer<bool>,)> {
    let answer = response(&store, &this)?.contains(needle.as_le_slice(&store));
    looked_at(&mut store, &this)?;
    Ok((answer,))
}

fn matches(
    mut store: Context<'_>,
    (this, pattern): (Resource<Response>, Resource<Pattern>),
) -> Result<(Answer<bool>,)> {
    let Pattern(regex) = store.data().table.get(&pattern)?;
    let answer = response(&store, &this)?
        .body()
        .map(|body| regex.is_match(body));
    looked_at(&mut store, &this)?;
    Ok((answer,))
}

fn capture(
    mut store: Context<'_>,
    (this, pattern): (Resource<Response>, Resource<Pattern>),
) -> Result<(Answer<Option<String>>,)> {
    let Pattern(regex) = store.data().table.get(&pattern)?;
    let answer = response(&store, &this)?
        .body()
        .and_then(|body| first_capture(regex, body));
    looked_at(&mut store, &this)?;
    Ok((answer,))
}

fn json(
    mut store: Context<'_>,
    (this, path): (Resource<Response>, Resource<JsonPath>),
) -> Result<(Answer<Vec<String>>,)> {
    let JsonPath(path) = store.data().table.get(&path)?;
    let answer = response(&store, &this)?.json().map(|value| {
        let nodes = path.query(value).into_iter();
        nodes.map(ToString::to_string).collect()
    });
    looked_at(&mut store, &this)?;
    Ok((answer,))
}

/// The first group of the first match, the whole match when there is no group. A group that took no part in the match is none.
fn first_capture(regex: &Regex, body: &[u8]) -> Answer<Option<String>> {
    let Some(captures) = regex.captures(body) else {
        return Ok(None);
    };
    let group = usize::from(regex.captures_len() > 1);
    let Some(found) = captures.get(group) else {
        return Ok(None);
    };
    match str::from_utf8(found.as_bytes()) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(error) => Err(WitError::new(
            WitErrorKind::Decode,
            format!("what the pattern captured is not UTF-8: {error}"),
        )),
    }
}

fn looked_at(store: &mut Context<'_>, this: &Resource<Response>) -> Result<()> {
    let bytes = response(store, this)?.body().map_or(0, Bytes::len);
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    store.data_mut().meter.looked_at(bytes, Looker::Host);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_group_is_captured_and_without_one_the_match() {
        let rows: [(&str, &[u8], Option<&str>); 6] = [
            ("id=([0-9]+)", b"id=1 id=2", Some("1")),
            ("id=[0-9]+", b"id=1 id=2", Some("id=1")),
            ("(a)|b", b"b", None),
            ("x", b"abc", None),
            ("()", b"abc", Some("")),
            ("\\w+", "\u{e4}b".as_bytes(), Some("\u{e4}b")),
        ];
        for (expression, body, expected) in rows {
            let found = first_capture(&Regex::new(expression).unwrap(), body);
            assert_eq!(found, Ok(expected.map(str::to_owned)), "{expression}");
        }
        let binary = first_capture(&Regex::new("(?-u:a.)").unwrap(), b"a\xff");
        assert!(format!("{:?}", binary.unwrap_err()).contains("Decode"));
    }
}
