//! The demo target's shop in as few lines as the checkout scenario needs.

use http::Method;
use nettare_core::sample::ErrorKind;
use nettare_vm::HttpRequest;
use serde_json::{Value, json};

const TOKEN: &str = "Bearer t-1";

/// Answers as the demo target would, with one product a cart.
pub(super) fn answer(request: &HttpRequest) -> Result<(u16, Vec<u8>), ErrorKind> {
    let path = request.url.trim_start_matches("http://shop.example");
    let authorized = request
        .headers
        .get("authorization")
        .is_some_and(|value| value == TOKEN);
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    Ok(match (&request.method, path) {
        (&Method::GET, "/products?count=2000") => encoded(200, &catalog(2000)),
        (&Method::POST, "/login") if body["password"] == "secret" => {
            encoded(200, &json!({ "token": "t-1" }))
        }
        (&Method::POST, "/cart" | "/checkout") if !authorized => encoded(401, &json!({})),
        (&Method::POST, "/cart") => {
            let quantity = body["quantity"].as_u64().unwrap_or_default();
            encoded(
                201,
                &json!({ "cart": format!("c-{quantity}"), "items": 1, "total_cents": PRICE_CENTS * quantity }),
            )
        }
        (&Method::POST, "/checkout") => {
            let cart = body["cart"].as_str().unwrap_or_default();
            encoded(201, &order(cart.trim_start_matches("c-")))
        }
        (&Method::GET, path) if authorized && path.starts_with("/orders/o-") => {
            encoded(200, &order(path.trim_start_matches("/orders/o-")))
        }
        _ => encoded(404, &json!({})),
    })
}

const PRICE_CENTS: u64 = 250;

/// The cart's and the order's number is its quantity, so that nothing has to be remembered.
fn order(quantity: &str) -> Value {
    let total_cents = PRICE_CENTS * quantity.parse::<u64>().unwrap_or_default();
    json!({ "order": format!("o-{quantity}"), "total_cents": total_cents, "status": "paid" })
}

/// About 800 KB of JSON.
fn catalog(count: u32) -> Value {
    let description = "A thing that is well made, for long evenings by the river. ".repeat(5);
    let product = |number| {
        let description = format!("Thing {number}. {description}");
        json!({
            "id": format!("p-{number}"), "name": format!("Thing {number}"), "price_cents": PRICE_CENTS,
            "stock": 3, "tags": ["garden", "new"], "description": description,
        })
    };
    json!({ "products": (1..=count).map(product).collect::<Vec<_>>() })
}

fn encoded(status: u16, value: &Value) -> (u16, Vec<u8>) {
    (status, value.to_string().into_bytes())
}
