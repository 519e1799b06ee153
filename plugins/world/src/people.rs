//! Who lives in the world, and with whom they live, work and spend their evenings. All else is about these people.

use jiff::civil::{Date, DateTime, date};

use crate::draw::Draw;

/// How many there are.
const COUNT: usize = 128;

const FIRST_NAMES: &str = "Ada Alban Amara Anselm Aoife Arlo Bastian Beatrix Benno Bram Calla Casimir Celeste Cormac \
    Dagny Dario Delphine Dunstan Edda Eloise Emeric Enid Esme Fabian Farida Felix Fenella Florian Freya Gideon Greta \
    Hadley Hamish Hanneke Hugo Ida Ilse Imani Ingrid Isidor Jarek Jasmin Jonas Juno Kasimir Keziah Lars Leonie Linus \
    Livia Lorcan Lucan Maeve Magnus Malin Marius Mathilda Mila Milo Nadia Niall Noemi Odile Olaf Oona Orson Ottilie \
    Pascal Petra Philippa Quentin Rafael Ragna Ramona Remy Rhona Roland Rosalind Rufus Sabine Saskia Selma Sigrid \
    Silvan Soren Tabitha Tamsin Thea Theo Tobias Una Ursula Valentin Vera Viggo Wanda Wendell Wilma Yara Yusuf Zelda";

const LAST_NAMES: &str = "Abery Alderton Ambry Ashgrove Barrowby Bellweather Birchall Blackwater Bramley Brookhouse \
    Calloway Carrick Chalkley Coldwell Copperfield Cragmoor Dewhurst Dovecote Drayton Eastlake Elderfield Fairbrook \
    Fenwood Ferriman Foxworth Garlandy Goldsmede Greenhalgh Grimsdal Halloway Harkness Hartfell Hazelton Heronby \
    Hollins Ironside Jessop Kestrel Kingsmere Larkspur Lindqvist Longacre Lowther Marchbank Meadowcroft Merriden \
    Millhouse Moorcroft Nettleton Nightingale Oakhurst Orchard Pemberley Penhallow Pickering Quarrie Ravenhill \
    Redfern Rookwood Rowanby Saltonby Sandhurst Sedgewick Silverlake Snowdell Stanmere Summerby Swanwick Tarnfield \
    Thistlewood Thornby Tidewell Underhay Valecroft Wainfleet Waterby Weatherall Westerby Whitlock Wildsmith \
    Winterbourne Woodrow Yarrow Yewdale";

const STREETS: &str = "Mill Lane|Quarry Row|Lantern Street|Harbour Walk|Orchard Road|Chapel Hill|Ropemaker Street|\
    Canal Side|Beacon Road|Linden Avenue|Saltern Way|Foundry Street|Meadow Close|Weaver Street|Station Parade|\
    Heron Court|Tannery Yard|Poplar Drive";

/// Invented places with the states and zip codes that shops ask for.
const CITIES: &[(&str, &str, u32)] = &[
    ("Alderhaven", "Oregon", 97_118),
    ("Brackwater", "Maine", 4_017),
    ("Corrin Falls", "Vermont", 5_093),
    ("Dunmarrow", "Washington", 98_344),
    ("Ellery", "Ohio", 43_977),
    ("Fennick", "Wisconsin", 54_119),
];

const MAIL_DOMAINS: &[&str] = &[
    "larkmail.example",
    "postern.example",
    "inkwell.example",
    "brightpost.example",
];

/// Name, mail domain and what is made there, with the projects that are under way.
const FIRMS: &[(&str, &str, &str, [&str; 2])] = &[
    (
        "Copperleaf Studio",
        "copperleaf.example",
        "design",
        ["museum signage", "Harbour Fair posters"],
    ),
    (
        "Northgate Surveyors",
        "northgate.example",
        "surveying",
        ["Ferry Road boundary", "reservoir levels"],
    ),
    (
        "Tern Logistics",
        "ternlogistics.example",
        "freight",
        ["winter timetable", "cold store move"],
    ),
    (
        "Hallam & Rook",
        "hallamrook.example",
        "accounting",
        ["year-end audit", "payroll handover"],
    ),
    (
        "Willowbrook Clinic",
        "willowbrook.example",
        "health care",
        ["flu clinic", "record scanning"],
    ),
    (
        "Bluestone Press",
        "bluestonepress.example",
        "publishing",
        ["spring catalogue", "atlas reprint"],
    ),
    (
        "Ardent Kitchens",
        "ardentkitchens.example",
        "catering",
        ["wedding season menu", "second kitchen"],
    ),
    (
        "Fieldmouse Software",
        "fieldmouse.example",
        "software",
        ["booking app", "billing clean-up"],
    ),
    (
        "Larch Academy",
        "larchacademy.example",
        "teaching",
        ["science week", "library refit"],
    ),
    (
        "Sable Coffee Roasters",
        "sablecoffee.example",
        "coffee",
        ["autumn blend", "roastery open day"],
    ),
    (
        "Greywether Museum",
        "greywether.example",
        "exhibitions",
        ["clockmakers show", "loan agreements"],
    ),
    (
        "Osprey Solar",
        "ospreysolar.example",
        "solar power",
        ["school roof", "battery trial"],
    ),
];

/// Name, what it does together, and the trip that is planned.
const CLUBS: &[(&str, &str, &str)] = &[
    (
        "Tuesday Runners",
        "running",
        "the Corrin Falls half marathon",
    ),
    ("Quarry Climbers", "climbing", "a weekend at Hartfell crag"),
    (
        "Harbour Choir",
        "singing",
        "the winter concert in Brackwater",
    ),
    (
        "Board Game Evening",
        "board games",
        "a games weekend in a cabin",
    ),
    (
        "Allotment Neighbours",
        "gardening",
        "a bulk order of compost and seeds",
    ),
    ("Film Circle", "films", "the short film festival in Ellery"),
    (
        "Canal Paddlers",
        "paddling",
        "three days on the Dunmarrow canal",
    ),
    ("Book Table", "reading", "an evening with an author"),
    ("Stargazers", "astronomy", "a night at the observatory"),
    ("Sunday Cyclists", "cycling", "the coast road to Saltern"),
];

/// Somebody with an account in every app.
#[derive(Debug, Clone)]
pub struct Person {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    /// Ten digits.
    pub phone_number: String,
    pub registered_at: DateTime,
    pub birthday: Date,
    pub home: Place,
    pub work: Place,
    pub household: usize,
    pub firm: usize,
    pub club: usize,
}

impl Person {
    /// First and last name.
    pub fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
    }
}

/// Where parcels and visitors go.
#[derive(Debug, Clone)]
pub struct Place {
    pub street: String,
    pub city: &'static str,
    pub state: &'static str,
    pub zip_code: u32,
}

impl Place {
    /// On one line.
    pub fn text(&self) -> String {
        let Self {
            street,
            city,
            state,
            zip_code,
        } = self;
        format!("{street}, {city}, {state} {zip_code:05}")
    }
}

/// People who have something to do with each other, by their places in the list of people.
#[derive(Debug, Clone)]
pub struct Circle {
    pub kind: Kind,
    pub name: String,
    /// What it makes or does.
    pub activity: &'static str,
    /// What is under way: projects of a firm, the trip of a club, nothing at home.
    pub plans: Vec<&'static str>,
    pub members: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Household,
    Firm,
    Club,
}

/// Everybody, by address, and all circles.
pub(crate) fn generate(seed: u64) -> (Vec<Person>, Vec<Circle>) {
    let mut draw = Draw::new(seed, "people");
    let mut first_names: Vec<&str> = FIRST_NAMES.split_whitespace().collect();
    let mut last_names: Vec<&str> = LAST_NAMES.split_whitespace().collect();
    draw.shuffle(&mut first_names);
    draw.shuffle(&mut last_names);
    let mut people = Vec::new();
    let mut households = 0;
    while people.len() < COUNT {
        let size = draw.below(4) + 1;
        let last_name = last_names[households % last_names.len()];
        let home = place(&mut draw);
        for _ in 0..size.min(COUNT - people.len()) {
            let first_name = first_names[people.len() % first_names.len()];
            people.push(person(&mut draw, first_name, last_name, households, &home));
        }
        households += 1;
    }
    people.sort_by(|a, b| a.email.cmp(&b.email));
    let circles = circles(&people, households);
    (people, circles)
}

fn person(
    draw: &mut Draw,
    first_name: &str,
    last_name: &str,
    household: usize,
    home: &Place,
) -> Person {
    let (firm, club) = (draw.below(FIRMS.len()), draw.below(CLUBS.len()));
    let domain = if draw.chance(40) {
        FIRMS[firm].1
    } else {
        draw.pick(MAIL_DOMAINS)
    };
    let email = format!("{first_name}.{last_name}@{domain}").to_lowercase();
    let mut office = Draw::new(firm as u64, "offices");
    Person {
        first_name: first_name.to_owned(),
        last_name: last_name.to_owned(),
        email,
        // 555-01xx is left to personas.
        phone_number: format!("555{}{:06}", draw.between(2, 9), draw.between(0, 999_999)),
        registered_at: draw.moment(date(2018, 1, 8), date(2021, 11, 30)),
        birthday: draw.date(date(1955, 1, 1), date(2004, 12, 31)),
        home: home.clone(),
        work: place(&mut office),
        household,
        firm,
        club,
    }
}

fn place(draw: &mut Draw) -> Place {
    let streets: Vec<&str> = STREETS.split('|').collect();
    let (city, state, zip_code) = CITIES[draw.below(CITIES.len())];
    let street = format!("{} {}", draw.between(1, 140), draw.pick(&streets));
    Place {
        street,
        city,
        state,
        zip_code,
    }
}

fn circles(people: &[Person], households: usize) -> Vec<Circle> {
    let members = |belongs: &dyn Fn(&Person) -> bool| -> Vec<usize> {
        (0..people.len())
            .filter(|index| belongs(&people[*index]))
            .collect()
    };
    let mut circles = Vec::new();
    for household in 0..households {
        let members = members(&|person| person.household == household);
        let home = &people[members[0]].home;
        circles.push(Circle {
            kind: Kind::Household,
            name: home.street.clone(),
            activity: "living together",
            plans: Vec::new(),
            members,
        });
    }
    for (firm, (name, _, activity, plans)) in FIRMS.iter().enumerate() {
        circles.push(Circle {
            kind: Kind::Firm,
            name: (*name).to_owned(),
            activity,
            plans: plans.to_vec(),
            members: members(&|person| person.firm == firm),
        });
    }
    for (club, (name, activity, trip)) in CLUBS.iter().enumerate() {
        circles.push(Circle {
            kind: Kind::Club,
            name: (*name).to_owned(),
            activity,
            plans: vec![*trip],
            members: members(&|person| person.club == club),
        });
    }
    circles
}
