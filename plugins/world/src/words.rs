//! Texts with gaps, and what goes into them.

use crate::draw::Draw;
use crate::people::{Circle, Kind, Person};

const WEEKDAYS: &[&str] = &[
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const TIMES: &[&str] = &[
    "8:30", "9:00", "10:15", "11:00", "12:30", "14:00", "15:30", "16:45", "18:00", "19:30",
];
const ROOMS: &[&str] = &[
    "the small meeting room",
    "the back office",
    "room 2",
    "the canteen",
    "the front desk",
    "the yard",
];
const VENUES: &[&str] = &[
    "the Heron Café",
    "Lantern Hall",
    "the boathouse",
    "Foundry Street market",
    "the Orchard Inn",
    "the library steps",
];
const GROCERIES: &[&str] = &[
    "oat milk",
    "rye bread",
    "lentils",
    "a bag of lemons",
    "coffee beans",
    "onions",
    "butter",
    "washing powder",
    "spinach",
    "eggs",
    "bin bags",
    "apples",
    "rice",
    "tomatoes",
    "cheddar",
    "tea",
    "light bulbs",
    "olive oil",
];
const CHORES: &[&str] = &[
    "the boiler service",
    "the window that sticks",
    "the gutter",
    "the parking permit",
    "the broken dryer",
    "the library books",
    "the spare key",
    "the bike tyres",
    "the hedge",
    "the smoke alarm battery",
];
const DISHES: &[&str] = &[
    "mushroom pie",
    "lentil soup",
    "fish stew",
    "roast squash",
    "dumplings",
    "leek tart",
    "chickpea curry",
    "baked trout",
    "potato salad",
    "plum cake",
];
const PARTS: &[&str] = &[
    "the first draft",
    "the cost table",
    "the schedule",
    "the supplier list",
    "the photographs",
    "the risk list",
    "the summary page",
    "the measurements",
    "the contract",
    "the test results",
];

/// Fills the gaps of a text, each time with other things: `{day}`, `{time}`, `{number}`, `{amount}`, `{food}`,
/// `{food2}`, `{chore}`, `{dish}`, `{part}`, `{room}`, `{venue}`; and from the circle `{circle}`, `{activity}`,
/// `{plan}`; and from the people `{me}`, `{you}`, `{third}`, first names.
pub(crate) struct Gaps<'a> {
    values: Vec<(&'static str, &'a str)>,
    number: String,
    amount: String,
}

impl<'a> Gaps<'a> {
    pub(crate) fn new(draw: &mut Draw, circle: &'a Circle, people: [&'a Person; 3]) -> Self {
        let plans: Vec<&str> = match circle.kind {
            Kind::Household => CHORES.to_vec(),
            Kind::Firm | Kind::Club => circle.plans.clone(),
        };
        let foods = draw.some(GROCERIES, 2);
        let [me, you, third] = people.map(|person| person.first_name.as_str());
        let values = vec![
            ("{day}", draw.pick(WEEKDAYS)),
            ("{time}", draw.pick(TIMES)),
            ("{food}", foods[0]),
            ("{food2}", foods[1]),
            ("{chore}", draw.pick(CHORES)),
            ("{dish}", draw.pick(DISHES)),
            ("{part}", draw.pick(PARTS)),
            ("{room}", draw.pick(ROOMS)),
            ("{venue}", draw.pick(VENUES)),
            ("{circle}", circle.name.as_str()),
            ("{activity}", circle.activity),
            ("{plan}", draw.pick(&plans)),
            ("{me}", me),
            ("{you}", you),
            ("{third}", third),
        ];
        let amount = format!("{}.{:02}", draw.between(8, 240), draw.between(0, 19) * 5);
        Self {
            values,
            number: draw.between(3, 24).to_string(),
            amount,
        }
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        let own = [
            ("{number}", self.number.as_str()),
            ("{amount}", &self.amount),
        ];
        let all = self.values.iter().copied().chain(own);
        let filled = all.fold(text.to_owned(), |text, (gap, value)| {
            text.replace(gap, value)
        });
        capitalised(&filled)
    }
}

/// A gap may stand at the beginning.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
