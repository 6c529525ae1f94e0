//! The open checks of a virtual user, and what each has been charged.
//!
//! A light check is charged in ticks of the fast clock, which also counts what other processes took from its thread meanwhile.
//! A check that turned out heavy is charged in CPU time of the thread instead, which is exact and costs half a microsecond a
//! reading: at its begin and end, where another check begins or ends within it, and where the virtual user loses and regains
//! the thread (others run in between).

/// A check whose running mean is over this is heavy.
const HEAVY_NS: f64 = 100_000.0;

/// Weight of the newest evaluation in the running mean.
const NEWEST: f64 = 0.125;

/// One open check.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) check: u32,
    /// Charged by the fast clock, for a light check.
    pub(crate) ticks: u64,
    /// Charged by the thread's clock, for a heavy one.
    pub(crate) thread_ns: u64,
    pub(crate) is_heavy: bool,
    pub(crate) body_bytes: u64,
}

/// All open checks, the innermost last.
#[derive(Debug)]
pub(crate) struct Scopes {
    open: Vec<Scope>,
    /// Open within each other at most.
    most: usize,
    /// The thread's clock when the innermost check, being heavy, was last charged.
    charged_until_ns: u64,
    /// Running means by check, sorted by it.
    means: Vec<(u32, f64)>,
}

impl Scopes {
    pub(crate) fn new(most: u32) -> Scopes {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Scopes {
            open: Vec::new(),
            most,
            charged_until_ns: 0,
            means: Vec::new(),
        }
    }

    /// Closes all, and says how many there were.
    pub(crate) fn clear(&mut self) -> u32 {
        let open = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.clear();
        open
    }

    /// Whether the thread's clock is to be read, now that the innermost check changes or the thread does.
    pub(crate) fn is_heavy(&self) -> bool {
        self.open.last().is_some_and(|scope| scope.is_heavy)
    }

    /// The innermost check has had these ticks; false when there is none.
    pub(crate) fn charge(&mut self, ticks: u64) -> bool {
        let Some(scope) = self.open.last_mut() else {
            return false;
        };
        scope.ticks += ticks;
        true
    }

    /// The innermost check is heavy and has had the thread until now.
    pub(crate) fn charge_thread(&mut self, thread_ns: u64) {
        if let Some(scope) = self.open.last_mut() {
            scope.thread_ns += thread_ns.saturating_sub(self.charged_until_ns);
        }
    }

    /// The innermost check is heavy and has the thread from now on.
    pub(crate) fn resume_thread(&mut self, thread_ns: u64) {
        self.charged_until_ns = thread_ns;
    }

    /// Bytes of a body were looked at.
    pub(crate) fn looked_at(&mut self, bytes: u64) {
        if let Some(scope) = self.open.last_mut() {
            scope.body_bytes = scope.body_bytes.saturating_add(bytes);
        }
    }

    /// Opens a check; false when too many are open.
    pub(crate) fn open(&mut self, check: u32) -> bool {
        if self.open.len() >= self.most {
            return false;
        }
        let is_heavy = self
            .mean(check)
            .is_ok_and(|index| self.means[index].1 > HEAVY_NS);
        self.open.push(Scope {
            check,
            ticks: 0,
            thread_ns: 0,
            is_heavy,
            body_bytes: 0,
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

    /// What an evaluation cost, for the next one's choice of clock.
    pub(crate) fn learn(&mut self, check: u32, cpu_ns: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a mean need not be exact")]
        let cpu_ns = cpu_ns as f64;
        match self.mean(check) {
            Ok(index) => self.means[index].1 += (cpu_ns - self.means[index].1) * NEWEST,
            Err(index) => self.means.insert(index, (check, cpu_ns)),
        }
    }

    fn mean(&self, check: u32) -> Result<usize, usize> {
        self.means.binary_search_by_key(&check, |(check, _)| *check)
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
        scopes.looked_at(7);
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
    fn a_check_becomes_heavy_by_its_mean_and_light_again() {
        let mut scopes = Scopes::new(8);
        for (cpu_ns, is_heavy, why) in [
            (90_000, false, "a first evaluation under the bound"),
            (1_000_000, true, "the mean rises"),
            (0, true, "one light evaluation does not change it"),
        ] {
            scopes.learn(5, cpu_ns);
            scopes.open(5);
            assert_eq!(scopes.close(5).unwrap().0.is_heavy, is_heavy, "{why}");
        }
        for _ in 0..50 {
            scopes.learn(5, 0);
        }
        scopes.open(5);
        assert!(!scopes.is_heavy());
        scopes.open(6);
        assert!(!scopes.is_heavy(), "one that was never seen is light");
    }

    #[test]
    fn a_heavy_check_has_the_thread_from_where_it_resumes() {
        let mut scopes = Scopes::new(8);
        scopes.learn(1, 1_000_000);
        scopes.open(1);
        scopes.resume_thread(1000);
        scopes.charge_thread(1500);
        scopes.resume_thread(9000);
        scopes.charge_thread(9100);
        assert_eq!(scopes.close(1).unwrap().0.thread_ns, 600);
    }
}
