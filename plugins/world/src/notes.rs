//! What people write down for themselves.

use jiff::civil::{DateTime, date};

use crate::draw::Draw;
use crate::words::Gaps;
use crate::{END, World};

#[derive(Debug, Clone)]
pub struct Note {
    pub owner: usize,
    pub title: String,
    pub content: String,
    pub tags: Vec<&'static str>,
    pub pinned: bool,
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

const NOTES: &[(&str, &str, &[&str])] = &[
    (
        "Shopping",
        "- {food}\n- {food2}\n- something for {dish}\n- batteries (the small ones)\n- a card for {third}",
        &["home"],
    ),
    (
        "{plan} - open points",
        "1. Ask {you} about {part}.\n2. Who pays the {amount}?\n3. Room for {number} people on {day}: \
      {room} is too small.\n4. Nothing is fixed before {third} has seen it.",
        &["work"],
    ),
    (
        "Recipe: {dish}",
        "For four. Takes an hour.\n\nFry an onion slowly, add {food}, season well. Then everything else, lid \
      on, low heat. Better on the second day. {third} likes it with more lemon.",
        &["recipes"],
    ),
    (
        "Presents",
        "{you}: that book about canals\n{third}: a good torch, at most {amount}\nMother: tickets for {venue}",
        &["family", "ideas"],
    ),
    (
        "Meeting with {you}, {day}",
        "Talked about {plan}. Agreed: we wait until {part} is there, then decide within a week. \
      {you} writes it down for the others. I owe an answer by {time} on {day}.",
        &["work", "meetings"],
    ),
    (
        "Books to read",
        "- the one about lighthouses\n- whatever {third} lent me\n- \"A Year of Small Repairs\"\n- something \
      short for the train",
        &["ideas"],
    ),
    (
        "{circle}: who brings what",
        "{me}: {dish}\n{you}: drinks\n{third}: chairs\nMeet at {venue}, {day}, {time}.",
        &["friends"],
    ),
    (
        "Meter readings",
        "Gas {number}481, power {number}0926, read on a {day}. Last bill: {amount}.",
        &["home", "bills"],
    ),
    (
        "What I learnt this week",
        "Say no earlier. Write the summary first. {you} knows how to do {part} in half the time, \
      ask next time.",
        &["work", "diary"],
    ),
    (
        "Packing for {plan}",
        "Rain coat, two pairs of socks, head torch, the flask, tickets (printed!), {food} for the way. \
      {third} brings the map.",
        &["travel"],
    ),
    (
        "Passwords - where they are",
        "Not in here! In the blue envelope in the desk, and {third} has a copy of the key.",
        &["home"],
    ),
    (
        "Garden",
        "Beans went in on {day}. Water every second evening. {chore} before it gets cold. {number} pots left over for \
      {you}.",
        &["home", "garden"],
    ),
];

pub(crate) fn generate(world: &World) -> Vec<Note> {
    let mut draw = Draw::new(world.seed, "notes");
    let mut notes = Vec::new();
    for owner in 0..world.people.len() {
        let circles: Vec<_> = world
            .circles
            .iter()
            .filter(|it| it.members.contains(&owner))
            .collect();
        let count = draw.between(3, 7) as usize;
        for (title, content, tags) in draw.some(NOTES, count) {
            let circle = circles[draw.below(circles.len())];
            let mut other = || &world.people[circle.members[draw.below(circle.members.len())]];
            let people = [&world.people[owner], other(), other()];
            let gaps = Gaps::new(&mut draw, circle, people);
            let created_at = draw.moment(date(2024, 6, 3), date(2025, 12, 20));
            let touched = draw.chance(40);
            notes.push(Note {
                owner,
                title: gaps.fill(title),
                content: gaps.fill(content),
                tags: tags.to_vec(),
                pinned: draw.chance(12),
                created_at,
                updated_at: if touched {
                    draw.later(created_at, 14_000).min(END.at(22, 0, 0, 0))
                } else {
                    created_at
                },
            });
        }
    }
    notes.sort_by_key(|note| note.created_at);
    notes
}
