//! The open checks of a virtual user, and what each has been charged.

/// Who looked at a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looker {
    /// The guest, into whose memory it was copied.
    Guest,
    /// The host, which was asked about it.
    Host,
}

/// One open check.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) check: u32,
    /// Of the fast clock.
    pub(crate) ticks: u64,
    pub(crate) instructions: u64,
    pub(crate) body_bytes: u64,
    /// The host answered a question about a body.
    pub(crate) asked_host: bool,
    /// A body, or a part of it, came into the guest.
    pub(crate) took_body: bool,
}

/// The weight of the newest in a running mean, as a divisor.
const NEWEST: u64 = 8;

/// A running mean, one value later.
pub(crate) fn mean_with(mean: u64, newest: u64) -> u64 {
    mean - mean / NEWEST + newest / NEWEST
}

/// All open checks, the innermost last.
#[derive(Debug)]
pub(crate) struct Scopes {
    open: Vec<Scope>,
    /// Open within each other at most.
    most: usize,
    /// Running means of what checks take, sorted by check.
    means: Vec<(u32, u64)>,
}

impl Scopes {
    pub(crate) fn new(most: u32) -> Scopes {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Scopes {
            open: Vec::new(),
            most,
            means: Vec::new(),
        }
    }

    /// Closes all, and says how many there were.
    pub(crate) fn clear(&mut self) -> u32 {
        let open = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.clear();
        open
    }

    /// What the innermost check takes, by its running mean; none when no check is open, 0 for one that was never closed.
    pub(crate) fn usual_ns(&self) -> Option<u64> {
        let check = self.open.last()?.check;
        let known = self.means.binary_search_by_key(&check, |(check, _)| *check);
        Some(known.map_or(0, |index| self.means[index].1))
    }

    /// What an evaluation took.
    pub(crate) fn learn(&mut self, check: u32, cpu_ns: u64) {
        match self.means.binary_search_by_key(&check, |(check, _)| *check) {
            Ok(index) => self.means[index].1 = mean_with(self.means[index].1, cpu_ns),
            Err(index) => self.means.insert(index, (check, cpu_ns)),
        }
    }

    /// Whether any check is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The innermost check has had these ticks; false when there is none.
    pub(crate) fn charge(&mut self, ticks: u64) -> bool {
        let Some(scope) = self.open.last_mut() else {
            return false;
        };
        scope.ticks += ticks;
        true
    }

    /// The innermost check has executed these; false when there is none.
    pub(crate) fn charge_instructions(&mut self, instructions: u64) -> bool {
        let Some(scope) = self.open.last_mut() else {
            return false;
        };
        scope.instructions += instructions;
        true
    }

    /// Bytes of a body were looked at.
    pub(crate) fn looked_at(&mut self, bytes: u64, by: Looker) {
        if let Some(scope) = self.open.last_mut() {
            scope.body_bytes = scope.body_bytes.saturating_add(bytes);
            match by {
                Looker::Guest => scope.took_body = true,
                Looker::Host => scope.asked_host = true,
            }
        }
    }

    /// Opens a check; false when too many are open.
    pub(crate) fn open(&mut self, check: u32) -> bool {
        if self.open.len() >= self.most {
            return false;
        }
        self.open.push(Scope {
            check,
            ticks: 0,
            instructions: 0,
            body_bytes: 0,
            asked_host: false,
            took_body: false,
        });
        true
    }

    /// Closes a check and those within it, and says how many those were; none when it is not open.
    pub(crate) fn close(&mut self, check: u32) -> Option<(Scope, u32)> {
        let position = self.open.iter().rposition(|scope| scope.check == check)?;
        let within = u32::try_from(self.open.len() - position - 1).unwrap_or(u32::MAX);
        self.open.truncate(position + 1);
        Some((self.open.pop()?, within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_an_outer_check_closes_what_is_open_within() {
        let mut scopes = Scopes::new(8);
        assert!(scopes.open(1) && scopes.open(2) && scopes.open(3));
        let (scope, within) = scopes.close(2).unwrap();
        assert_eq!((scope.check, within), (2, 1));
        assert!(scopes.close(3).is_none());
        assert_eq!(scopes.close(1).unwrap().1, 0);
    }

    #[test]
    fn the_innermost_is_charged() {
        let mut scopes = Scopes::new(8);
        assert!(!scopes.charge(1), "nobody");
        scopes.open(1);
        scopes.charge(2);
        scopes.open(2);
        scopes.charge(3);
        scopes.looked_at(7, Looker::Host);
        let inner = scopes.close(2).unwrap().0;
        let outer = scopes.close(1).unwrap().0;
        assert_eq!(
            (inner.ticks, inner.body_bytes, outer.ticks, outer.body_bytes),
            (3, 7, 2, 0)
        );
    }

    #[test]
    fn scopes_are_bounded() {
        let mut scopes = Scopes::new(2);
        assert!(scopes.open(1) && scopes.open(1) && !scopes.open(1));
        assert_eq!((scopes.clear(), scopes.clear()), (2, 0));
    }

    #[test]
    fn a_running_mean_follows() {
        let mut scopes = Scopes::new(8);
        scopes.open(5);
        assert_eq!(scopes.usual_ns(), Some(0), "never closed");
        for _ in 0..50 {
            scopes.learn(5, 8_000);
        }
        let usual_ns = scopes.usual_ns().unwrap();
        assert!((7_900..=8_100).contains(&usual_ns), "{usual_ns}");
        for _ in 0..50 {
            scopes.learn(5, 0);
        }
        assert!(scopes.usual_ns().unwrap() < 100);
    }
}
