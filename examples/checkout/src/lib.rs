//! A customer looks through a large catalogue, logs in, fills a cart and pays.
//!
//! Each step needs something of the step before: a product's id from the catalogue, the token from the login, the cart's
//! id, the order's id. The catalogue is 800 KB of JSON, and reading it to assert on it is the dearest thing that this
//! scenario does; it is done inside of checks, so the report tells what it costs.

mod shop;

use nettare::{Context, Counter, Result, Trend, check, check_ok, ensure, env, group, random, vu};
use shop::{Cart, Catalog, Order, Product, Session, Shop};

nettare::main! {
    options: include_str!("../options.toml"),
    checks: [
        "catalog is JSON",
        "catalog is whole",
        "login gives a token",
        "cart is made",
        "cart has the right total",
        "order is paid",
        "order can be read again",
    ],
    init: Customer::arrive,
    scenarios: [checkout],
}

/// How many products the catalogue is asked for.
const PRODUCTS: usize = 2000;

const ORDERS: Counter = Counter::new("orders");
const ORDER_VALUE: Trend = Trend::new("order_value_cents");

/// One virtual user's own.
struct Customer {
    shop: Shop,
    name: String,
}

impl Customer {
    fn arrive() -> Result<Customer> {
        Ok(Customer {
            shop: Shop::at(env("TARGET")?),
            name: format!("customer-{}", vu::id()),
        })
    }
}

fn checkout(customer: &mut Customer) -> Result {
    let wanted = group("browse", || browse(&customer.shop))?;
    let session = group("log in", || log_in(customer))?;
    let order = group("buy", || buy(&session, &wanted))?;
    ORDERS.add(1.0);
    ORDER_VALUE.add(order.total_cents as f64);
    Ok(())
}

/// Loads the whole catalogue, and takes a fancy to something that is in stock.
fn browse(shop: &Shop) -> Result<Product> {
    let response = shop.catalog(PRODUCTS)?;
    let mut catalog: Catalog = check_ok("catalog is JSON", || response.json())?;
    check("catalog is whole", || whole(&catalog));
    catalog.products.retain(|product| product.stock > 0);
    random::choose(&catalog.products)
        .cloned()
        .context("everything is sold out")
}

fn whole(catalog: &Catalog) -> Result {
    ensure!(
        catalog.products.len() == PRODUCTS,
        "{} products, not {PRODUCTS}",
        catalog.products.len()
    );
    for product in &catalog.products {
        ensure!(product.price_cents > 0, "{} is for free", product.id);
        ensure!(
            !product.name.is_empty() && !product.description.is_empty(),
            "{} is not described",
            product.id
        );
        ensure!(
            !product.tags.is_empty(),
            "{} cannot be found by a tag",
            product.id
        );
    }
    Ok(())
}

fn log_in(customer: &Customer) -> Result<Session> {
    let response = customer.shop.log_in(&customer.name)?;
    check_ok("login gives a token", || {
        Session::of(&customer.shop, &response)
    })
}

fn buy(session: &Session, wanted: &Product) -> Result<Order> {
    let quantity = random::range(1..4);
    let response = session.add_to_cart(&wanted.id, quantity)?;
    let cart: Cart = check_ok("cart is made", || response.json())?;
    check("cart has the right total", || -> Result {
        let expected = wanted.price_cents * quantity;
        ensure!(
            cart.total_cents == expected,
            "{} cents, not {expected}",
            cart.total_cents
        );
        Ok(())
    });
    let order: Order = session.pay(&cart)?.json()?;
    check("order is paid", || {
        order.status == "paid" && order.total_cents == cart.total_cents
    });
    let again = session.order(&order.order)?;
    check("order can be read again", || {
        again.json::<Order>().map(|again| again == order)
    });
    Ok(order)
}

#[cfg(test)]
mod tests;
