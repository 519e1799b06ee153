//! Mailboxes: what people of one circle write to each other, and what shops and offices send them.

use jiff::civil::{DateTime, date};

use crate::draw::Draw;
use crate::people::{Circle, Kind};
use crate::words::Gaps;
use crate::{END, World};

/// Emails that belong together, the oldest first.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub emails: Vec<Email>,
    /// How the threads of people differ from fresh ones.
    pub flags: Vec<(usize, Flags)>,
}

#[derive(Debug, Clone)]
pub struct Email {
    pub from: String,
    pub to: Vec<String>,
    /// Those of sender and recipients who have a mailbox, the sender first.
    pub subject: String,
    pub body: String,
    /// File names.
    pub attachments: Vec<String>,
    pub sent_at: DateTime,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Flags {
    pub read: bool,
    pub starred: bool,
    pub archived: bool,
    pub label: Option<&'static str>,
}

/// A subject and what is written in turns: the first email goes to several, the second one answers it, and so on.
type Talk = (&'static str, &'static [&'static str], Option<&'static str>);

const AT_WORK: &[Talk] = &[
    (
        "{plan}: where we stand on {day}",
        &[
            "Hello {you},\n\na short word on {plan} before {day}. {part} is done, and I have put it into the shared folder. What \
         is missing is the decision on the dates; without it I cannot order anything.\n\nCould you look at it by {time}? \
         I have kept {room} free for us in case it needs talking about.\n\n{me}",
            "Thanks, {me}. I read it on the train. Two remarks: the numbers on page {number} are last year's, and {third} \
         should be asked before we promise a date.\n\nOtherwise go ahead.\n{you}",
            "Good catch. I have corrected page {number} and sent it to {third}. I will come back to you when there is an \
         answer.\n\n{me}",
        ],
        Some("status.pdf"),
    ),
    (
        "Minutes: {plan}",
        &[
            "Dear all,\n\nhere is what we agreed on in {room}:\n\n- {third} takes over {part}.\n- {you} rings the supplier and \
         asks for {amount} or less.\n- The next meeting is on {day} at {time}.\n\nTell me if I got something wrong.\n{me}",
        ],
        Some("minutes.pdf"),
    ),
    (
        "Can you swap with me on {day}?",
        &[
            "Hi {you},\n\nI have a dentist at {time} on {day} and nobody for the desk. Would you swap with me? I can take your \
         late shift in return.\n\n{me}",
            "Yes, fine. I take {day}, you take my next late one. Please tell {third}, who does the plan.\n\n{you}",
        ],
        None,
    ),
    (
        "Invoice {number}07 - a question",
        &[
            "Hello {you},\n\ninvoice {number}07 came in at {amount}, but the offer said less. Do you remember what we agreed \
         on for {plan}? I would rather not pay it before I know.\n\n{me}",
            "I do: delivery was to be included. I will ring them today and ask for a new invoice. Please leave it \
         unpaid.\n\n{you}",
            "They agreed. The new one should be here by {day}.\n{you}",
        ],
        Some("invoice.pdf"),
    ),
    (
        "Welcome to {circle}",
        &[
            "Dear {you},\n\nwelcome! On your first day somebody will meet you at {time} at the door. You will get a key, a \
         locker and a tour. {third} sits next to you and knows where everything is, the biscuits too.\n\nIf you have \
         questions before that, just write.\n{me}",
        ],
        None,
    ),
    (
        "Feedback on {part}",
        &[
            "{you}, I have gone through {part}. It is clear and about the right length. I would move the section on costs to \
         the front, because that is what they will ask about first, and leave out the second table.\n\nIf you have the \
         time, add a line on what happens when {plan} is late.\n\n{me}",
            "That helps. I will do both tonight and send it round on {day}.\n\n{you}",
        ],
        None,
    ),
    (
        "Visitors on {day}",
        &[
            "Hello everybody,\n\non {day} about {number} visitors come to see our {activity} work. Please leave {room} tidy \
         and be there at {time}. {third} shows them round, I do the coffee.\n\n{me}",
            "I can help with the chairs from half an hour before.\n{you}",
        ],
        None,
    ),
    (
        "The printer, again",
        &[
            "Before anybody else tries: the printer on our floor is broken until {day}. Use the one by {room}, and please do \
         not pull the tray.\n\n{me}",
        ],
        None,
    ),
    (
        "Holiday plan",
        &[
            "Hi {you}, the holiday plan has a hole: nobody is here for {plan} in the last week of the month. Can you move \
         yours by some days, or shall I ask {third}?\n\n{me}",
            "Ask {third} first, please: our tickets are booked. If it does not work out we find something.\n{you}",
            "{third} says yes. All settled.\n{me}",
        ],
        None,
    ),
];

const IN_A_CLUB: &[Talk] = &[
    (
        "{plan}: who comes?",
        &[
            "Dear friends of {activity},\n\nit is time to plan {plan}. I need to know by {day} who comes, so that I can book. \
         It will be about {amount} each, and we share the cars.\n\nPlease answer to me, not to all.\n{me}",
            "Count me in, and one seat in my car is free. I can bring {dish} for the evening.\n\n{you}",
        ],
        Some("plan.pdf"),
    ),
    (
        "Next meeting: {day} at {time}",
        &[
            "Hello,\n\nwe meet on {day} at {time}, at {venue}. {third} brings the list, I bring {dish}. New faces are \
         welcome.\n\n{me}",
        ],
        None,
    ),
    (
        "Lost: one blue bottle",
        &[
            "Somebody left a blue bottle and a scarf at {venue} last time. I keep them until {day}; then they go to the \
         cupboard.\n\n{me}",
            "The scarf is mine! I will fetch it on {day}. Thank you.\n{you}",
        ],
        None,
    ),
    (
        "Fees for the year",
        &[
            "Dear all,\n\nthe fee for {circle} stays at {amount}. Please send it by the end of the month, and tell me if this \
         year is difficult: we have a pot for that.\n\n{me}",
            "Sent this morning. Thanks for keeping the books, {me}.\n\n{you}",
        ],
        None,
    ),
    (
        "Photographs",
        &[
            "Hi {you},\n\nhere are some photographs from last time. The one with {third} in the rain is my favourite. May we \
         put it on the notice board at {venue}?\n\n{me}",
            "Of course, ask {third} too. They are lovely!\n{you}",
        ],
        Some("photographs.zip"),
    ),
    (
        "A beginner asks",
        &[
            "Hello {you},\n\na friend of mine would like to try {activity}. Is there equipment to borrow, and is {day} a good \
         day to begin?\n\n{me}",
            "Any {day} is fine. We have enough to lend for {number} people. Tell your friend to be there at {time}.\n\n{you}",
            "Thank you! We will both come.\n{me}",
        ],
        None,
    ),
];

const AT_HOME: &[Talk] = &[
    (
        "{plan}",
        &[
            "Hi {you}, somebody comes for {plan} on {day}, between {time} and noon. Can you be here? I have to leave \
         early.\n\n{me}",
            "I work from home that day. Leave the papers on the kitchen table.\n{you}",
        ],
        None,
    ),
    (
        "Dinner on {day}",
        &[
            "I thought of {dish} for {day}. Shall I ask {third} as well? We need {food} and {food2}.\n\n{me}",
            "Yes to both! I buy {food} on the way, you get {food2}.\n{you}",
        ],
        None,
    ),
    (
        "The electricity bill",
        &[
            "It is {amount} this time, more than last year. I paid it and put it into the shared expenses. We could have a \
         look at the old freezer.\n\n{me}",
            "Thanks. I have wondered about the freezer too. Let us read the meter on {day}.\n{you}",
        ],
        Some("bill.pdf"),
    ),
    (
        "Rota for the bathroom",
        &[
            "Dear housemates,\n\nnew month, new rota: {you} does the bathroom, {third} the kitchen, I do the stairs. Bins go \
         out on {day} evening.\n\n{me}",
        ],
        None,
    ),
];

/// Sender, subject and text; they have no account here.
const FROM_OUTSIDE: &[(&str, &str, &str)] = &[
    (
        "library@alderhaven.example",
        "Two books are due on {day}",
        "Dear {you},\n\ntwo of the books that you borrowed are \
      due on {day}. You can renew them once, unless somebody has asked for them.\n\nAlderhaven Public Library",
    ),
    (
        "dispatch@parcelhare.example",
        "Your parcel is on its way",
        "Good news, {you}: parcel {number}4-881 has left our \
      depot. It should be with you on {day} before {time}. If nobody is at home it goes to {venue}.",
    ),
    (
        "service@mellowbank.example",
        "Your statement is ready",
        "Dear customer,\n\nyour statement for last month is ready. \
      The largest single payment was {amount}. We never ask for your password by email.",
    ),
    (
        "news@theplumletter.example",
        "This week: {dish}, and why bread fails",
        "Hello {you},\n\nthis week we cook {dish} \
      three ways, ask a baker why bread fails, and give away {number} tickets for {venue}. Scroll down for the \
      seasonal calendar.",
    ),
    (
        "reception@cityeyeclinic.example",
        "Your appointment on {day}",
        "Dear {you},\n\nthis is to remind you of your \
      appointment on {day} at {time}. Please bring your glasses, and let us know a day before if you cannot come.",
    ),
    (
        "tickets@lanternhall.example",
        "Your tickets for {day}",
        "Thank you for your booking. Two seats in row {number} \
      are yours; show this email at the door. Doors open at {time}. There is a cloakroom.",
    ),
    (
        "office@fernlettings.example",
        "Inspection of smoke alarms",
        "Dear tenant,\n\nour technician checks the smoke \
      alarms on {day} from {time} on and needs about {number} minutes in each flat. If nobody can be there, please \
      name a neighbour with a key.",
    ),
    (
        "winner@quickprize.example",
        "You have been chosen",
        "Dear friend, you have been chosen for a prize of \
      {amount},000. To receive it, send us your account number and a small fee today. This offer ends on {day}!",
    ),
];

const LABELS: &[&str] = &["Work", "Home", "Receipts", "Later", "Friends"];

pub(crate) fn generate(world: &World) -> Vec<Conversation> {
    let mut draw = Draw::new(world.seed, "mail");
    let mut mail = Vec::new();
    for circle in world
        .circles
        .iter()
        .filter(|circle| circle.members.len() > 1)
    {
        let talks = match circle.kind {
            Kind::Firm => AT_WORK,
            Kind::Club => IN_A_CLUB,
            Kind::Household => AT_HOME,
        };
        for member in &circle.members {
            for _ in 0..draw.between(1, 2) {
                let talk = talks[draw.below(talks.len())];
                mail.push(conversation(world, &mut draw, circle, *member, talk));
            }
        }
    }
    for (person, circle) in (0..world.people.len()).map(|person| (person, world.firm_of(person))) {
        for _ in 0..2 {
            mail.push(from_outside(world, &mut draw, circle, person));
        }
    }
    mail.sort_by_key(|conversation| conversation.emails[0].sent_at);
    mail
}

fn conversation(
    world: &World,
    draw: &mut Draw,
    circle: &Circle,
    me: usize,
    (subject, bodies, attachment): Talk,
) -> Conversation {
    let others: Vec<usize> = circle
        .members
        .iter()
        .copied()
        .filter(|it| *it != me)
        .collect();
    let count = draw.below(others.len().min(3)) + 1;
    let others = draw.some(&others, count);
    let (you, third) = (others[0], others.last().copied().unwrap_or(me));
    let gaps = Gaps::new(
        draw,
        circle,
        [me, you, third].map(|person| &world.people[person]),
    );
    let subject = gaps.fill(subject);
    let mut sent_at = draw.moment(date(2025, 3, 3), END);
    let address = |person: &usize| world.people[*person].email.clone();
    let mut emails = Vec::new();
    for (turn, body) in bodies.iter().enumerate() {
        // The signature tells who writes: a talk may have two emails of the same person in a row.
        let from = if body.trim_end().ends_with("{you}") {
            you
        } else {
            me
        };
        let to: Vec<usize> = if turn == 0 {
            others.clone()
        } else {
            vec![if from == me { you } else { me }]
        };
        let attached = attachment.filter(|_| turn == 0 && draw.chance(50));
        emails.push(Email {
            from: address(&from),
            to: to.iter().map(address).collect(),
            subject: if turn == 0 {
                subject.clone()
            } else {
                format!("Re: {subject}")
            },
            body: gaps.fill(body),
            attachments: attached.into_iter().map(str::to_owned).collect(),
            sent_at,
        });
        sent_at = draw.later(sent_at, 900).min(END.at(23, 0, 0, 0));
    }
    let flags = std::iter::once(me)
        .chain(others)
        .map(|person| (person, flags(draw)));
    let flags = flags.collect();
    Conversation { emails, flags }
}

fn from_outside(world: &World, draw: &mut Draw, circle: &Circle, person: usize) -> Conversation {
    let (from, subject, body) = FROM_OUTSIDE[draw.below(FROM_OUTSIDE.len())];
    let gaps = Gaps::new(draw, circle, [&world.people[person]; 3]);
    let email = Email {
        from: from.to_owned(),
        to: vec![world.people[person].email.clone()],
        subject: gaps.fill(subject),
        body: gaps.fill(body),
        attachments: Vec::new(),
        sent_at: draw.moment(date(2025, 6, 2), END),
    };
    Conversation {
        emails: vec![email],
        flags: vec![(person, flags(draw))],
    }
}

fn flags(draw: &mut Draw) -> Flags {
    Flags {
        read: draw.chance(75),
        starred: draw.chance(8),
        archived: draw.chance(20),
        label: draw.chance(15).then(|| draw.pick(LABELS)),
    }
}

impl World {
    pub(crate) fn firm_of(&self, person: usize) -> &Circle {
        let mine = |circle: &&Circle| circle.kind == Kind::Firm && circle.members.contains(&person);
        // Everybody works somewhere.
        self.circles.iter().find(mine).unwrap_or(&self.circles[0])
    }
}
