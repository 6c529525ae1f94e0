//! Numbers that the host gave for names, so that a name crosses the border once.

use std::cell::RefCell;

/// A sorted list rather than a hash map: a scenario has a handful of names, and hashing is kilobytes of code in a guest.
pub(crate) struct Names {
    known: RefCell<Vec<(Box<str>, u32)>>,
}

/// What the host answers once it has as many as it takes.
pub(crate) const PAST_THE_LIMIT: u32 = u32::MAX;

impl Names {
    pub(crate) const fn new() -> Names {
        Names {
            known: RefCell::new(Vec::new()),
        }
    }

    /// The number for this name; `register` is asked the first time.
    pub(crate) fn number(&self, name: &str, register: impl FnOnce(&str) -> u32) -> u32 {
        let place = self
            .known
            .borrow()
            .binary_search_by(|(known, _)| known.as_ref().cmp(name));
        match place {
            Ok(place) => self.known.borrow()[place].1,
            Err(place) => {
                let number = register(name);
                // A scenario that puts an id into a name makes a new one each iteration: past the host's limit they are
                // not kept, or its memory would grow for as long as the run lasts.
                if number != PAST_THE_LIMIT {
                    self.known.borrow_mut().insert(place, (name.into(), number));
                }
                number
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_registered_once() {
        let names = Names::new();
        let asked = RefCell::new(Vec::new());
        let register = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            asked.borrow().len() as u32
        };
        let numbers: Vec<u32> = ["pay", "cart", "pay", "browse", "cart"]
            .map(|name| names.number(name, register))
            .to_vec();
        assert_eq!(numbers, [1, 2, 1, 3, 2]);
        assert_eq!(*asked.borrow(), ["pay", "cart", "browse"]);
    }

    #[test]
    fn names_past_the_limit_are_not_kept() {
        let names = Names::new();
        assert_eq!(names.number("order 17", |_| PAST_THE_LIMIT), PAST_THE_LIMIT);
        assert_eq!(names.known.borrow().len(), 0);
    }
}
