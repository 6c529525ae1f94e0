//! What guests may reach: checked on the name as written, and again on each address it resolves to.
//!
//! An entry that names a host allows the host whatever it resolves to; one that names an address allows that address; one that
//! names a network allows what lies in it, under any name. Loopback is always allowed. A name that no entry could let in is
//! not looked up: the question alone would tell others what a guest, or a server that redirects, wanted to tell them.

use std::net::IpAddr;

use nettare_core::plan::masked;

/// Hosts, addresses and networks that may be reached, besides loopback.
#[derive(Clone, Debug, Default)]
pub struct AllowList {
    names: Vec<Name>,
    addresses: Vec<IpAddr>,
    networks: Vec<Network>,
}

/// An entry of the allow-list that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--allow-host {entry:?}: {reason}; write a host name, *.suffix, an IP address or a network like 10.0.0.0/8"
)]
pub struct AllowError {
    /// The entry as it was given, but for what is secret in it.
    pub entry: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Exact(String),
    /// With its leading dot, so that `*.example` does not let `badexample` through.
    Suffix(String),
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl AllowList {
    /// Understands `entries`: exact host names, `*.suffix` (subdomains alone), `*` (everything), addresses, networks.
    ///
    /// # Errors
    ///
    /// The first entry that is none of these.
    pub fn new(entries: &[String]) -> Result<AllowList, AllowError> {
        let mut list = AllowList::default();
        for entry in entries {
            list.add(entry).map_err(|reason| AllowError {
                entry: masked(entry),
                reason,
            })?;
        }
        Ok(list)
    }

    /// Whether `host`, a name in any case or an address without brackets, is allowed before anything is resolved.
    pub fn allows_host(&self, host: &str) -> bool {
        if let Ok(address) = host.parse() {
            return self.allows_address(address);
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        is_localhost(&host) || self.names.iter().any(|name| name.covers(&host))
    }

    /// Whether `address` is allowed by itself.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback()
            || self.names.contains(&Name::Any)
            || self.addresses.contains(&address)
            || self
                .networks
                .iter()
                .any(|network| network.contains(address))
    }

    /// Whether any name could be allowed through an address it resolves to: if not, there is no need to resolve it.
    pub(crate) fn has_networks(&self) -> bool {
        !self.networks.is_empty()
    }

    fn add(&mut self, entry: &str) -> Result<(), &'static str> {
        let entry = entry.trim().to_ascii_lowercase();
        let unbracketed = entry
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(&entry);
        if let Some((address, bits)) = unbracketed.split_once('/') {
            self.networks.push(Network::parse(address, bits)?);
        } else if let Ok(address) = unbracketed.parse::<IpAddr>() {
            self.addresses.push(address.to_canonical());
        } else {
            self.names.push(Name::parse(&entry)?);
        }
        Ok(())
    }
}

impl Name {
    fn parse(entry: &str) -> Result<Name, &'static str> {
        if entry == "*" {
            return Ok(Name::Any);
        }
        let (name, suffix) = match entry.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (entry, false),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.is_empty() {
            return Err("it is empty");
        }
        if name.contains(['*', ':', '/', '@', '[', ' ']) {
            return Err("it is not a host name");
        }
        // The same mapping that URLs go through, so that an entry in Unicode means the same host.
        let ascii = url::Host::parse(name)
            .map_err(|_| "it is not a host name")?
            .to_string();
        Ok(if suffix {
            Name::Suffix(format!(".{ascii}"))
        } else {
            Name::Exact(ascii)
        })
    }

    fn covers(&self, host: &str) -> bool {
        match self {
            Name::Exact(name) => name == host,
            Name::Suffix(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Name::Any => true,
        }
    }
}

impl Network {
    fn parse(address: &str, bits: &str) -> Result<Network, &'static str> {
        let address: IpAddr = address
            .parse()
            .map_err(|_| "the part before the slash is not an IP address")?;
        let prefix_bits: u8 = bits
            .parse()
            .map_err(|_| "the part after the slash is not a number")?;
        if prefix_bits > width_bits(address) {
            return Err("the prefix is longer than the address");
        }
        Ok(Network {
            address,
            prefix_bits,
        })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(mine), IpAddr::V4(theirs)) => {
                (mine.to_bits() ^ theirs.to_bits()).leading_zeros()
            }
            (IpAddr::V6(mine), IpAddr::V6(theirs)) => {
                (mine.to_bits() ^ theirs.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        differing >= u32::from(self.prefix_bits)
    }
}

fn width_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// RFC 6761, section 6.3: these names are loopback whatever a resolver says.
pub(crate) fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> AllowList {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        AllowList::new(&entries).unwrap()
    }

    /// The entries, a host, whether it may be reached, and why.
    const HOSTS: &[(&[&str], &str, bool, &str)] = &[
        (&[], "localhost", true, "loopback is always in, by name"),
        (&[], "127.8.9.1", true, "loopback is the whole of 127/8"),
        (&[], "::1", true, "loopback is always in, IPv6"),
        (
            &[],
            "::ffff:127.0.0.1",
            true,
            "an IPv4 address in IPv6 clothes is that IPv4 address",
        ),
        (
            &[],
            "example.com",
            false,
            "everything else is out by default",
        ),
        (
            &["Shop.Example"],
            "shop.example",
            true,
            "names have no case",
        ),
        (
            &["shop.example"],
            "shop.example.",
            true,
            "the root's dot does not matter",
        ),
        (
            &["shop.example"],
            "a.shop.example",
            false,
            "an exact name does not cover its subdomains",
        ),
        (
            &["*.example"],
            "shop.example",
            true,
            "a suffix covers subdomains",
        ),
        (
            &["*.example"],
            "example",
            false,
            "a suffix does not cover the domain itself",
        ),
        (
            &["*.example"],
            "badexample",
            false,
            "a suffix begins at a label",
        ),
        (
            &["bücher.example"],
            "xn--bcher-kva.example",
            true,
            "entries in Unicode mean the encoded host",
        ),
        (
            &["10.0.0.0/8"],
            "10.255.0.1",
            true,
            "a network covers its addresses",
        ),
        (&["10.0.0.0/8"], "11.0.0.1", false, "and no others"),
        (&["fd00::/8"], "fd12::1", true, "IPv6 networks too"),
        (
            &["[fd00::1]"],
            "fd00::1",
            true,
            "brackets around IPv6 are taken off",
        ),
        (
            &["0.0.0.0/0"],
            "8.8.8.8",
            true,
            "a prefix of no bits covers the family",
        ),
        (&["*"], "8.8.8.8", true, "a star allows everything"),
    ];

    #[test]
    fn hosts_are_allowed_as_the_entries_say() {
        for (entries, host, allowed, why) in HOSTS {
            assert_eq!(
                list(entries).allows_host(host),
                *allowed,
                "{entries:?} {host}: {why}"
            );
        }
    }

    #[test]
    fn names_are_looked_up_for_networks_alone() {
        for (entries, looked_up, why) in [
            (&[][..], false, "nothing is allowed"),
            (
                &["shop.example", "*.shop.example"][..],
                false,
                "names let in names",
            ),
            (&["10.0.0.1", "::2"][..], false, "an address lets in itself"),
            (
                &["10.0.0.0/8"][..],
                true,
                "a network lets in what lies in it",
            ),
        ] {
            assert_eq!(
                list(entries).has_networks(),
                looked_up,
                "{entries:?}: {why}"
            );
        }
        assert!(list(&["10.0.0.1"]).allows_host("10.0.0.1"));
        assert!(list(&["::ffff:10.0.0.1"]).allows_host("10.0.0.1"));
    }

    #[test]
    fn nonsense_is_refused_with_the_entry_quoted() {
        for entry in [
            "",
            "*.",
            "a*b",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "x/8",
            "http://a",
            "host:80",
        ] {
            let error = AllowList::new(&[entry.to_owned()]).unwrap_err();
            assert_eq!(error.entry, entry);
            assert!(error.to_string().contains("--allow-host"), "{error}");
        }
    }
}
