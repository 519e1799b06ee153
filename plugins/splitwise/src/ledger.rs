//! Groups, expenses, and who owes whom by them. Whether a change is allowed is decided elsewhere.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Layer;
use pibench_sdk::list::List;
use pibench_sdk::random;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// The longest name, in characters.
pub(crate) const MAX_NAME: usize = 100;
/// The longest description of a group, and of an expense, in characters.
pub(crate) const MAX_GROUP_DESCRIPTION: usize = 2000;
pub(crate) const MAX_WHAT: usize = 500;
/// The most members of a group, and the most who share an expense: everybody's balance with everybody is one answer.
pub(crate) const MAX_MEMBERS: usize = 50;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    pub id: u32,
    pub name: Text,
    pub description: Text,
    pub creator: Email,
    /// The creator first, then in the order of joining.
    pub members: List<Email>,
    pub created_at: DateTime,
    pub deleted: bool,
    pub invitation_code: Text,
}

impl Group {
    pub(crate) fn has(&self, person: &Email) -> bool {
        self.members.contains(person)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Expense {
    pub id: u32,
    /// None outside any group.
    pub group: Option<u32>,
    pub description: Text,
    pub paid_amount: Money,
    pub payer: Email,
    /// Together they are the paid amount, but for what was rounded; each debtor has one.
    pub shares: List<Share>,
    pub creator: Email,
    pub created_at: DateTime,
    /// A file name.
    pub receipt: Option<Text>,
    /// What the file of the file system app says. A seed's has a name only.
    #[serde(default)]
    pub receipt_text: Option<Text>,
    pub deleted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub debtor: Email,
    pub amount: Money,
}

impl Expense {
    /// Whether somebody paid or shares it.
    pub(crate) fn involves(&self, person: &Email) -> bool {
        self.payer == *person || self.shares.iter().any(|share| share.debtor == *person)
    }
}

/// Everything that was recorded. Nothing is ever taken out: what is deleted only counts no more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub groups: Layer<u32, Group>,
    pub expenses: Layer<u32, Expense>,
}

impl Ledger {
    /// With the world's groups and expenses, or empty.
    pub(crate) fn new(world: bool) -> Self {
        Self {
            groups: Layer::new(world),
            expenses: Layer::new(world),
        }
    }

    /// Keeps a group under the next id, with a code of its own.
    pub(crate) fn insert_group(&mut self, group: Group) -> u32 {
        let id = self.groups.next_id();
        let invitation_code = invitation_code(random::next()).into();
        let group = Group {
            id,
            invitation_code,
            ..group
        };
        self.groups.insert(id, group);
        id
    }

    /// Keeps an expense under the next id.
    pub(crate) fn insert_expense(&mut self, expense: Expense) -> u32 {
        let id = self.expenses.next_id();
        self.expenses.insert(id, Expense { id, ..expense });
        id
    }

    /// The expenses that count: neither they nor their groups are deleted.
    pub(crate) fn counting(&self) -> impl Iterator<Item = &Expense> {
        self.expenses.values().filter(|expense| {
            let group = expense.group.and_then(|group| self.groups.get(&group));
            !expense.deleted && group.is_none_or(|group| !group.deleted)
        })
    }
}

/// Ten characters of Crockford's alphabet, which leaves out those that are taken for others.
fn invitation_code(number: u64) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    (0..10)
        .map(|place| char::from(ALPHABET[((number >> (place * 5)) % 32) as usize]))
        .collect()
}

/// What each owes each, netted between the two: if A owes B 5.00 and B owes A 3.00, A owes B 2.00. Debts are never moved
/// to a third.
#[derive(Debug, Default)]
pub(crate) struct Debts<'a> {
    /// By debtor and creditor, both ways round with opposite signs; in cents.
    owed: BTreeMap<&'a Email, BTreeMap<&'a Email, i64>>,
}

impl<'a> Debts<'a> {
    pub(crate) fn of(expenses: impl Iterator<Item = &'a Expense>) -> Self {
        let mut debts = Self::default();
        for expense in expenses {
            for share in &expense.shares {
                if share.debtor != expense.payer {
                    debts.add(&share.debtor, &expense.payer, share.amount.cents());
                    debts.add(&expense.payer, &share.debtor, -share.amount.cents());
                }
            }
        }
        debts
    }

    fn add(&mut self, debtor: &'a Email, creditor: &'a Email, cents: i64) {
        *self
            .owed
            .entry(debtor)
            .or_default()
            .entry(creditor)
            .or_default() += cents;
    }

    /// What somebody owes another, in cents; below 0 if it is the other way round.
    pub(crate) fn between(&self, debtor: &Email, creditor: &Email) -> i64 {
        self.owed
            .get(debtor)
            .and_then(|owed| owed.get(creditor))
            .copied()
            .unwrap_or_default()
    }

    /// With whom somebody is not even, by address: what is owed to each, in cents; below 0 if it is the other way
    /// round.
    pub(crate) fn with(&self, person: &Email) -> impl Iterator<Item = (&'a Email, i64)> {
        let owed = self.owed.get(person).into_iter().flatten();
        owed.map(|(other, cents)| (*other, *cents))
            .filter(|(_, cents)| *cents != 0)
    }

    /// Everybody who ever had a debt or a claim, by address.
    #[cfg(test)]
    pub(crate) fn people(&self) -> impl Iterator<Item = &'a Email> {
        self.owed.keys().copied()
    }
}
