//! Entries of one unit of debug information, read within a budget: they may lead to each other again and again.

use std::borrow::Cow;

use gimli::constants as dw;
use gimli::{AttributeValue, DwAt, Reader, UnitOffset, UnitRef};

use super::sections::Bytes;
use crate::budget::{Budget, OverBudget};
use crate::layout::LayoutError;

/// An entry, with its attributes.
pub(super) type Entry<'b> = gimli::DebuggingInformationEntry<Bytes<'b>>;

/// What reading an entry costs, and each byte that is passed over on the way to it, in steps of a budget.
const STEPS: (u64, u64) = (500, 5);

/// The same for entries of which nothing but the name is looked at.
const PASSED: (u64, u64) = (100, 2);

/// The entries of a unit.
#[derive(Clone, Copy)]
pub(super) struct Entries<'u, 'b> {
    pub unit: UnitRef<'u, Bytes<'b>>,
    pub budget: &'u Budget,
}

impl<'b> Entries<'_, 'b> {
    /// The entry at a place.
    pub fn at(self, at: UnitOffset) -> Result<Entry<'b>, LayoutError> {
        self.spend(STEPS.0)?;
        self.unit.entry(at).map_err(unreadable)
    }

    /// The entries right below one.
    pub fn below(self, at: UnitOffset) -> Result<Vec<Entry<'b>>, LayoutError> {
        let mut tree = self.unit.entries_tree(Some(at)).map_err(unreadable)?;
        let mut below = tree.root().map_err(unreadable)?.children();
        let (mut found, mut last) = (Vec::new(), at.0);
        while let Some(node) = below.next().map_err(unreadable)? {
            let here = node.entry().offset().0;
            self.spend(STEPS.0 + STEPS.1 * here.saturating_sub(last) as u64)?;
            self.budget.keep_many::<[u64; 32]>(1).ok_or_else(|| over(self.budget))?;
            found.push(node.entry().clone());
            last = here;
        }
        Ok(found)
    }

    /// The name of an entry, if it has one.
    pub fn name(self, entry: &Entry<'b>) -> Result<Option<String>, LayoutError> {
        let Some(name) = entry.attr_value(dw::DW_AT_name) else { return Ok(None) };
        let name = self.unit.attr_string(name).map_err(unreadable)?;
        self.budget.keep_text(name.len()).ok_or_else(|| over(self.budget))?;
        Ok(name.to_string().ok().map(Cow::into_owned))
    }

    /// Where a member lies in its structure; none where only a running program knows.
    pub fn offset(self, member: &Entry<'b>) -> Option<u64> {
        let Some(place) = member.attr_value(dw::DW_AT_data_member_location) else { return Some(0) };
        match place {
            // As DWARF 2 says it: so many bytes behind the start.
            AttributeValue::Exprloc(place) => match place.operations(self.unit.encoding()).next().ok()?? {
                gimli::Operation::PlusConstant { value } => Some(value),
                _ => None,
            },
            place => place.udata_value(),
        }
    }

    /// Pays for an entry that stands so many bytes behind the one before it.
    pub fn pass(self, bytes: usize) -> Result<(), LayoutError> {
        self.spend(PASSED.0 + PASSED.1 * bytes as u64)
    }

    fn spend(self, steps: u64) -> Result<(), LayoutError> {
        self.budget.work(steps).ok_or_else(|| over(self.budget))
    }
}

/// The type that an entry has; none for `void`.
pub(super) fn type_of(entry: &Entry<'_>) -> Result<Option<UnitOffset>, LayoutError> {
    match (entry.attr_value(dw::DW_AT_type), referred(entry, dw::DW_AT_type)) {
        (None, _) => Ok(None),
        (_, Some(at)) => Ok(Some(at)),
        _ => Err(LayoutError::Damaged("the debug information keeps types in several units".to_owned())),
    }
}

/// The entry of the same unit that an attribute refers to.
pub(super) fn referred(entry: &Entry<'_>, attribute: DwAt) -> Option<UnitOffset> {
    match entry.attr_value(attribute) {
        Some(AttributeValue::UnitRef(at)) => Some(at),
        _ => None,
    }
}

/// The number that an attribute says.
pub(super) fn number(entry: &Entry<'_>, attribute: DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

fn over(budget: &Budget) -> LayoutError {
    LayoutError::Damaged(budget.finish().err().unwrap_or(OverBudget::Work).to_string())
}

pub(super) fn unreadable(error: gimli::Error) -> LayoutError {
    LayoutError::Damaged(format!("the debug information cannot be read: {error}"))
}
