//! A walk through the shop.

use serde_json::json;

use super::{exchange, get, log_in, post, target};

#[test]
fn the_shop_carries_a_token_a_cart_and_an_order_along() {
    let target = target();
    let products = get(&target, "/products?count=2").json();
    let price = products["products"][0]["price_cents"].as_u64().unwrap();
    let token = log_in(&target, "anna");

    let cart = post(
        &target,
        "/cart",
        &token,
        r#"{"product":"p-1","quantity":3}"#,
    );
    assert_eq!(cart.status, 201);
    let number = cart.json()["cart"].as_str().unwrap().to_owned();
    assert_eq!(
        cart.json(),
        json!({"cart": number, "items": 3, "total_cents": 3 * price})
    );

    let order = post(
        &target,
        "/checkout",
        &token,
        &format!(r#"{{"cart":"{number}"}}"#),
    );
    assert_eq!(order.status, 201);
    let number = order.json()["order"].as_str().unwrap().to_owned();
    let paid = json!({"order": number, "total_cents": 3 * price, "status": "paid"});
    assert_eq!(order.json(), paid);

    let ask = |token: &str| {
        let fields = format!("host: t\r\nconnection: close\r\nauthorization: Bearer {token}");
        exchange(
            &target,
            &format!("GET /orders/{number} HTTP/1.1\r\n{fields}\r\n\r\n"),
        )
    };
    let mut order = paid;
    order["lines"] = json!([{"product": "p-1", "quantity": 3, "price_cents": price}]);
    assert_eq!(ask(&token).json(), order);
    assert_eq!(ask("t-0").status, 401);
}

#[test]
fn the_shop_refuses_what_is_not_in_order() {
    let target = target();
    let token = &*log_in(&target, "anna");
    let long = format!(r#"{{"user":"{}","password":"secret"}}"#, "u".repeat(65));
    let rows = [
        (
            "no token",
            "/cart",
            "",
            r#"{"product":"p-1","quantity":1}"#,
            401,
        ),
        (
            "a field missing",
            "/cart",
            token,
            r#"{"product":"p-1"}"#,
            400,
        ),
        ("no JSON", "/cart", token, "product=p-1", 400),
        (
            "nothing of it",
            "/cart",
            token,
            r#"{"product":"p-1","quantity":0}"#,
            400,
        ),
        (
            "no such product",
            "/cart",
            token,
            r#"{"product":"x","quantity":1}"#,
            404,
        ),
        (
            "no such cart",
            "/checkout",
            token,
            r#"{"cart":"c-99"}"#,
            404,
        ),
        (
            "a wrong password",
            "/login",
            "",
            r#"{"user":"u","password":"guess"}"#,
            401,
        ),
        ("a name too long", "/login", "", &long, 400),
    ];
    for (sentence, path, token, body, status) in rows {
        let response = post(&target, path, token, body);
        assert_eq!(response.status, status, "{sentence}");
        assert!(response.json()["hint"].is_string(), "{sentence}");
    }
}
