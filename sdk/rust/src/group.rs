//! Stretches of a scenario that are reported together.

use crate::host;
use crate::names::Names;

thread_local! {
    static GROUPS: Names = const { Names::new() };
}

/// Runs a stretch of the scenario as a group: its time is `group_duration`, and everything measured in it carries the tag
/// `group`. Groups nest, and hand on what their closure returns.
///
/// ```
/// # use nettare::{Request, Result, group};
/// # fn pay(base: &str) -> Result {
/// let cart = group("checkout", || -> Result<String> {
///     let response = Request::post(format!("{base}/cart")).send()?;
///     response.text()
/// })?;
/// # let _ = cart;
/// # Ok(())
/// # }
/// ```
pub fn group<T>(name: &str, stretch: impl FnOnce() -> T) -> T {
    let number = GROUPS.with(|groups| groups.number(name, host::vu::group_register));
    host::vu::group_begin(number);
    let value = stretch();
    host::vu::group_end();
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::testing::Host;

    #[test]
    fn groups_nest_and_end_when_their_closure_fails() {
        let (result, log) = Host::new().run(|| {
            let result = group("shop", || {
                group("cart", || check("inside", || true));
                Err::<(), _>("sold out")
            });
            check("outside", || true);
            result
        });
        assert_eq!(result, Err("sold out"));
        let seen: Vec<_> = log
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.group.as_str()))
            .collect();
        assert_eq!(seen, [("inside", "shop::cart"), ("outside", "")]);
    }
}
