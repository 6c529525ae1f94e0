//! Interface `vu`: who the virtual user is, as the test has it.

use super::with;

pub(crate) fn id() -> u32 {
    with(|world| world.vu)
}

pub(crate) fn iteration() -> u64 {
    with(|world| world.iteration)
}

pub(crate) fn env(name: &str) -> Option<String> {
    with(|world| world.env.get(name).cloned())
}

pub(crate) fn group_register(name: &str) -> u32 {
    with(|world| world.number(name))
}

pub(crate) fn group_begin(group: u32) {
    with(|world| world.groups.push(group));
}

pub(crate) fn group_end() {
    with(|world| {
        if world.groups.pop().is_none() {
            world
                .seen
                .misuse
                .push("a group ended and none was open".to_owned());
        }
    });
}

pub(crate) fn tag(key: &str, value: &str) {
    with(|world| world.seen.tags.push((key.to_owned(), value.to_owned())));
}

pub(crate) fn abort(why: &str) {
    with(|world| world.seen.aborted = Some(why.to_owned()));
}
