//! A memory of bounded size that forgets what was used longest ago.

use std::collections::BTreeMap;

/// Remembers so many things.
pub(super) struct Recent<K, V> {
    most: usize,
    uses: u64,
    values: BTreeMap<K, (u64, V)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Ord + Clone, V> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), uses: 0, values: BTreeMap::new(), by_use: BTreeMap::new() }
    }

    /// What is known, or what is made now. Counts as a use.
    pub(super) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        let value = self.remove(key).unwrap_or_else(make);
        while self.values.len() >= self.most
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.values.remove(&oldest);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        &mut self.values.entry(key.clone()).or_insert((self.uses, value)).1
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.values.remove(key)?;
        self.by_use.remove(&used);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let mut recent = Recent::new(2);
        *recent.entry(&"z", || 1) += 1;
        recent.entry(&"a", || 1);
        recent.entry(&"z", || 0);
        recent.entry(&"m", || 1);
        assert_eq!(recent.remove(&"a"), None);
        assert_eq!(recent.remove(&"z"), Some(2));
        assert_eq!(recent.by_use.len(), recent.values.len());
    }
}
