//! Music, and what people have made of it. Cards, subscriptions and players have no place here, nor have the texts of
//! reviews but those of songs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Database, Records, Row, Users, key, put, record};

/// The most artists that a song or album has here.
const ARTISTS: usize = 5;

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut records = Records::new();
    let (artists, known_artists) = artists(database);
    put(&mut records, "artists", artists);
    let likes = likes(database, users);
    let (albums, known_albums) = albums(database, &known_artists, &likes);
    put(&mut records, "albums", albums);
    let (songs, known_songs) = songs(database, &known_artists, &known_albums, &likes);
    put(&mut records, "songs", songs);
    let (playlists, known_playlists) = playlists(database, users, &known_songs, &likes);
    put(&mut records, "playlists", playlists);
    put(
        &mut records,
        "reviews",
        reviews(database, users, &known_songs),
    );
    let mut library = marks(
        database,
        users,
        "user_library_song",
        "song",
        "created_at",
        &known_songs,
    );
    library.extend(marks(
        database,
        users,
        "user_library_album",
        "album",
        "created_at",
        &known_albums,
    ));
    put(&mut records, "library", named(library, "added_at"));
    let mut hearts = likes.records(database, "song", &known_songs);
    hearts.extend(likes.records(database, "album", &known_albums));
    hearts.extend(likes.records(database, "playlist", &known_playlists));
    put(&mut records, "likes", hearts);
    let followed = marks(
        database,
        users,
        "user_artist_following",
        "artist",
        "created_at",
        &known_artists,
    );
    put(&mut records, "follows", named(followed, "followed_at"));
    let downloads = marks(
        database,
        users,
        "user_downloaded_song",
        "song",
        "downloaded_at",
        &known_songs,
    );
    put(&mut records, "downloads", named(downloads, "downloaded_at"));
    records
}

type Known = BTreeSet<i64>;

fn artists(database: &mut Database) -> (Vec<Value>, Known) {
    let (mut artists, mut known) = (Vec::new(), Known::new());
    database.mark_derived("artist", &["search_text"]);
    for row in database.rows("artist", &["id", "name", "genre", "created_at"]) {
        let (Some(id), Some(name), Some(genre)) = (row.id(), row.text("name"), row.text("genre"))
        else {
            database.skip("artist", "no name or no genre");
            continue;
        };
        known.insert(id);
        artists.push(record(json!({
            "id": key("artist", id),
            "name": name,
            "genre": genre,
            "created_at": row.moment("created_at"),
        })));
    }
    (artists, known)
}

/// The first artists of a row that are known.
fn performers(row: &Row, artists: &Known) -> Vec<String> {
    let mut ids: Vec<i64> = Vec::new();
    for id in row.integers("artist_ids") {
        if !artists.contains(&id) {
            row.note_loss("artist_ids", "not whole: an artist that is not there");
        } else if ids.len() == ARTISTS && !ids.contains(&id) {
            row.note_loss("artist_ids", "not whole: more than 5 artists");
        } else if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.iter().map(|id| key("artist", *id)).collect()
}

/// Likes that no record of somebody's stands for: the app counts those itself.
fn other_likes(row: &Row, counted: usize) -> u64 {
    let Some(all) = row.integer("like_count") else {
        return 0;
    };
    let others = u64::try_from(all)
        .ok()
        .and_then(|all| all.checked_sub(counted as u64));
    let reason = "changed: fewer likes than there are records of";
    row.or_lost(others, "like_count", reason)
        .unwrap_or_default()
}

/// The rating with the number of its reviews; nothing without one.
fn rating(row: &Row) -> (Option<f64>, Option<i64>) {
    let count = row.integer("review_count").filter(|count| *count > 0);
    let rating = row
        .number("rating")
        .filter(|rating| *rating != 0.0 || count.is_some());
    if let Some(rating) = rating
        && !(count.is_some() && (1.0..=5.0).contains(&rating))
    {
        row.note_loss("rating", "not from 1 to 5, or of no reviews");
        return (None, None);
    }
    (rating, count.filter(|_| rating.is_some()))
}

fn albums(database: &mut Database, artists: &Known, likes: &Likes) -> (Vec<Value>, Known) {
    let columns = [
        "id",
        "title",
        "artist_ids",
        "release_date",
        "genre",
        "rating",
        "like_count",
        "review_count",
    ];
    let (mut albums, mut known) = (Vec::new(), Known::new());
    database.mark_derived("album", &["search_text"]);
    for row in database.rows("album", &columns) {
        let by = performers(&row, artists);
        let (Some(id), Some(title), Some(genre), Some(day), false) = (
            row.id(),
            row.text("title"),
            row.text("genre"),
            row.day("release_date"),
            by.is_empty(),
        ) else {
            database.skip("album", "no title, genre, day of release or known artist");
            continue;
        };
        let (rating, reviews) = rating(&row);
        known.insert(id);
        albums.push(record(json!({
            "id": key("album", id),
            "title": title,
            "artists": by,
            "genre": genre,
            "release_date": day,
            "likes": other_likes(&row, likes.count("album", id)),
            "rating": rating,
            "review_count": reviews,
        })));
    }
    (albums, known)
}

fn songs(
    database: &mut Database,
    artists: &Known,
    albums: &Known,
    likes: &Likes,
) -> (Vec<Value>, Known) {
    let columns = [
        "id",
        "title",
        "artist_ids",
        "album_id",
        "duration",
        "release_date",
        "genre",
        "play_count",
        "like_count",
    ];
    let (mut songs, mut known) = (Vec::new(), Known::new());
    // The app makes them of the reviews.
    database.mark_derived("song", &["rating", "review_count", "search_text"]);
    for row in database.rows("song", &columns) {
        let by = performers(&row, artists);
        let duration = row.integer("duration").filter(|seconds| *seconds > 0);
        let (Some(id), Some(title), Some(genre), Some(day), Some(duration), false) = (
            row.id(),
            row.text("title"),
            row.text("genre"),
            row.day("release_date"),
            duration,
            by.is_empty(),
        ) else {
            database.skip(
                "song",
                "no title, genre, day of release, duration or known artist",
            );
            continue;
        };
        let album = row
            .integer("album_id")
            .filter(|album| albums.contains(album));
        let album = row.or_lost(album, "album_id", "no album that is there");
        known.insert(id);
        songs.push(record(json!({
            "id": key("song", id),
            "title": title,
            "album": album.map(|album| key("album", album)),
            "artists": by,
            "genre": genre,
            "release_date": day,
            "duration": duration,
            "plays": row.within("play_count", 0, i64::MAX).unwrap_or_default(),
            "likes": other_likes(&row, likes.count("song", id)),
        })));
    }
    (songs, known)
}

fn playlists(
    database: &mut Database,
    users: &Users,
    songs: &Known,
    likes: &Likes,
) -> (Vec<Value>, Known) {
    let mut inside: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    database.mark_derived("playlist_song", &["added_at"]);
    for row in database.rows("playlist_song", &["id", "playlist_id", "song_id"]) {
        let song = row.integer("song_id").filter(|song| songs.contains(song));
        if let (Some(playlist), Some(song)) = (row.integer("playlist_id"), song) {
            let songs = inside.entry(playlist).or_default();
            let song = key("song", song);
            if songs.contains(&song) {
                database.skip("playlist_song", "a song a second time");
            } else {
                songs.push(song);
            }
        } else {
            database.skip("playlist_song", "no known playlist or song");
        }
    }
    let columns = [
        "id",
        "title",
        "user_id",
        "created_at",
        "is_public",
        "rating",
        "like_count",
        "review_count",
    ];
    let (mut playlists, mut readable) = (Vec::new(), Known::new());
    database.mark_derived("playlist", &["search_text"]);
    for row in database.rows("playlist", &columns) {
        let (Some(id), Some(owner), Some(title)) =
            (row.id(), users.email(&row, "user_id"), row.text("title"))
        else {
            database.skip("playlist", "no known owner or no title");
            continue;
        };
        // Nobody else can like what is private.
        if row.flag("is_public") {
            readable.insert(id);
        }
        let (rating, reviews) = rating(&row);
        playlists.push(record(json!({
            "id": key("playlist", id),
            "owner": owner,
            "title": title,
            "public": row.flag("is_public"),
            "songs": inside.remove(&id),
            "created_at": row.moment("created_at"),
            "likes": other_likes(&row, likes.count("playlist", id)),
            "rating": rating,
            "review_count": reviews,
        })));
    }
    for _ in inside.values().flatten() {
        database.skip("playlist_song", "of a playlist that is not there");
    }
    (playlists, readable)
}

fn reviews(database: &mut Database, users: &Users, songs: &Known) -> Vec<Value> {
    let columns = [
        "id",
        "song_id",
        "user_id",
        "rating",
        "title",
        "text",
        "created_at",
    ];
    let mut reviews = Vec::new();
    let mut seen = BTreeSet::new();
    database.mark_derived("song_review", &["search_text"]);
    for row in database.rows("song_review", &columns) {
        let song = row.integer("song_id").filter(|song| songs.contains(song));
        let rating = row
            .integer("rating")
            .filter(|rating| (1..=5).contains(rating));
        let (Some(song), Some(user), Some(rating)) = (song, users.email(&row, "user_id"), rating)
        else {
            database.skip("song_review", "no known song, author or rating");
            continue;
        };
        if !seen.insert((song, user.to_string())) {
            database.skip("song_review", "a second one of its author");
            continue;
        }
        reviews.push(record(json!({
            "song": key("song", song),
            "user": user,
            "rating": rating,
            "title": row.text("title"),
            "text": row.text("text"),
            "created_at": row.moment("created_at"),
        })));
    }
    reviews
}

/// Somebody's mark on a thing: the list's name, its owner, the thing's key, and when.
type Mark = (String, Value, String, Option<String>);

fn marks(
    database: &mut Database,
    users: &Users,
    table: &'static str,
    thing: &'static str,
    when: &'static str,
    known: &Known,
) -> Vec<Mark> {
    let column: &'static str = match thing {
        "album" => "album_id",
        "artist" => "artist_id",
        "playlist" => "playlist_id",
        _ => "song_id",
    };
    let mut marks = Vec::new();
    let mut seen = BTreeSet::new();
    for row in database.rows(table, &["id", "user_id", column, when]) {
        let id = row.integer(column).filter(|id| known.contains(id));
        match (users.email(&row, "user_id"), id) {
            (Some(owner), Some(id)) if seen.insert((owner.to_string(), id)) => {
                marks.push((format!("{thing}s"), owner, key(thing, id), row.moment(when)));
            }
            _ => database.skip(table, "no known user or thing, or a second time"),
        }
    }
    marks
}

/// One record each: every mark has a moment of its own.
fn named(marks: Vec<Mark>, when: &str) -> Vec<Value> {
    let one = |(list, owner, thing, at): Mark| {
        let mut fields = Records::new();
        fields.insert("owner".into(), owner);
        fields.insert(list, json!([thing]));
        fields.extend(at.map(|at| (when.to_owned(), at.into())));
        Value::Object(fields)
    };
    marks.into_iter().map(one).collect()
}

/// Who likes what, read before the things: their numbers of likes are told without these.
#[derive(Debug, Default)]
struct Likes {
    all: BTreeMap<&'static str, Vec<Like>>,
    /// How many a thing has.
    counts: BTreeMap<(&'static str, i64), usize>,
}

/// Who, what and when.
type Like = (Value, i64, Option<String>);

fn likes(database: &mut Database, users: &Users) -> Likes {
    let mut likes = Likes::default();
    for (thing, table, column) in [
        ("song", "song_like", "song_id"),
        ("album", "album_like", "album_id"),
        ("playlist", "playlist_like", "playlist_id"),
    ] {
        let mut seen = BTreeSet::new();
        for row in database.rows(table, &["id", "user_id", column, "liked_at"]) {
            match (users.email(&row, "user_id"), row.integer(column)) {
                (Some(owner), Some(id)) if seen.insert((owner.to_string(), id)) => {
                    *likes.counts.entry((thing, id)).or_default() += 1;
                    let all = likes.all.entry(thing).or_default();
                    all.push((owner, id, row.moment("liked_at")));
                }
                _ => database.skip(table, "no known user or thing, or a second time"),
            }
        }
    }
    likes
}

impl Likes {
    fn count(&self, thing: &'static str, id: i64) -> usize {
        self.counts.get(&(thing, id)).copied().unwrap_or_default()
    }

    fn records(&self, database: &mut Database, thing: &'static str, known: &Known) -> Vec<Value> {
        let mut marks = Vec::new();
        for (owner, id, at) in self.all.get(thing).into_iter().flatten() {
            if known.contains(id) {
                marks.push((
                    format!("{thing}s"),
                    owner.clone(),
                    key(thing, *id),
                    at.clone(),
                ));
            } else {
                let table = match thing {
                    "album" => "album_like",
                    "playlist" => "playlist_like",
                    _ => "song_like",
                };
                database.skip(table, "of a thing that is not taken, or is private");
            }
        }
        named(marks, "liked_at")
    }
}
