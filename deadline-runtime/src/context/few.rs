//! [`Few`]: a list of what is mostly one.

use slab::Slab;

/// The first lies in it, the others in a list that is made when there is a second.
#[derive(Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    more: Option<Box<Slab<T>>>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self {
            first: None,
            more: None,
        }
    }
}

impl<T> Few<T> {
    /// The key that the next one will have.
    pub(crate) fn vacant(&self) -> usize {
        match (&self.first, &self.more) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(_), Some(more)) => more.vacant_key() + 1,
        }
    }

    pub(crate) fn insert(&mut self, item: T) -> usize {
        if self.first.is_none() {
            self.first = Some(item);
            0
        } else {
            self.more.get_or_insert_default().insert(item) + 1
        }
    }

    pub(crate) fn get_mut(&mut self, key: usize) -> Option<&mut T> {
        match key.checked_sub(1) {
            None => self.first.as_mut(),
            Some(key) => self.more.as_mut()?.get_mut(key),
        }
    }

    pub(crate) fn remove(&mut self, key: usize) -> Option<T> {
        match key.checked_sub(1) {
            None => self.first.take(),
            Some(key) => self.more.as_mut()?.try_remove(key),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let more = self.more.as_deref().into_iter();
        self.first
            .iter()
            .chain(more.flat_map(|more| more.iter().map(|(_, item)| item)))
    }

    /// Calls `each` with every one.
    pub(crate) fn consume(self, mut each: impl FnMut(T)) {
        if let Some(first) = self.first {
            each(first);
        }
        if let Some(more) = self.more {
            for (_, item) in *more {
                each(item);
            }
        }
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.as_ref().map_or(0, |more| more.len())
    }
}

#[cfg(all(test, not(deadline_loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_key_that_was_vacant() {
        let mut few = Few::default();
        let keys: Vec<usize> = (0..5)
            .map(|item| {
                let vacant = few.vacant();
                assert_eq!(few.insert(item), vacant);
                vacant
            })
            .collect();
        assert_eq!(keys, [0, 1, 2, 3, 4]);
        assert_eq!((few.remove(0), few.remove(3)), (Some(0), Some(3)));
        assert_eq!((few.remove(0), few.remove(3)), (None, None));
        assert_eq!(few.len(), 3);
        for (item, key) in [(5, 0), (6, 3), (7, 5)] {
            assert_eq!(few.vacant(), key);
            assert_eq!(few.insert(item), key);
            assert_eq!(few.get_mut(key), Some(&mut { item }));
        }
        let mut rest: Vec<i32> = few.iter().copied().collect();
        assert_eq!(rest, [5, 1, 2, 6, 4, 7]);
        few.consume(|item| rest.retain(|other| *other != item));
        assert!(rest.is_empty());
    }
}
