//! The shop's API: one function a route, one type a document.

use nettare::{Context, Request, Response, Result};
use serde::{Deserialize, Serialize};

/// The shop, as anybody sees it.
#[derive(Clone)]
pub struct Shop {
    base: String,
}

/// The shop, as a customer sees it who has logged in.
pub struct Session {
    shop: Shop,
    token: String,
}

#[derive(Deserialize)]
pub struct Catalog {
    pub products: Vec<Product>,
}

#[derive(Clone, Deserialize)]
pub struct Product {
    pub id: String,
    pub name: String,
    pub price_cents: u64,
    pub stock: u64,
    pub tags: Vec<String>,
    pub description: String,
}

#[derive(Deserialize)]
pub struct Cart {
    pub cart: String,
    pub total_cents: u64,
}

#[derive(Deserialize, PartialEq)]
pub struct Order {
    pub order: String,
    pub total_cents: u64,
    pub status: String,
}

impl Shop {
    pub fn at(base: String) -> Shop {
        Shop { base }
    }

    pub fn catalog(&self, count: usize) -> Result<Response> {
        Request::get(format!("{}/products?count={count}", self.base))
            .name("/products")
            .send()?
            .error_for_status()
    }

    pub fn log_in(&self, user: &str) -> Result<Response> {
        #[derive(Serialize)]
        struct Credentials<'a> {
            user: &'a str,
            password: &'a str,
        }
        let credentials = Credentials {
            user,
            password: "secret",
        };
        Request::post(format!("{}/login", self.base))
            .name("/login")
            .json(&credentials)
            .send()?
            .error_for_status()
    }
}

impl Session {
    /// The session that a login opened.
    pub fn of(shop: &Shop, login: &Response) -> Result<Session> {
        #[derive(Deserialize)]
        struct Login {
            token: String,
        }
        let Login { token } = login.json().context("reading the login")?;
        Ok(Session {
            shop: shop.clone(),
            token,
        })
    }

    pub fn add_to_cart(&self, product: &str, quantity: u64) -> Result<Response> {
        #[derive(Serialize)]
        struct Item<'a> {
            product: &'a str,
            quantity: u64,
        }
        self.post("/cart")
            .json(&Item { product, quantity })
            .send()?
            .error_for_status()
    }

    pub fn pay(&self, cart: &Cart) -> Result<Response> {
        #[derive(Serialize)]
        struct Payment<'a> {
            cart: &'a str,
        }
        self.post("/checkout")
            .json(&Payment { cart: &cart.cart })
            .send()?
            .error_for_status()
    }

    pub fn order(&self, id: &str) -> Result<Response> {
        // Without the template, each order would be a route of its own in the report.
        let url = format!("{}/orders/{id}", self.shop.base);
        Request::get(url)
            .name("/orders/{id}")
            .bearer(&self.token)
            .send()?
            .error_for_status()
    }

    fn post(&self, path: &str) -> Request {
        Request::post(format!("{}{path}", self.shop.base))
            .name(path)
            .bearer(&self.token)
    }
}
