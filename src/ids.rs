//! Typed ids, and vectors that only they can index.
//!
//! A zone's number can't be taken for a backend's: swapping two ids does not compile.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A position in an [`IdVec`].
pub trait Id: Copy + Eq + Ord + Hash + fmt::Debug {
    /// The id of position `index`.
    fn from_index(index: usize) -> Self;
    /// The position that this id names.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident: $word:ty),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($word);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(<$word>::try_from(index).expect("no more of them than their word can count"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A zone of the region.
    ZoneId: u32,
    /// A place that clients send from: a zone of the region, or one outside it.
    PlaceId: u32,
    /// An instance group or network endpoint group.
    GroupId: u32,
    /// A client group.
    ClientId: u16,
    /// A connection that is under way.
    FlowId: u32,
    /// A set of backends that a load balancer's policy needs.
    SetId: u32,
    /// A load balancer: what forwarding rules lead to.
    BalancerId: u8,
    /// A forwarding rule.
    RuleId: u16,
    /// A health check of one resource, which judges machines apart from all others.
    JudgeId: u8,
    /// What one client group sends to one rule by one protocol.
    LaneId: u32,
}

/// The most client groups that there can be.
pub const MAX_CLIENT_GROUPS: usize = 1 << 16;

/// One instance or endpoint that serves connections. Never a group.
///
/// Every connection holds one, or none: together they take two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BackendId(NonZeroU16);

impl Id for BackendId {
    #[inline]
    fn from_index(index: usize) -> Self {
        let number = u16::try_from(index + 1).ok().and_then(NonZeroU16::new);
        Self(number.expect("fewer than 2^16 backends"))
    }
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0.get() - 1)
    }
}

/// A vector indexed by one type of id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    #[serde(skip)]
    id: PhantomData<fn() -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// `count` items, each made by `make`.
    pub fn from_fn(count: usize, make: impl FnMut(I) -> T) -> Self {
        (0..count).map(I::from_index).map(make).collect()
    }

    /// Adds an item and gives its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Every id, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Every item, in order of ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Every item, in order of ids.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Every id with its item, in order.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// Every id with its item to change, in order.
    pub fn pairs_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator {
        self.items.iter_mut().enumerate().map(|(index, item)| (I::from_index(index), item))
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self { items: items.into_iter().collect(), id: PhantomData }
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I: Id, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
