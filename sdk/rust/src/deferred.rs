//! Deferred checks: a response is handed on, and judged off the way of requests.

use std::any::{TypeId, type_name};
use std::cell::RefCell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::check::{Finding, IntoFinding};
#[cfg(target_arch = "wasm32")]
use crate::error::Error;
use crate::error::{Context, Result};
use crate::http::Response;

/// A function that can judge a response later, in another instance: it takes the response, and what it is to know besides if there is
/// anything. `Takes` only tells the two apart.
#[diagnostic::on_unimplemented(
    message = "a deferred check is a function that takes `&Response`, or `&Response` and a value that can be sent as JSON",
    note = "it returns what a check's closure returns: `bool`, `()`, an `Option`, or a `Result` of one of these"
)]
pub trait Judge<Takes>: 'static {
    /// Judges; the context is JSON, or empty.
    ///
    /// # Errors
    ///
    /// When the context is not what it takes.
    fn judge(&self, response: &Response, context: &[u8]) -> Result<Finding>;
}

impl<R: IntoFinding, F: Fn(&Response) -> R + 'static> Judge<fn() -> R> for F {
    fn judge(&self, response: &Response, _context: &[u8]) -> Result<Finding> {
        Ok(self(response).into_finding())
    }
}

impl<C, R, F> Judge<fn(C) -> R> for F
where
    C: DeserializeOwned,
    R: IntoFinding,
    F: Fn(&Response, C) -> R + 'static,
{
    fn judge(&self, response: &Response, context: &[u8]) -> Result<Finding> {
        let context =
            serde_json::from_slice(context).context("reading a deferred check's context")?;
        Ok(self(response, context).into_finding())
    }
}

/// A deferred check without its type.
pub(crate) type AnyJudge = Box<dyn Fn(&Response, &[u8]) -> Result<Finding>>;

thread_local! {
    /// Types of the functions that the guest's `main!` names, in the order of their numbers.
    static NAMED: RefCell<Vec<TypeId>> = const { RefCell::new(Vec::new()) };
}

/// Makes the functions known by which [`Response::verify`] finds their numbers.
pub(crate) fn name_all(types: Vec<TypeId>) {
    NAMED.set(types);
}

/// A check's name, from its function's: `catalog_valid` is `catalog valid`.
pub(crate) fn name_of<F>() -> String {
    let path = type_name::<F>();
    let name = path.rsplit("::").next().unwrap_or(path);
    name.replace('_', " ")
}

impl Response {
    /// Hands this response to a deferred check, and goes on at once: the check is evaluated off the way of requests, in an instance of
    /// its own, and counted and metered under its name, which is the function's with spaces (`catalog_valid` is `catalog valid`).
    /// Nothing is copied; this handle can be used as before.
    ///
    /// The function is named in [`main!`](crate::main), under `deferred`. It knows nothing of this virtual user but the response: what
    /// else it needs, [`verify_with`](Response::verify_with) hands on.
    ///
    /// ```
    /// # use nettare::{Request, Response, Result, ensure, env};
    /// nettare::main! {
    ///     deferred: [catalog_valid],
    ///     scenarios: [browse],
    /// }
    ///
    /// fn catalog_valid(response: &Response) -> Result {
    ///     ensure!(response.contains("price")?, "there is no price in it");
    ///     Ok(())
    /// }
    ///
    /// fn browse() -> Result {
    ///     let response = Request::get(env("TARGET")? + "/products").send()?;
    ///     response.verify(catalog_valid)
    /// }
    /// # fn main() {}
    /// ```
    ///
    /// When many wait already, it waits until there is room, or the check is skipped and counted, as the plan's `deferred-queue` says.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) when `main!` does not name the function.
    pub fn verify<R: IntoFinding, F: Fn(&Response) -> R + 'static>(&self, judge: F) -> Result {
        self.defer(judge, Vec::new)
    }

    /// As [`verify`](Response::verify), with something that the check is to know besides the response: it is sent as JSON, and is the
    /// function's second argument.
    ///
    /// # Errors
    ///
    /// As [`verify`](Response::verify), and when the value cannot be JSON.
    pub fn verify_with<C, R, F>(&self, judge: F, context: &C) -> Result
    where
        C: Serialize + DeserializeOwned,
        R: IntoFinding,
        F: Fn(&Response, C) -> R + 'static,
    {
        let context = serde_json::to_vec(context).context("writing a deferred check's context")?;
        self.defer(judge, || context)
    }

    #[cfg(target_arch = "wasm32")]
    fn defer<Takes, F: Judge<Takes>>(
        &self,
        _judge: F,
        context: impl FnOnce() -> Vec<u8>,
    ) -> Result {
        let named =
            NAMED.with_borrow(|all| all.iter().position(|known| *known == TypeId::of::<F>()));
        let number = named.context(not_named::<F>())?;
        let number = u32::try_from(number).map_err(Error::new)?;
        crate::host::check::defer(number, self.share(), &context()).map_err(Error::from_host)
    }

    /// Without WebAssembly there is nobody to hand it to: it is judged here, under its name.
    #[cfg(not(target_arch = "wasm32"))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a function, by which its check is found"
    )]
    fn defer<Takes, F: Judge<Takes>>(&self, judge: F, context: impl FnOnce() -> Vec<u8>) -> Result {
        let named = NAMED.with_borrow(|all| all.is_empty() || all.contains(&TypeId::of::<F>()));
        crate::ensure!(named, "{}", not_named::<F>());
        let context = context();
        crate::check(&name_of::<F>(), || judge.judge(self, &context));
        Ok(())
    }
}

fn not_named<F>() -> String {
    format!(
        "the deferred check `{}` is not named under `deferred` in nettare::main!",
        name_of::<F>()
    )
}

/// What a judge's finding is to the host: an error fails the check, and says why.
pub(crate) fn answer(finding: Finding) -> Result<(), String> {
    match finding {
        Finding::Passed => Ok(()),
        Finding::Failed => Err("it does not hold".to_owned()),
        Finding::FailedBecause(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;
    use crate::testing::{Host, Reply};

    fn body_is_short(response: &Response) -> bool {
        response.length() < 10
    }

    fn body_is_as_long_as(response: &Response, expected: u64) -> Result {
        crate::ensure!(response.length() == expected, "{} bytes", response.length());
        Ok(())
    }

    #[test]
    fn a_check_is_named_after_its_function() {
        fn name<F>(_: F) -> String {
            name_of::<F>()
        }
        assert_eq!(name(body_is_short), "body is short");
    }

    #[test]
    fn outside_of_webassembly_a_deferred_check_is_judged_at_once() {
        let host = Host::new().answer(|_| Reply::status(200).body("0123456789"));
        let (result, seen) = host.run(|| {
            let response = Request::get("http://t/").send()?;
            response.verify(body_is_short)?;
            response.verify_with(body_is_as_long_as, &10)?;
            response.verify_with(body_is_as_long_as, &11)
        });
        result.unwrap();
        let seen: Vec<_> = seen
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.passed, check.why.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("body is short", false, None),
                ("body is as long as", true, None),
                ("body is as long as", false, Some("10 bytes")),
            ]
        );
    }

    #[test]
    fn a_function_that_main_does_not_name_is_an_error_that_says_so() {
        fn another(_: &Response) {}
        name_all(vec![TypeId::of::<u8>()]);
        let host = Host::new().answer(|_| Reply::status(200));
        let (result, _) = host.run(|| Request::get("http://t/").send()?.verify(another));
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("`another` is not named")
        );
    }
}
