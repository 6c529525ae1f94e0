//! What the scenario makes of a shop that is whole, and of two that are not.

use nettare::testing::{Host, Reply, Seen, Sent};
use nettare::{Error, Result};
use serde_json::json;

use super::*;

fn catalog(count: usize) -> Reply {
    let product = |number: usize| json!({ "id": format!("p-{number}"), "name": "Cup", "price_cents": 250, "stock": number % 2, "tags": ["kitchen"], "description": "Holds tea." });
    Reply::json(&json!({ "products": (1..=count).map(product).collect::<Vec<_>>() }))
}

/// A shop in as many lines as a test has patience for.
fn shop(sent: &Sent) -> Reply {
    let order = |total: u64| json!({ "order": "o-1", "total_cents": total, "status": "paid" });
    match (sent.method.as_str(), sent.path()) {
        ("GET", "/products") => catalog(PRODUCTS),
        ("POST", "/login") => Reply::json(&json!({ "token": "t-1" })),
        (_, _) if sent.header("authorization") != Some("Bearer t-1") => Reply::status(401),
        ("POST", "/cart") => {
            let item: serde_json::Value = sent.json().unwrap();
            Reply::json(&json!({ "cart": "c-1", "items": 1, "total_cents": 250 * item["quantity"].as_u64().unwrap() })).with_status(201)
        }
        ("POST", "/checkout") => Reply::json(&order(500)).with_status(201),
        ("GET", "/orders/o-1") => Reply::json(&order(500)),
        _ => Reply::status(404),
    }
}

fn run(answer: impl FnMut(&Sent) -> Reply + 'static) -> (Result<(), Error>, Seen) {
    let host = Host::new()
        .env("TARGET", "http://shop")
        .vu(3, 0)
        .answer(answer);
    host.run(|| checkout(&mut Customer::arrive()?))
}

fn failed(seen: &Seen) -> Vec<(&str, Option<&str>)> {
    seen.checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| (check.name.as_str(), check.why.as_deref()))
        .collect()
}

#[test]
fn a_customer_goes_from_the_catalogue_to_a_paid_order() {
    let (result, seen) = run(shop);
    result.unwrap();
    let routes: Vec<_> = seen
        .requests
        .iter()
        .map(|sent| (sent.group.as_str(), sent.name.as_deref().unwrap()))
        .collect();
    assert_eq!(
        routes,
        [
            ("browse", "/products"),
            ("log in", "/login"),
            ("buy", "/cart"),
            ("buy", "/checkout"),
            ("buy", "/orders/{id}")
        ]
    );
    let login: serde_json::Value = seen.requests[1].json().unwrap();
    assert_eq!(login, json!({ "user": "customer-3", "password": "secret" }));
    assert_eq!(
        seen.values
            .iter()
            .map(|value| value.metric.as_str())
            .collect::<Vec<_>>(),
        ["orders", "order_value_cents"]
    );
}

#[test]
fn a_short_catalogue_fails_its_check_and_the_customer_buys_all_the_same() {
    let (result, seen) = run(|sent| {
        if sent.path() == "/products" {
            catalog(7)
        } else {
            shop(sent)
        }
    });
    result.unwrap();
    assert!(failed(&seen).contains(&("catalog is whole", Some("7 products, not 2000"))));
}

#[test]
fn a_customer_who_is_not_let_in_buys_nothing() {
    let (result, seen) = run(|sent| {
        if sent.path() == "/login" {
            Reply::status(500)
        } else {
            shop(sent)
        }
    });
    assert_eq!(
        result.unwrap_err().to_string(),
        "protocol: http://shop/login answered 500"
    );
    assert!(seen.requests.iter().all(|sent| sent.path() != "/cart"));
}
