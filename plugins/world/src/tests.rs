//! How large the world is, that it hangs together, and that it follows from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::*;

static WORLD: LazyLock<World> = LazyLock::new(|| World::new(SEED));

/// All of it as text.
fn text(world: &World) -> String {
    format!(
        "{world:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}",
        world.shop(),
        world.music(),
        world.mail(),
        world.contacts(),
        world.text_messages(),
        world.alarms(),
        world.notes(),
        world.groups(),
        world.labels(),
        world.projects(),
        world.homes(),
    )
}

#[test]
fn the_same_seed_makes_the_same_world_and_another_one_another() {
    assert_eq!(text(&World::new(SEED)), text(&WORLD));
    assert_ne!(text(&World::new(SEED + 1)), text(&WORLD));
}

#[test]
fn no_text_has_a_gap_that_was_not_filled() {
    let text = text(&WORLD);
    let gap = first_gap(&text);
    assert_eq!(gap, None);
}

/// A word in braces, as templates have them; structures have blanks inside.
fn first_gap(text: &str) -> Option<&str> {
    let starts = text.match_indices('{').map(|(at, _)| at + 1);
    let mut words = starts.filter_map(|at| text[at..].split_once('}').map(|(word, _)| word));
    words.find(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()))
}

#[test]
fn everybody_has_an_address_and_a_number_of_their_own() {
    let people = &WORLD.people;
    assert!(people.len() >= 100);
    assert!(people.is_sorted_by(|a, b| a.email < b.email));
    let numbers: BTreeSet<&str> = people.iter().map(|it| it.phone_number.as_str()).collect();
    assert_eq!(numbers.len(), people.len());
    for person in people {
        assert!(person.email.ends_with(".example"), "{}", person.email);
        assert!(person.phone_number.len() == 10 && !person.phone_number.starts_with("5550"));
        assert!(person.registered_at.date() < END);
    }
    let in_a_circle = |person: usize| {
        let circles = WORLD.circles.iter();
        circles.filter(|it| it.members.contains(&person)).count() == 3
    };
    assert!((0..people.len()).all(in_a_circle));
}

#[test]
fn the_shop_has_forty_types_and_five_hundred_products_with_options_and_opinions() {
    let shop = WORLD.shop();
    let kinds: BTreeSet<&str> = shop.products.iter().map(|it| it.kind).collect();
    assert_eq!(kinds.len(), 40);
    assert!(shop.products.len() >= 500, "{}", shop.products.len());
    let mut options: BTreeMap<usize, BTreeSet<_>> = BTreeMap::new();
    for product in &shop.products {
        assert!(product.seller < shop.sellers.len());
        let siblings = options.entry(product.family).or_default();
        assert!(
            siblings.insert((product.color, product.size)),
            "{product:?}"
        );
    }
    assert!(options.values().filter(|it| it.len() > 1).count() > 100);
    let pairs: BTreeSet<_> = shop
        .reviews
        .iter()
        .map(|it| (it.product, it.author))
        .collect();
    assert_eq!(
        pairs.len(),
        shop.reviews.len(),
        "a second review of somebody"
    );
    assert!(shop.reviews.len() > 500 && shop.reviews.iter().any(|it| it.verified));
    assert!(shop.questions.len() > 200);
    let answers: usize = shop.questions.iter().map(|it| it.answers.len()).sum();
    assert!(answers > 100);
}

#[test]
fn the_music_has_four_hundred_songs_on_eighty_albums_of_sixty_artists() {
    let music = WORLD.music();
    assert!(music.songs.len() >= 400, "{}", music.songs.len());
    assert!(music.albums.len() >= 80 && music.artists.len() >= 60);
    assert!(music.playlists.len() > 50 && music.reviews.len() > 300);
    let on_albums: BTreeSet<_> = music.songs.iter().filter_map(|it| it.album).collect();
    assert_eq!(on_albums.len(), music.albums.len());
    for song in &music.songs {
        let artists: BTreeSet<_> = song.artists.iter().collect();
        assert!(!artists.is_empty() && artists.len() == song.artists.len());
    }
}

#[test]
fn mail_has_threads_between_people_who_know_each_other() {
    let mail = WORLD.mail();
    assert!(mail.len() > 500, "{}", mail.len());
    assert!(mail.iter().filter(|it| it.emails.len() > 1).count() > 200);
    assert!(mail.is_sorted_by_key(|it| it.emails[0].sent_at));
    for conversation in &mail {
        assert!(conversation.emails.is_sorted_by_key(|it| it.sent_at));
        for email in &conversation.emails {
            assert!(email.sent_at.date() <= END && !email.to.is_empty());
            assert!(!email.to.contains(&email.from), "{email:?}");
        }
    }
}

#[test]
fn a_contact_is_somebody_with_an_account_and_texts_are_between_such() {
    let contacts = WORLD.contacts();
    let pairs: BTreeSet<_> = contacts.iter().map(|it| (it.owner, it.person)).collect();
    assert_eq!(pairs.len(), contacts.len());
    assert!(pairs.iter().all(|(owner, person)| owner != person));
    let messages = WORLD.text_messages();
    assert!(messages.len() > 1000, "{}", messages.len());
    assert!(
        messages
            .iter()
            .all(|it| it.from != it.to && it.sent_at.date() <= END)
    );
}

#[test]
fn expenses_are_shared_by_members_to_the_cent() {
    let groups = WORLD.groups();
    assert!(groups.len() > 20, "{}", groups.len());
    for group in &groups {
        for expense in &group.expenses {
            let sum: u32 = expense.shares.iter().map(|(_, share)| share).sum();
            assert_eq!(sum, expense.paid);
            let members = expense.shares.iter().map(|(debtor, _)| debtor);
            assert!(
                members
                    .chain([&expense.payer])
                    .all(|it| group.members.contains(it))
            );
            assert!(
                expense
                    .shares
                    .iter()
                    .any(|(debtor, share)| *debtor != expense.payer && *share > 0)
            );
        }
    }
}

#[test]
fn tasks_are_given_to_members_and_labels_are_the_owners() {
    let (projects, labels) = (WORLD.projects(), WORLD.labels());
    assert!(projects.len() > 100, "{}", projects.len());
    for project in &projects {
        let member =
            |person: &usize| *person == project.owner || project.collaborators.contains(person);
        for task in project.sections.iter().flat_map(|section| &section.tasks) {
            assert!(task.assignee.as_ref().is_none_or(member));
            assert!(task.comments.iter().all(|comment| member(&comment.author)));
            assert!(
                task.labels
                    .iter()
                    .all(|label| labels[*label].owner == project.owner)
            );
            assert!(!task.title.is_empty());
        }
    }
}

#[test]
fn a_file_lies_in_a_directory_that_stands_before_it() {
    for home in WORLD.homes() {
        let mut directories = BTreeSet::from([""]);
        let mut paths = BTreeSet::new();
        for entry in &home.entries {
            assert!(
                paths.insert(entry.path.as_str()),
                "{} stands twice",
                entry.path
            );
            let (around, _) = entry.path.rsplit_once('/').unwrap_or_default();
            assert!(directories.contains(around), "{}", entry.path);
            if entry.content.is_none() {
                directories.insert(&entry.path);
            }
        }
    }
}

#[test]
fn rows_are_written_as_source() {
    assert_eq!(rust::text("a \"b\"\n"), r#"Text::constant("a \"b\"\n")"#);
    assert_eq!(rust::option(None), "None");
    assert_eq!(rust::list([1, 2]), "List::constant(const { &[1, 2, ] })");
    assert_eq!(rust::day(date(2025, 3, 2)), "date(2025, 3, 2)");
    let table = rust::table("A", "u32", "B", [(1, "B(2)".to_owned())]);
    assert_eq!(
        table,
        "pub(crate) static A: &[(u32, B)] = &[\n    (1, B(2)),\n];\n"
    );
}
