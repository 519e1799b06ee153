//! A catalogue of music, and what people say about it.

use jiff::civil::{Date, DateTime, date};

use crate::draw::Draw;
use crate::words::capitalised;
use crate::{END, World};

#[derive(Debug)]
pub struct Music {
    pub artists: Vec<Artist>,
    pub albums: Vec<Album>,
    /// Those of an album stand together, in their order.
    pub songs: Vec<Song>,
    pub playlists: Vec<Playlist>,
    /// By moment; one of each person for a song.
    pub reviews: Vec<SongReview>,
}

#[derive(Debug, Clone)]
pub struct Artist {
    pub name: String,
    pub genre: &'static str,
    pub followers: u32,
    pub created_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct Album {
    pub title: String,
    pub artist: usize,
    pub genre: &'static str,
    pub release_date: Date,
    pub likes: u32,
    /// Tenths of a star.
    pub rating: u32,
    pub review_count: u32,
}

#[derive(Debug, Clone)]
pub struct Song {
    pub title: String,
    pub album: Option<usize>,
    pub artists: Vec<usize>,
    pub genre: &'static str,
    pub release_date: Date,
    /// In seconds.
    pub duration: u32,
    pub plays: u32,
    pub likes: u32,
}

#[derive(Debug, Clone)]
pub struct Playlist {
    pub owner: usize,
    pub title: String,
    pub public: bool,
    pub songs: Vec<usize>,
    pub created_at: DateTime,
    pub likes: u32,
    pub rating: u32,
    pub review_count: u32,
}

#[derive(Debug, Clone)]
pub struct SongReview {
    pub song: usize,
    pub user: usize,
    pub rating: u32,
    pub title: &'static str,
    pub text: &'static str,
    pub created_at: DateTime,
}

const ARTISTS: usize = 64;
const ALBUMS: usize = 84;
/// Besides those of the albums.
const SINGLES: usize = 40;

const GENRES: &[&str] = &[
    "folk",
    "indie",
    "jazz",
    "electronic",
    "pop",
    "soul",
    "classical",
    "rock",
    "ambient",
    "hip hop",
];

const ADJECTIVES: &[&str] = &[
    "Amber",
    "Broken",
    "Copper",
    "Distant",
    "Early",
    "Faithful",
    "Golden",
    "Hollow",
    "Idle",
    "Jagged",
    "Kindred",
    "Lonesome",
    "Midnight",
    "Northern",
    "Open",
    "Paper",
    "Quiet",
    "Restless",
    "Salted",
    "Tender",
    "Upward",
    "Velvet",
    "Wandering",
    "Young",
];
const NOUNS: &[&str] = &[
    "Anchor", "Bridge", "Candle", "Doorway", "Engine", "Ferry", "Garden", "Harbour", "Island",
    "Junction", "Kettle", "Lantern", "Mirror", "Needle", "Orchard", "Pilot", "Quarry", "River",
    "Signal", "Tunnel", "Umbrella", "Valley", "Window", "Yard",
];
const VERBS: &[&str] = &[
    "Waiting for",
    "Leaving",
    "Walking Past",
    "Dreaming of",
    "Counting",
    "Painting",
    "Losing",
    "Mending",
    "Singing to",
];
const NAMES: &[&str] = &[
    "Mara", "Ellis", "Juno", "Tobin", "Sable", "Wren", "Otto", "Lena", "Caspar", "Ines", "Rune",
    "Dove", "Piers", "Hale",
];

const REVIEWS: &[(u32, &str, &str)] = &[
    (
        5,
        "On repeat",
        "I have heard it a hundred times and still wait for the second verse.",
    ),
    (
        5,
        "Goose bumps",
        "The moment when the voice stops and only the strings go on. Headphones!",
    ),
    (
        4,
        "Good for mornings",
        "Light, but not shallow. It makes the dishes do themselves.",
    ),
    (
        4,
        "Grows on you",
        "Did not like it at first. Now it is the one that I skip to.",
    ),
    (
        3,
        "Nice enough",
        "Pleasant. The live version has more life in it.",
    ),
    (
        3,
        "Too long",
        "A good idea that would have been done after three minutes.",
    ),
    (2, "Not my thing", "Well played, but it leaves me cold."),
    (
        1,
        "Skip",
        "The drums are so loud that I could not hear the words.",
    ),
];
const PLAYLISTS: &[&str] = &[
    "Slow Sunday",
    "Train windows",
    "Focus, no words",
    "Cooking for friends",
    "Long runs",
    "Rain on the roof",
    "Songs we grew up with",
    "Late shift",
    "First coffee",
    "For the road",
    "Quiet evenings",
    "Loud kitchen",
    "Everything blue",
    "Ten years ago",
];

pub(crate) fn generate(world: &World) -> Music {
    let mut draw = Draw::new(world.seed, "music");
    let artists = artists(&mut draw);
    let albums = albums(&mut draw, &artists);
    let songs = songs(&mut draw, &artists, &albums);
    let people = world.people.len();
    Music {
        playlists: playlists(&mut draw, people, songs.len()),
        reviews: reviews(&mut draw, people, songs.len()),
        artists,
        albums,
        songs,
    }
}

fn artists(draw: &mut Draw) -> Vec<Artist> {
    let mut names: Vec<String> = Vec::new();
    while names.len() < ARTISTS {
        let name = match draw.below(4) {
            0 => format!("The {} {}s", draw.pick(ADJECTIVES), draw.pick(NOUNS)),
            1 => format!("{} {}", draw.pick(NAMES), draw.pick(NOUNS)),
            2 => format!("{} & the {}", draw.pick(NAMES), draw.pick(NOUNS)),
            _ => format!("{} {}", draw.pick(ADJECTIVES), draw.pick(NOUNS)),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let artist = |name| Artist {
        name,
        genre: draw.pick(GENRES),
        followers: draw.between(40, 90_000),
        created_at: draw.moment(date(2012, 1, 2), date(2021, 12, 20)),
    };
    names.into_iter().map(artist).collect()
}

fn albums(draw: &mut Draw, artists: &[Artist]) -> Vec<Album> {
    let album = |number: usize| {
        // Everybody has one before anybody has two.
        let artist = if number < artists.len() {
            number
        } else {
            draw.below(artists.len())
        };
        let title = title(draw);
        Album {
            title,
            artist,
            genre: artists[artist].genre,
            release_date: draw.date(date(2013, 2, 1), date(2025, 11, 14)),
            likes: draw.between(5, 20_000),
            rating: draw.between(25, 50),
            review_count: draw.between(1, 600),
        }
    };
    (0..ALBUMS).map(album).collect()
}

fn songs(draw: &mut Draw, artists: &[Artist], albums: &[Album]) -> Vec<Song> {
    let mut songs = Vec::new();
    let mut song = |draw: &mut Draw, album: Option<usize>, artist: usize, release_date| {
        let mut all = vec![artist];
        if draw.chance(12) {
            let guest = draw.below(artists.len());
            all.extend((guest != artist).then_some(guest));
        }
        songs.push(Song {
            title: title(draw),
            album,
            artists: all,
            genre: artists[artist].genre,
            release_date,
            duration: draw.between(110, 420),
            plays: draw.between(200, 4_000_000),
            likes: draw.between(3, 60_000),
        });
    };
    for (number, album) in albums.iter().enumerate() {
        for _ in 0..draw.between(4, 6) {
            song(draw, Some(number), album.artist, album.release_date);
        }
    }
    for _ in 0..SINGLES {
        let artist = draw.below(artists.len());
        let released = draw.date(date(2015, 1, 9), date(2025, 12, 5));
        song(draw, None, artist, released);
    }
    songs
}

fn title(draw: &mut Draw) -> String {
    let title = match draw.below(5) {
        0 => format!("{} the {}", draw.pick(VERBS), draw.pick(NOUNS)),
        1 => format!("{} {}", draw.pick(ADJECTIVES), draw.pick(NOUNS)),
        2 => format!("{} in the {}", draw.pick(NAMES), draw.pick(NOUNS)),
        3 => format!("{} and {}", draw.pick(NOUNS), draw.pick(NOUNS)),
        _ => format!("{} {} Blues", draw.pick(ADJECTIVES), draw.pick(NOUNS)),
    };
    capitalised(&title)
}

fn playlists(draw: &mut Draw, people: usize, songs: usize) -> Vec<Playlist> {
    let all: Vec<usize> = (0..songs).collect();
    let mut playlists = Vec::new();
    for owner in 0..people {
        for _ in 0..draw.between(0, 2) {
            let count = draw.between(5, 18) as usize;
            playlists.push(Playlist {
                owner,
                title: draw.pick(PLAYLISTS).to_owned(),
                public: draw.chance(65),
                songs: draw.some(&all, count),
                created_at: draw.moment(date(2022, 2, 7), END),
                likes: draw.between(0, 800),
                rating: draw.between(20, 50),
                review_count: draw.between(1, 40),
            });
        }
    }
    playlists.sort_by_key(|playlist| playlist.created_at);
    playlists
}

fn reviews(draw: &mut Draw, people: usize, songs: usize) -> Vec<SongReview> {
    let all: Vec<usize> = (0..songs).collect();
    let mut reviews = Vec::new();
    for user in 0..people {
        let count = draw.between(2, 7) as usize;
        for song in draw.some(&all, count) {
            let (rating, title, text) = REVIEWS[draw.below(REVIEWS.len())];
            reviews.push(SongReview {
                song,
                user,
                rating,
                title,
                text,
                created_at: draw.moment(date(2023, 1, 2), END),
            });
        }
    }
    reviews.sort_by_key(|review| review.created_at);
    reviews
}
