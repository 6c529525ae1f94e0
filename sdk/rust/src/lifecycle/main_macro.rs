//! The macro [`main!`](crate::main), the only one a scenario needs.

/// Makes the program a guest: names its scenarios, and what else there is.
///
/// ```
/// # use nettare::Result;
/// nettare::main!(browse, checkout);
///
/// fn browse() -> Result {
///     // ...
///     Ok(())
/// }
///
/// fn checkout() -> Result {
///     // ...
///     Ok(())
/// }
/// # fn main() {}
/// ```
///
/// Scenarios are known by the names of their functions; the first is what `nettare run` takes unless it is told which. The
/// long form has, in this order, of which only `scenarios` must be there:
///
/// ```
/// # use nettare::Result;
/// # use serde::{Deserialize, Serialize};
/// nettare::main! {
///     options: r#"
///         [scenarios.checkout]
///         executor = "constant-vus"
///         vus = 10
///         duration = "30s"
///     "#,
///     checks: ["catalog is whole"],
///     setup: prepare,
///     init: Shopper::new,
///     scenarios: [checkout],
///     teardown: clean_up,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Shop {
///     admin_token: String,
/// }
///
/// struct Shopper {
///     shop: Shop,
/// }
///
/// fn prepare() -> Result<Shop> {
///     Ok(Shop { admin_token: "...".into() })
/// }
///
/// impl Shopper {
///     fn new(shop: Shop) -> Result<Shopper> {
///         Ok(Shopper { shop })
///     }
/// }
///
/// fn checkout(shopper: &mut Shopper) -> Result {
///     // ...
/// #   let _ = &shopper.shop;
///     Ok(())
/// }
///
/// fn clean_up(shop: Shop) -> Result {
///     // ...
/// #   let _ = shop.admin_token;
///     Ok(())
/// }
/// # fn main() {}
/// ```
///
/// - `options`: the scenarios' own defaults, as a fragment of a plan in TOML. The plan file and the command line stand above.
/// - `checks`: names of checks, for `nettare inspect`, which runs nothing.
/// - `deferred`: functions that judge responses off the way of requests: see [`Response::verify`](crate::Response::verify).
/// - `setup`: runs once a run. What it returns reaches every virtual user.
/// - `init`: makes a virtual user's own state, from the set-up data if it takes it. Without `init`, the set-up data is the
///   state. It runs again if a panic made a new instance necessary, and in the instances that evaluate deferred checks, where
///   [`vu::id`](crate::vu::id) is 0 and nothing can be sent.
/// - `scenarios`: functions that take the state by `&mut`, or nothing, and return a `Result` or nothing.
/// - `teardown`: runs once, at the end, with the set-up data if it takes it.
#[macro_export]
macro_rules! main {
    ($($scenario:ident),+ $(,)?) => {
        $crate::main! { scenarios: [$($scenario),+] }
    };
    (
        $(options: $options:expr,)?
        $(checks: [$($check:expr),* $(,)?],)?
        $(deferred: [$($deferred:path),* $(,)?],)?
        $(setup: $setup:expr,)?
        $(init: $init:expr,)?
        scenarios: [$($scenario:ident),+ $(,)?]
        $(, teardown: $teardown:expr)?
        $(,)?
    ) => {
        const _: () = {
            #[allow(dead_code, reason = "only WebAssembly has exports")]
            struct Main;

            impl $crate::__private::Main for Main {
                fn hooks() -> ::std::boxed::Box<dyn $crate::__private::Hooks> {
                    let guest = $crate::__private::Guest::new()
                        $(.options($options))?
                        $(.checks(&[$($check),*]))?
                        $($(.deferred($deferred))*)?
                        $(.setup($setup))?
                        $(.init($init))?
                        $(.scenario(::core::stringify!($scenario), $scenario))+
                        $(.teardown($teardown))?;
                    ::std::boxed::Box::new($crate::__private::Entry::new(guest))
                }
            }

            $crate::__export!(Main);
        };
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "nettare::main! takes the names of scenario functions, or `key: value` pairs in this order: options, checks, \
             deferred, setup, init, scenarios, teardown; only scenarios must be there"
        );
    };
}

/// Exports the contract's functions, on behalf of a [`Main`].
#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "wasm32")]
macro_rules! __export {
    ($main:ident) => {
        type Exports = $crate::__private::Exports<$main>;
        $crate::__private::bindings::__export_lifecycle!(Exports with_types_in $crate::__private::bindings);
    };
}

/// Only WebAssembly has exports.
#[doc(hidden)]
#[macro_export]
#[cfg(not(target_arch = "wasm32"))]
macro_rules! __export {
    ($main:ident) => {};
}
