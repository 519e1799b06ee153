//! What is in the phones: address books, text messages, alarms.

use jiff::civil::{Date, DateTime, date};

use crate::draw::Draw;
use crate::people::{Kind, Person};
use crate::words::Gaps;
use crate::{END, World};

/// Somebody as one owner has them in the address book.
#[derive(Debug, Clone)]
pub struct Contact {
    pub owner: usize,
    pub person: usize,
    pub relationships: Vec<&'static str>,
    /// Only of those who are close.
    pub birthday: Option<Date>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
    pub created_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct TextMessage {
    pub from: usize,
    pub to: usize,
    pub message: String,
    pub sent_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct Alarm {
    pub owner: usize,
    pub hour: u32,
    pub minute: u32,
    /// From Monday, 0, on.
    pub repeat_days: Vec<usize>,
    pub label: &'static str,
    pub enabled: bool,
    pub snooze_minutes: u32,
    pub vibration: bool,
    pub created_at: DateTime,
}

/// What two people text each other, in turns.
const AT_HOME: &[&[&str]] = &[
    &[
        "Are you near a shop? We are out of {food}.",
        "Just passing one. Anything else?",
        "{food2} if they have it :)",
    ],
    &[
        "I have forgotten my key. Who is home?",
        "Me, from {time} on.",
        "Thanks, see you then.",
    ],
    &["{dish} tonight?", "Yes please! I am back by {time}."],
    &[
        "The parcel is with the neighbours.",
        "Great, I will fetch it.",
    ],
    &["Do not forget {chore} on {day}.", "On my list."],
    &[
        "Train is late again. Start without me.",
        "We keep you a plate.",
    ],
];
const AT_WORK: &[&[&str]] = &[
    &[
        "Running ten minutes late, sorry. Start without me in {room}.",
        "No problem, we begin with {part}.",
    ],
    &[
        "Did you send {part}?",
        "Sent it at {time}. Check the shared folder.",
        "Found it, thank you!",
    ],
    &["Lunch at {time}?", "Yes, {venue}?", "Deal."],
    &[
        "{you}, who has the key for {room}?",
        "{third} took it home by mistake. There is a second one at the front.",
    ],
    &[
        "The client for {plan} rang, wants to hear from you before {day}.",
        "I will ring back in the afternoon.",
    ],
    &[
        "Can you bring the good camera on {day}?",
        "If somebody reminds me.",
    ],
];
const IN_A_CLUB: &[&[&str]] = &[
    &[
        "Are you coming on {day}?",
        "Yes, but not before {time}.",
        "Fine, we meet at {venue}.",
    ],
    &[
        "I have a spare seat for {plan}.",
        "I take it! What do I owe you?",
        "{amount} for petrol, put it in the group.",
    ],
    &[
        "My knee is still bad, so no {activity} for me this week.",
        "Get well! I will bring you {dish}.",
    ],
    &[
        "Have you got the number of {third}?",
        "Just sent it to you.",
    ],
    &[
        "Rain on {day}. Do we go anyway?",
        "Always.",
        "I feared you would say that.",
    ],
];

/// Housemates, colleagues and friends from the club, each once.
pub(crate) fn contacts(world: &World) -> Vec<Contact> {
    let mut draw = Draw::new(world.seed, "contacts");
    let mut contacts = Vec::new();
    for (owner, me) in world.people.iter().enumerate() {
        for (person, other) in world.people.iter().enumerate() {
            let relationships = relationships(me, other);
            // Nobody has all colleagues and club mates in the phone.
            let close = me.household == other.household;
            if owner == person || relationships.is_empty() || !(close || draw.chance(45)) {
                continue;
            }
            let colleague = me.firm == other.firm;
            contacts.push(Contact {
                owner,
                person,
                relationships,
                birthday: (close || draw.chance(15)).then_some(other.birthday),
                home_address: (close || draw.chance(30)).then(|| other.home.text()),
                work_address: colleague.then(|| other.work.text()),
                created_at: draw.moment(date(2022, 1, 3), date(2025, 2, 28)),
            });
        }
    }
    contacts
}

fn relationships(me: &Person, other: &Person) -> Vec<&'static str> {
    let all = [
        (me.household == other.household, "family"),
        (me.firm == other.firm, "colleague"),
        (me.club == other.club, "friend"),
    ];
    all.into_iter()
        .filter_map(|(is, name)| is.then_some(name))
        .collect()
}

pub(crate) fn text_messages(world: &World) -> Vec<TextMessage> {
    let mut draw = Draw::new(world.seed, "text messages");
    let mut messages = Vec::new();
    for circle in world
        .circles
        .iter()
        .filter(|circle| circle.members.len() > 1)
    {
        let talks = match circle.kind {
            Kind::Household => AT_HOME,
            Kind::Firm => AT_WORK,
            Kind::Club => IN_A_CLUB,
        };
        for me in &circle.members {
            for _ in 0..draw.between(2, 4) {
                let others: Vec<usize> = circle
                    .members
                    .iter()
                    .copied()
                    .filter(|it| it != me)
                    .collect();
                let (you, third) = (
                    others[draw.below(others.len())],
                    others[draw.below(others.len())],
                );
                let people = [*me, you, third].map(|person| &world.people[person]);
                let gaps = Gaps::new(&mut draw, circle, people);
                let mut sent_at = draw.moment(date(2025, 9, 1), END);
                for (turn, text) in talks[draw.below(talks.len())].iter().enumerate() {
                    let (from, to) = if turn % 2 == 0 {
                        (*me, you)
                    } else {
                        (you, *me)
                    };
                    let message = gaps.fill(text);
                    messages.push(TextMessage {
                        from,
                        to,
                        message,
                        sent_at,
                    });
                    sent_at = draw.later(sent_at, 40).min(END.at(23, 30, 0, 0));
                }
            }
        }
    }
    messages.sort_by_key(|message| message.sent_at);
    messages
}

pub(crate) fn alarms(world: &World) -> Vec<Alarm> {
    const LABELS: &[&str] = &[
        "Get up",
        "Medicine",
        "Leave for work",
        "Stretch",
        "Call home",
        "Water the plants",
    ];
    let mut draw = Draw::new(world.seed, "alarms");
    let mut alarms = Vec::new();
    for owner in 0..world.people.len() {
        for _ in 0..draw.between(1, 3) {
            let days = [vec![0, 1, 2, 3, 4], vec![5, 6], vec![], vec![0, 2, 4]];
            alarms.push(Alarm {
                owner,
                hour: draw.between(5, 21),
                minute: draw.between(0, 11) * 5,
                repeat_days: days[draw.below(days.len())].clone(),
                label: draw.pick(LABELS),
                enabled: draw.chance(70),
                snooze_minutes: draw.between(1, 4) * 5,
                vibration: draw.chance(60),
                created_at: draw.moment(date(2023, 1, 9), END),
            });
        }
    }
    alarms
}
