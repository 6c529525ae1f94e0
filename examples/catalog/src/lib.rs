//! One large response, and one dear check on it: made by the virtual user itself, or deferred.
//!
//! Both scenarios load the same and check the same. The difference is who does it: in `inline` the virtual user reads 800 KB of JSON
//! before it goes on, and all others wait for the CPU meanwhile; in `deferred` it hands the response on.

use std::collections::HashSet;

use nettare::{Request, Response, Result, check, ensure, env};
use serde::Deserialize;

nettare::main! {
    checks: ["catalog valid"],
    deferred: [catalog_valid],
    scenarios: [inline, deferred],
}

/// How many products the catalogue is asked for.
const PRODUCTS: usize = 2000;

#[derive(Deserialize)]
struct Catalog {
    products: Vec<Product>,
}

#[derive(Deserialize)]
struct Product {
    id: String,
    name: String,
    price_cents: u64,
    tags: Vec<String>,
    description: String,
}

fn inline() -> Result {
    let response = load()?;
    check("catalog valid", || catalog_valid(&response));
    Ok(())
}

fn deferred() -> Result {
    load()?.verify(catalog_valid)
}

fn load() -> Result<Response> {
    Request::get(env("TARGET")? + "/products?count=2000")
        .name("/products")
        .send()
}

/// As thorough as assertions get that were written without a thought of what they cost: the whole body is read, and every product
/// looked at.
fn catalog_valid(response: &Response) -> Result {
    let catalog: Catalog = response.json()?;
    ensure!(
        catalog.products.len() == PRODUCTS,
        "{} products, not {PRODUCTS}",
        catalog.products.len()
    );
    let mut ids = HashSet::new();
    for product in &catalog.products {
        ensure!(ids.insert(&product.id), "{} is there twice", product.id);
        ensure!(product.price_cents > 0, "{} is for free", product.id);
        ensure!(!product.tags.is_empty(), "{} has no tag", product.id);
        let described = product.description.to_lowercase();
        let words = product.name.split_whitespace().map(str::to_lowercase);
        let words = words.filter(|word| word.parse::<u64>().is_err());
        let missing = words.into_iter().find(|word| !described.contains(word));
        ensure!(
            missing.is_none(),
            "{} is not described: {missing:?} is missing",
            product.id
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nettare::testing::{Host, Reply, Seen};
    use serde_json::{Value, json};

    use super::*;

    fn catalog(change: impl FnOnce(&mut Vec<Value>)) -> String {
        let product = |n: usize| {
            json!({
                "id": format!("p-{n}"), "name": "oaken drum", "price_cents": 100, "tags": ["new"],
                "description": "An Oaken drum by hand",
            })
        };
        let mut products: Vec<_> = (0..PRODUCTS).map(product).collect();
        change(&mut products);
        json!({ "products": products }).to_string()
    }

    fn checked(scenario: fn() -> Result, body: String) -> Seen {
        let host = Host::new()
            .env("TARGET", "http://shop")
            .answer(move |_| Reply::status(200).body(body.clone()));
        let (result, seen) = host.run(scenario);
        result.unwrap();
        seen
    }

    #[test]
    fn both_scenarios_check_the_same_under_the_same_name() {
        for scenario in [inline, deferred] {
            let seen = checked(scenario, catalog(|_| {}));
            assert_eq!(seen.requests[0].url, "http://shop/products?count=2000");
            let [check] = seen.checks.as_slice() else {
                panic!("{:?}", seen.checks)
            };
            assert_eq!((check.name.as_str(), check.passed), ("catalog valid", true));
        }
    }

    #[test]
    fn whatever_is_wrong_with_a_product_is_found() {
        let rows: [(fn(&mut Vec<Value>), &str); 5] = [
            (|all| drop(all.pop()), "1999 products"),
            (|all| all[7]["id"] = json!("p-6"), "p-6 is there twice"),
            (|all| all[7]["price_cents"] = json!(0), "p-7 is for free"),
            (|all| all[7]["tags"] = json!([]), "p-7 has no tag"),
            (|all| all[7]["name"] = json!("jar"), "p-7 is not described"),
        ];
        for (spoil, why) in rows {
            let seen = checked(deferred, catalog(spoil));
            let said = seen.checks[0].why.as_deref().unwrap_or_default();
            assert!(said.contains(why), "{said}, not {why}");
        }
    }
}
