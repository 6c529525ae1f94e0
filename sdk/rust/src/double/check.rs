//! Interface `check`: what was checked is kept for the test to look at.

use super::{World, with};
use crate::testing::SeenCheck;

pub(crate) fn register(name: &str) -> u32 {
    with(|world| world.number(name))
}

pub(crate) fn begin(check: u32) {
    with(|world| world.scopes.push(check));
}

pub(crate) fn end(check: u32, passed: bool) {
    with(|world| close(world, check, passed, None));
}

pub(crate) fn fail(check: u32, why: &str) {
    with(|world| close(world, check, false, Some(why.to_owned())));
}

fn close(world: &mut World, check: u32, passed: bool, why: Option<String>) {
    if world.scopes.pop() != Some(check) {
        world.seen.misuse.push(format!(
            "check `{}` ended and was not the innermost",
            world.name(check)
        ));
    }
    let (name, group) = (world.name(check), world.group());
    world.seen.checks.push(SeenCheck {
        name,
        group,
        passed,
        why,
    });
}
