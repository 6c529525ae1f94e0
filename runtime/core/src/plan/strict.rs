//! Reading tables whose keys must all be known.
//!
//! serde's `deny_unknown_fields` refuses an unknown key and lists all that are known; a person who wrote `duratoin` wants the one
//! that was meant, and one who wrote `stages` wants to hear that it comes later. So a table is read through [`table`], which
//! looks at each key before the derived code does. The list of keys is the derived one: nothing is written twice.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::spelling;

/// Keys that have a meaning and are not built, by the name of the table they stand in.
const LATER: [(&str, &[&str]); 3] = [
    ("the plan", &["data"]),
    ("[run]", &["deny", "targets"]),
    (
        "[scenarios.NAME]",
        &[
            "stages",
            "start-rate",
            "start-time",
            "poisson",
            "replay",
            "sweep",
            "cookies",
            "min-iteration-duration",
        ],
    ),
];

/// Reads a table, for `#[serde(deserialize_with)]`. The struct's serde name is what messages call the table.
pub(super) fn table<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(Strict(deserializer))
}

/// Reads a table of tables, for `#[serde(deserialize_with)]`.
pub(super) fn tables<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Inner<T>(T);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Inner<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Inner<T>, D::Error> {
            table(deserializer).map(Inner)
        }
    }

    let tables = BTreeMap::<String, Inner<T>>::deserialize(deserializer)?;
    Ok(tables
        .into_iter()
        .map(|(name, Inner(table))| (name, table))
        .collect())
}

/// A deserializer that hands structs to [`StrictVisitor`].
struct Strict<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(
            name,
            keys,
            StrictVisitor {
                visitor,
                table: Table { name, keys },
            },
        )
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A table's name in messages, and its keys.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    keys: &'static [&'static str],
}

impl Table {
    fn check<E: Error>(self, key: &str) -> Result<(), E> {
        if self.keys.contains(&key) {
            return Ok(());
        }
        let later = LATER
            .iter()
            .any(|(name, keys)| *name == self.name && keys.contains(&key));
        let name = self.name;
        Err(E::custom(match spelling::nearest(key, self.keys) {
            _ if later => format!("`{key}` of {name} comes with a later version; leave it out"),
            Some(meant) => format!("{name} has no `{key}`; did you mean `{meant}`?"),
            None => format!("{name} has no `{key}`; it has {}", self.keys.join(", ")),
        }))
    }
}

/// Lets the derived visitor see a table whose keys are checked.
struct StrictVisitor<V> {
    visitor: V,
    table: Table,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StrictVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} to be a table", self.table.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(StrictMap {
            map,
            table: self.table,
        })
    }
}

struct StrictMap<A> {
    map: A,
    table: Table,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StrictMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        self.map.next_key_seed(StrictKey {
            seed,
            table: self.table,
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// A key, checked before the derived code sees it; an error made here carries the key's position where the format knows it.
struct StrictKey<K> {
    seed: K,
    table: Table,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for StrictKey<K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for StrictKey<K> {
    type Value = K::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<K::Value, E> {
        self.table.check(key)?;
        let key: StrDeserializer<'_, E> = key.into_deserializer();
        self.seed.deserialize(key)
    }
}
