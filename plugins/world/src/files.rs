//! Everybody's files: a home directory with a few folders.

use jiff::civil::{DateTime, date};

use crate::World;
use crate::draw::Draw;
use crate::words::Gaps;

#[derive(Debug, Clone)]
pub struct Home {
    pub owner: usize,
    /// What lies in it; the directories stand before what is in them.
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub struct Entry {
    /// Relative to the home directory: `Documents/rent.txt`.
    pub path: String,
    /// None for a directory.
    pub content: Option<String>,
    pub created_at: DateTime,
}

const FILES: &[(&str, &str)] = &[
    (
        "Documents/rent.txt",
        "Rent for the flat: {amount} a month, due on the third.\nLandlord: Fern Lettings.\nDeposit paid in full.",
    ),
    (
        "Documents/cv.txt",
        "{me}\n\nWorks in {activity} for {circle}.\nBefore that: warehouse, evening school, a year abroad.\nLikes {dish}.",
    ),
    (
        "Documents/letters/complaint.txt",
        "Dear Sir or Madam,\n\nthe parcel that came on {day} was open, and two of {number} \
      pieces were missing. Please send them again or return {amount}.\n\n{me}",
    ),
    (
        "Documents/bills/power.csv",
        "month,amount\n2025-09,{amount}\n2025-10,{amount}\n2025-11,{amount}\n",
    ),
    (
        "Documents/bills/phone.txt",
        "Phone: {amount}, paid on {day}.",
    ),
    (
        "Work/{part}.md",
        "# {plan}\n\nState: open\n\n- {you} delivers until {day}\n- {third} checks\n- costs so far: {amount}\n",
    ),
    (
        "Work/minutes.md",
        "# Minutes\n\n{day}, {time}, {room}. There: {me}, {you}, {third}.\n\n1. {plan}: goes on as planned.\n2. Next time: {part}.\n",
    ),
    (
        "Work/contacts.csv",
        "name,role\n{you},first contact\n{third},accounts\n",
    ),
    (
        "Pictures/list.txt",
        "001 {venue}\n002 {venue}, evening\n003 {third} with a cake\n004 out of focus\n",
    ),
    (
        "Downloads/ticket.txt",
        "Seat {number}, {day} {time}. Not transferable.",
    ),
    (
        "Downloads/manual.txt",
        "1. Unplug the device.\n2. Wait for {number} seconds.\n3. Hold both buttons.\n4. If it blinks, begin again.\n",
    ),
    (
        "ideas.txt",
        "- a shelf for the hall\n- {dish} for everybody\n- learn to do {chore} myself\n",
    ),
];

pub(crate) fn generate(world: &World) -> Vec<Home> {
    let mut draw = Draw::new(world.seed, "files");
    let of = |owner: usize| {
        let circle = world.firm_of(owner);
        let mut other = || &world.people[circle.members[draw.below(circle.members.len())]];
        let gaps = Gaps::new(
            &mut Draw::new(owner as u64, "file gaps"),
            circle,
            [&world.people[owner], other(), other()],
        );
        let count = draw.between(4, 9) as usize;
        let mut files: Vec<(String, String)> = draw
            .some(FILES, count)
            .into_iter()
            .map(|(path, content)| (gaps.fill(path).replace(' ', "-"), gaps.fill(content)))
            .collect();
        files.sort();
        let created_at = draw.moment(date(2023, 5, 8), date(2025, 12, 12));
        let mut entries: Vec<Entry> = Vec::new();
        for (path, content) in files {
            for (end, _) in path.match_indices('/') {
                let folder = &path[..end];
                if !entries.iter().any(|entry| entry.path == folder) {
                    entries.push(Entry {
                        path: folder.to_owned(),
                        content: None,
                        created_at,
                    });
                }
            }
            let created_at = draw.later(created_at, 20_000);
            entries.push(Entry {
                path,
                content: Some(content),
                created_at,
            });
        }
        Home { owner, entries }
    };
    (0..world.people.len()).map(of).collect()
}
