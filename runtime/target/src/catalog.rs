//! The shop's products: invented, but the same in every process, so that a check may know them.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::Serialize;

/// Products there are: `p-1` to `p-10000`.
pub(crate) const PRODUCTS: u32 = 10_000;
/// Encoded lists kept, one for each number of products asked for lately.
const LISTS_KEPT: usize = 16;

const QUALITIES: [&str; 16] = [
    "amber", "brisk", "copper", "dusky", "early", "folded", "gentle", "hollow", "ivory", "jade",
    "knotted", "little", "mellow", "northern", "oaken", "plain",
];
const THINGS: [&str; 16] = [
    "anvil", "basket", "candle", "drum", "easel", "flask", "goblet", "hammock", "inkwell", "jar",
    "kettle", "lantern", "mirror", "needle", "oar", "pillow",
];
const TAGS: [&str; 8] = [
    "bargain", "fragile", "garden", "handmade", "heavy", "kitchen", "new", "travel",
];
const WORDS: [&str; 16] = [
    "made", "for", "long", "evenings", "of", "oak", "and", "river", "clay", "with", "care", "in",
    "small", "numbers", "by", "hand",
];
/// Words of a description; it makes 2,000 encoded products about 800 KB.
const DESCRIPTION_WORDS: u64 = 54;

/// A product as it stands in `/products`.
#[derive(Debug, Serialize)]
pub(crate) struct Product {
    id: String,
    name: String,
    /// In hundredths of the currency.
    pub(crate) price_cents: u64,
    stock: u64,
    tags: Vec<&'static str>,
    description: String,
}

/// The n-th product, counted from 1; none past [`PRODUCTS`].
pub(crate) fn product(number: u32) -> Option<Product> {
    if !(1..=PRODUCTS).contains(&number) {
        return None;
    }
    let mut dice = Dice(u64::from(number));
    let (quality, thing) = (dice.pick(&QUALITIES), dice.pick(&THINGS));
    let mut tags: Vec<&'static str> = (0..=dice.below(3)).map(|_| dice.pick(&TAGS)).collect();
    tags.sort_unstable();
    tags.dedup();
    let mut description = format!("A {quality} {thing}");
    for _ in 0..DESCRIPTION_WORDS {
        description.push(' ');
        description.push_str(dice.pick(&WORDS));
    }
    let (price_cents, stock) = (99 + 100 * dice.below(200), dice.below(500));
    Some(Product {
        id: format!("p-{number}"),
        name: format!("{quality} {thing} {number}"),
        price_cents,
        stock,
        tags,
        description,
    })
}

/// Encoded lists of products. Encoding 2,000 takes a millisecond or two, so each length is encoded once and handed out as often
/// as it is asked for: the target is to be cheap, and the same bytes each time.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// Latest used last.
    lists: Mutex<Vec<(u32, Bytes)>>,
}

impl Catalog {
    /// `{"products":[..]}` with the first `count` products.
    pub(crate) fn list(&self, count: u32) -> Bytes {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.last().is_none_or(|&(n, _)| n != count) {
            let entry = match lists.iter().position(|&(n, _)| n == count) {
                Some(place) => lists.remove(place),
                None => (count, encode(count)),
            };
            if lists.len() == LISTS_KEPT {
                lists.remove(0);
            }
            lists.push(entry);
        }
        lists
            .last()
            .map(|(_, bytes)| bytes.clone())
            .unwrap_or_default()
    }
}

fn encode(count: u32) -> Bytes {
    #[derive(Serialize)]
    struct List {
        products: Vec<Product>,
    }
    let products = (1..=count).map_while(product).collect();
    // Strings and numbers always have a JSON form.
    Bytes::from(serde_json::to_vec(&List { products }).unwrap_or_default())
}

/// SplitMix64: a sequence from a seed, the same on every machine. Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[(self.next() % from.len() as u64) as usize]
    }
}

/// SplitMix64's finaliser: spreads a number over all 64 bits, no two to the same.
pub(crate) fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thousand_products_are_about_800_kilobytes_of_valid_json() {
        let bytes = Catalog::default().list(2_000);
        assert!((760_000..840_000).contains(&bytes.len()), "{}", bytes.len());
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let products = value["products"].as_array().unwrap();
        assert_eq!(products.len(), 2_000);
        assert_eq!(products[1_999]["id"], "p-2000");
        assert!(
            products
                .iter()
                .all(|p| p["price_cents"].as_u64().unwrap() > 0
                    && p["tags"].as_array().is_some_and(|t| !t.is_empty()))
        );
    }

    #[test]
    fn a_list_is_the_same_however_often_and_in_whatever_order_lists_are_asked_for() {
        let catalog = Catalog::default();
        let first = catalog.list(3);
        for count in 0..40 {
            catalog.list(count);
        }
        assert_eq!(catalog.list(3), first);
        assert!(catalog.lists.lock().unwrap().len() <= LISTS_KEPT);
    }

    #[test]
    fn products_beyond_the_catalogue_do_not_exist() {
        assert!(product(0).is_none());
        assert!(product(PRODUCTS).is_some());
        assert!(product(PRODUCTS + 1).is_none());
    }
}
