//! What the shop remembers: who is logged in, what lies in their carts, what they ordered. Pure: no sockets, no clock.
//!
//! A session has at most one open cart; adding to it opens one, checking out closes it and leaves an order. Orders belong to the
//! user, so a later session of the same user finds them. Tokens are spread but predictable: nothing here is worth stealing.

use crate::catalog::{mix, product};
use crate::recent::Recent;

/// Sessions, and likewise orders, that are surely remembered; twice as many at most. Past that the ones used least recently go.
pub(crate) const REMEMBERED: usize = 50_000;
/// Different products in one cart.
pub(crate) const CART_LINES: usize = 50;
/// Pieces of one product in one request.
pub(crate) const QUANTITY: u32 = 1_000;
/// Length of a user's name, in bytes.
pub(crate) const NAME_LENGTH: usize = 64;

/// The shop's memory.
#[derive(Debug)]
pub(crate) struct Shop {
    /// By token.
    sessions: Recent<Session>,
    /// By number.
    orders: Recent<Order>,
    /// The number given last, to a session, a cart or an order.
    last_number: u64,
}

#[derive(Debug)]
struct Session {
    user: Box<str>,
    cart: Option<Cart>,
}

/// A cart that has not been paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cart {
    pub(crate) number: u64,
    pub(crate) lines: Vec<Line>,
}

/// So many pieces of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) product: u32,
    pub(crate) quantity: u64,
    /// Of one piece.
    pub(crate) price_cents: u64,
}

/// A cart that was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) number: u64,
    pub(crate) user: Box<str>,
    pub(crate) lines: Vec<Line>,
}

/// Why the shop said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The token is unknown, or was forgotten.
    NoSession,
    /// There is no such product.
    NoProduct,
    /// Not the session's open cart.
    NoCart,
    /// No such order of this user.
    NoOrder,
    /// The cart holds [`CART_LINES`] products already.
    CartFull,
}

impl Shop {
    pub(crate) fn new(remembered: usize) -> Shop {
        Shop {
            sessions: Recent::new(remembered),
            orders: Recent::new(remembered),
            last_number: 0,
        }
    }

    /// Opens a session and returns its token.
    pub(crate) fn log_in(&mut self, user: &str) -> u64 {
        let token = mix(self.number());
        self.sessions.insert(
            token,
            Session {
                user: user.into(),
                cart: None,
            },
        );
        token
    }

    /// Adds pieces of a product to the session's cart, opening one if need be.
    pub(crate) fn add(&mut self, token: u64, number: u32, quantity: u32) -> Result<&Cart, Refused> {
        let next = self.number();
        let session = self.sessions.get_mut(token).ok_or(Refused::NoSession)?;
        let price_cents = product(number).ok_or(Refused::NoProduct)?.price_cents;
        let cart = session.cart.get_or_insert_with(|| Cart {
            number: next,
            lines: Vec::new(),
        });
        match cart.lines.iter().position(|line| line.product == number) {
            Some(place) => cart.lines[place].quantity += u64::from(quantity),
            None if cart.lines.len() == CART_LINES => return Err(Refused::CartFull),
            None => cart.lines.push(Line {
                product: number,
                quantity: quantity.into(),
                price_cents,
            }),
        }
        Ok(cart)
    }

    /// Pays the session's cart.
    pub(crate) fn check_out(&mut self, token: u64, cart: u64) -> Result<Order, Refused> {
        let number = self.number();
        let session = self.sessions.get_mut(token).ok_or(Refused::NoSession)?;
        let cart = session
            .cart
            .take_if(|open| open.number == cart)
            .ok_or(Refused::NoCart)?;
        let order = Order {
            number,
            user: session.user.clone(),
            lines: cart.lines,
        };
        self.orders.insert(number, order.clone());
        Ok(order)
    }

    /// One of the user's orders.
    pub(crate) fn order(&mut self, token: u64, number: u64) -> Result<&Order, Refused> {
        let session = self.sessions.get_mut(token).ok_or(Refused::NoSession)?;
        let order = self.orders.get_mut(number).ok_or(Refused::NoOrder)?;
        if order.user == session.user {
            Ok(order)
        } else {
            Err(Refused::NoOrder)
        }
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// Pieces in all.
pub(crate) fn items(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.quantity).sum()
}

/// What all of it costs.
pub(crate) fn total_cents(lines: &[Line]) -> u64 {
    lines
        .iter()
        .map(|line| line.quantity.saturating_mul(line.price_cents))
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cart_grows_is_paid_once_and_becomes_an_order_of_its_user() {
        let mut shop = Shop::new(10);
        let (anna, bert) = (shop.log_in("anna"), shop.log_in("bert"));
        shop.add(anna, 1, 2).unwrap();
        shop.add(anna, 2, 1).unwrap();
        let cart = shop.add(anna, 1, 3).unwrap().clone();
        assert_eq!(items(&cart.lines), 6);
        let price = |n| product(n).unwrap().price_cents;
        assert_eq!(total_cents(&cart.lines), 5 * price(1) + price(2));

        assert_eq!(shop.check_out(bert, cart.number), Err(Refused::NoCart));
        let order = shop.check_out(anna, cart.number).unwrap();
        assert_eq!(shop.check_out(anna, cart.number), Err(Refused::NoCart));
        assert_eq!(shop.order(bert, order.number), Err(Refused::NoOrder));
        let again = shop.log_in("anna");
        assert_eq!(shop.order(again, order.number), Ok(&order));
        assert_ne!(shop.add(anna, 1, 1).unwrap().number, cart.number);
    }

    #[test]
    fn what_does_not_exist_is_refused_by_name() {
        let mut shop = Shop::new(10);
        let token = shop.log_in("anna");
        assert_eq!(shop.add(token + 1, 1, 1), Err(Refused::NoSession));
        assert_eq!(shop.add(token, 0, 1), Err(Refused::NoProduct));
        assert_eq!(shop.check_out(token, 1), Err(Refused::NoCart));
        assert_eq!(shop.order(token, 1), Err(Refused::NoOrder));
        for number in 1..=CART_LINES as u32 {
            shop.add(token, number, 1).unwrap();
        }
        assert_eq!(shop.add(token, 1_000, 1), Err(Refused::CartFull));
        assert!(
            shop.add(token, 1, 1).is_ok(),
            "more of what lies in the cart already is no new line"
        );
    }

    #[test]
    fn a_session_unused_for_long_is_forgotten_and_one_in_use_is_not() {
        let mut shop = Shop::new(5);
        let (used, unused) = (shop.log_in("used"), shop.log_in("unused"));
        for _ in 0..20 {
            shop.log_in("other");
            assert!(shop.add(used, 1, 1).is_ok());
        }
        assert_eq!(shop.add(unused, 1, 1), Err(Refused::NoSession));
    }
}
