//! Who shares expenses with whom. Every expense is divided to the cent.

use jiff::civil::{DateTime, date};

use crate::draw::Draw;
use crate::people::Kind;
use crate::{END, World};

#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub description: String,
    /// The founder first.
    pub members: Vec<usize>,
    pub created_at: DateTime,
    /// Ten characters.
    pub invitation_code: String,
    /// By moment.
    pub expenses: Vec<Expense>,
}

#[derive(Debug, Clone)]
pub struct Expense {
    pub description: String,
    /// In cents: the sum of the shares.
    pub paid: u32,
    pub payer: usize,
    /// Who owes how much, the payer's own part among them.
    pub shares: Vec<(usize, u32)>,
    pub created_at: DateTime,
}

const AT_HOME: &[(&str, u32, u32)] = &[
    ("Weekly shop", 2400, 13_000),
    ("Electricity", 4000, 19_000),
    ("Internet", 2900, 4500),
    ("Water", 2500, 6000),
    ("Cleaning things", 900, 3200),
    ("New kettle", 2200, 5200),
    ("Vegetable box", 1800, 3100),
    ("Window cleaner", 2000, 4800),
    ("Insurance, first half", 6000, 18_000),
    ("Plants for the hall", 1200, 4100),
];
const ON_A_TRIP: &[(&str, u32, u32)] = &[
    ("Petrol", 3500, 9000),
    ("Cabin, deposit", 9000, 30_000),
    ("Groceries for the first evening", 2600, 9900),
    ("Tickets", 3000, 16_000),
    ("Breakfast rolls", 800, 2400),
    ("Hire of gear", 4000, 14_000),
    ("Parking", 600, 2200),
    ("Dinner at the Orchard Inn", 6000, 21_000),
    ("Map and first-aid kit", 1500, 4900),
];

pub(crate) fn generate(world: &World) -> Vec<Group> {
    let mut draw = Draw::new(world.seed, "money");
    let mut groups = Vec::new();
    for circle in world
        .circles
        .iter()
        .filter(|circle| circle.members.len() > 1)
    {
        let (name, description, costs) = match circle.kind {
            Kind::Household => (
                circle.name.clone(),
                "What the household shares.".to_owned(),
                AT_HOME,
            ),
            Kind::Club => {
                let plan = circle.plans[0];
                (
                    circle.name.clone(),
                    format!("For {plan}, and what else we share."),
                    ON_A_TRIP,
                )
            }
            Kind::Firm => continue,
        };
        let created_at = draw.moment(date(2024, 1, 8), date(2025, 4, 30));
        let mut group = Group {
            name,
            description,
            members: draw.some(&circle.members, 8),
            created_at,
            invitation_code: code(&mut draw),
            expenses: Vec::new(),
        };
        for _ in 0..draw.between(6, 14) {
            let expense = expense(&mut draw, &group, costs);
            group.expenses.push(expense);
        }
        group.expenses.sort_by_key(|expense| expense.created_at);
        groups.push(group);
    }
    groups.sort_by_key(|group| group.created_at);
    groups
}

fn expense(draw: &mut Draw, group: &Group, costs: &[(&str, u32, u32)]) -> Expense {
    let (description, low, high) = costs[draw.below(costs.len())];
    let paid = draw.between(low, high);
    let payer = group.members[draw.below(group.members.len())];
    let count = draw.below(group.members.len() - 1) + 2;
    let debtors = draw.some(&group.members, count);
    let people = u32::try_from(debtors.len()).unwrap_or(u32::MAX);
    let share =
        |(place, debtor): (u32, usize)| (debtor, paid / people + u32::from(place < paid % people));
    Expense {
        description: description.to_owned(),
        paid,
        payer,
        shares: (0..).zip(debtors).map(share).collect(),
        created_at: draw.moment(group.created_at.date().tomorrow().unwrap_or(END), END),
    }
}

fn code(draw: &mut Draw) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    (0..10)
        .map(|_| char::from(ALPHABET[draw.below(32)]))
        .collect()
}
