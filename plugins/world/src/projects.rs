//! What is to be done: projects of firms and clubs, shared with colleagues and friends, and lists of one's own.

use jiff::civil::{Date, DateTime, date};

use crate::draw::Draw;
use crate::people::{Circle, Kind};
use crate::words::Gaps;
use crate::{END, World};

/// A label of somebody; its place in the list counts from 0.
#[derive(Debug, Clone)]
pub struct Label {
    pub owner: usize,
    pub name: &'static str,
    pub color: &'static str,
}

#[derive(Debug, Clone)]
pub struct Project {
    pub owner: usize,
    pub name: String,
    pub description: String,
    pub color: &'static str,
    pub collaborators: Vec<usize>,
    pub archived: bool,
    pub created_at: DateTime,
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone)]
pub struct Section {
    pub name: &'static str,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone)]
pub struct Task {
    pub title: String,
    pub description: String,
    pub due_date: Option<Date>,
    pub priority: &'static str,
    /// In hours.
    pub duration: Option<u32>,
    pub completed: bool,
    pub assignee: Option<usize>,
    /// Places in `labels`, of the project's owner.
    pub labels: Vec<usize>,
    pub sub_tasks: Vec<(String, bool)>,
    pub comments: Vec<Comment>,
    pub created_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct Comment {
    pub author: usize,
    pub content: String,
    pub created_at: DateTime,
}

const COLORS: &[&str] = &["Charcoal", "Red", "Blue", "Green", "Orange", "Yellow"];
const SECTIONS: &[[&str; 3]] = &[
    ["Next", "Waiting", "Done"],
    ["Preparation", "Doing", "Afterwards"],
    ["Ideas", "This week", "Checked"],
];

const TOGETHER: &[(&str, &str, &[&str])] = &[
    (
        "Finish {part}",
        "Last version is in the shared folder. {you} has the figures.",
        &["Read it once more", "Send to {you}"],
    ),
    (
        "Book {room} for {day}",
        "From {time} on, for {number} people.",
        &[],
    ),
    (
        "Get three offers",
        "Not above {amount}. Ask about delivery.",
        &[
            "Ring the first",
            "Ring the second",
            "Ask {third} for a third",
        ],
    ),
    ("Ask {you} about the dates", "", &[]),
    (
        "Write the announcement for {plan}",
        "Half a page, friendly, with the date in the first line.",
        &["Draft", "Let {third} read it", "Print {number} copies"],
    ),
    (
        "Check {part} against the list",
        "Something does not add up on page {number}.",
        &[],
    ),
    (
        "Invite everybody to {venue}",
        "{day} at {time}.",
        &["List of guests", "Send it"],
    ),
    (
        "Return the borrowed equipment",
        "It belongs to {third}.",
        &[],
    ),
    (
        "Thank the helpers",
        "A card and some cake, at most {amount}.",
        &[],
    ),
    (
        "Plan B for bad weather",
        "Just in case. {venue} has a roof.",
        &[],
    ),
];
const ALONE: &[(&str, &str, &[&str])] = &[
    ("Buy {food} and {food2}", "", &[]),
    (
        "{chore}",
        "Ring before {day}.",
        &["Find the number", "Make a date"],
    ),
    ("Answer {third}", "About {day}.", &[]),
    ("Pay {amount} to {you}", "For the tickets.", &[]),
    (
        "Cook {dish} for {number}",
        "",
        &["Buy {food}", "Borrow the big pot"],
    ),
    ("Renew the library card", "{venue}, until {time}.", &[]),
    (
        "Plan the holidays",
        "Somewhere with water.",
        &["Ask for days off", "Look at trains"],
    ),
];
const COMMENTS: &[&str] = &[
    "I can take this one.",
    "Waiting for an answer since {day}.",
    "Done but for the last bit; {third} looks at it.",
    "Do we still need it?",
    "Moved to {day}, they had no time before.",
    "The number is {number}, I checked.",
];

pub(crate) fn labels(world: &World) -> Vec<Label> {
    const NAMES: &[&str] = &["urgent", "quick", "phone", "errand", "waiting", "reading"];
    let mut draw = Draw::new(world.seed, "labels");
    let of = |owner| {
        let count = draw.between(1, 3) as usize;
        let names = draw.some(NAMES, count);
        names
            .into_iter()
            .map(|name| Label {
                owner,
                name,
                color: draw.pick(COLORS),
            })
            .collect::<Vec<_>>()
    };
    (0..world.people.len()).flat_map(of).collect()
}

pub(crate) fn generate(world: &World) -> Vec<Project> {
    let mut draw = Draw::new(world.seed, "projects");
    let labels = labels(world);
    let mut projects = Vec::new();
    for circle in &world.circles {
        if circle.kind == Kind::Household {
            for owner in &circle.members {
                let owner = &[*owner];
                projects.push(project(
                    world,
                    &mut draw,
                    &labels,
                    circle,
                    "Home and errands",
                    owner,
                    ALONE,
                ));
            }
            continue;
        }
        for plan in &circle.plans {
            let members = draw.some(&circle.members, 6);
            if let [_, _, ..] = members[..] {
                projects.push(project(
                    world, &mut draw, &labels, circle, plan, &members, TOGETHER,
                ));
            }
        }
    }
    projects.sort_by_key(|project| project.created_at);
    projects
}

fn project(
    world: &World,
    draw: &mut Draw,
    labels: &[Label],
    circle: &Circle,
    name: &str,
    members: &[usize],
    tasks: &[(&str, &str, &[&str])],
) -> Project {
    let owner = members[0];
    let created_at = draw.moment(date(2025, 1, 13), date(2025, 10, 31));
    let own: Vec<usize> = (0..labels.len())
        .filter(|label| labels[*label].owner == owner)
        .collect();
    let mut section = |name| {
        let count = draw.between(1, 4) as usize;
        let tasks = draw.some(tasks, count);
        let tasks = tasks
            .into_iter()
            .map(|text| task(world, draw, circle, members, &own, created_at, text));
        Section {
            name,
            tasks: tasks.collect(),
        }
    };
    let names = SECTIONS[name.len() % SECTIONS.len()];
    let sections = names.into_iter().map(&mut section).collect();
    Project {
        owner,
        name: crate::words::capitalised(name),
        description: match members {
            [_] => String::new(),
            _ => format!("{}: what is to be done for {name}.", circle.name),
        },
        color: draw.pick(COLORS),
        collaborators: members[1..].to_vec(),
        archived: draw.chance(6),
        created_at,
        sections,
    }
}

fn task(
    world: &World,
    draw: &mut Draw,
    circle: &Circle,
    members: &[usize],
    labels: &[usize],
    after: DateTime,
    (title, description, sub_tasks): (&str, &str, &[&str]),
) -> Task {
    let mut member = || members[draw.below(members.len())];
    let (me, you, third) = (members[0], member(), member());
    let gaps = Gaps::new(
        draw,
        circle,
        [me, you, third].map(|person| &world.people[person]),
    );
    let created_at = draw.moment(after.date().tomorrow().unwrap_or(END), date(2025, 12, 10));
    let count = draw.below(3);
    let mut said_at = created_at;
    let mut comment = |author| {
        said_at = draw.later(said_at, 4000).min(END.at(20, 0, 0, 0));
        let content = gaps.fill(draw.pick(COMMENTS));
        Comment {
            author,
            content,
            created_at: said_at,
        }
    };
    let comments = [you, third]
        .into_iter()
        .take(if members.len() > 1 { count } else { 0 })
        .map(&mut comment)
        .collect();
    Task {
        title: gaps.fill(title),
        description: gaps.fill(description),
        due_date: draw
            .chance(60)
            .then(|| draw.date(created_at.date(), date(2026, 2, 20))),
        priority: draw.pick(&["Low", "Medium", "Medium", "High"]),
        duration: draw.chance(30).then(|| draw.between(1, 8)),
        completed: draw.chance(35),
        assignee: (members.len() > 1 && draw.chance(60)).then_some(you),
        labels: if draw.chance(25) {
            draw.some(labels, 1)
        } else {
            Vec::new()
        },
        sub_tasks: sub_tasks
            .iter()
            .map(|text| (gaps.fill(text), draw.chance(40)))
            .collect(),
        comments,
        created_at,
    }
}
