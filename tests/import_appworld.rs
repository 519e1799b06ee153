//! AppWorld-like databases, made here with people and things of our own, become what the apps start from: the real apps
//! open on them and show the rows, and what has no place is counted.

use rusqlite::Connection;
use serde_json::Value;

use crate::scene::{Scene, expect, stderr};

const TOOLS: &str = "tool_names: [amazon__login, amazon__show_orders, gmail__login, gmail__show_inbox_threads, \
    phone__login, phone__search_text_messages, simple_note__login, simple_note__search_notes, splitwise__login, \
    splitwise__show_people_balance, spotify__login, spotify__show_liked_songs, todoist__login, todoist__show_projects, \
    file_system__login, file_system__copy_file]\n";

/// The tables of users, alike in all apps but the phone.
const USERS: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, email TEXT, password TEXT, created_at TEXT,
        verified INTEGER, track_browsing_history INTEGER);
    INSERT INTO users VALUES (1, 'Ida', 'Vale', 'Ida@vale.example', 'secret-1', '2025-01-01 00:00:00', 1, 0);
    INSERT INTO users VALUES (2, 'Bo', 'Lind', 'bo@lind.example', 'secret-2', '2025-01-01 00:00:00', 1, 1);";

pub(crate) const DATABASES: [(&str, &str); 8] = [
    (
        "gmail",
        "CREATE TABLE emails (id INTEGER PRIMARY KEY, sender_id INTEGER, recipient_ids TEXT, subject TEXT, body TEXT,
            response_to_email_id INTEGER, created_at TEXT);
        INSERT INTO emails VALUES (1, 2, '[1]', 'The kiln', 'It is free on Friday.', NULL, '2025-05-01 10:00:00.000000');
        INSERT INTO emails VALUES (2, 1, '[2]', 'Re: The kiln', 'I take it.', 1, '2025-05-01 11:00:00');
        INSERT INTO emails VALUES (3, 9, '[1]', 'Lost', 'From nobody.', NULL, '2025-05-01 12:00:00');
        CREATE TABLE global_email_threads (id INTEGER PRIMARY KEY, email_ids TEXT);
        INSERT INTO global_email_threads VALUES (1, '[1, 2]');
        CREATE TABLE user_email_threads (id INTEGER PRIMARY KEY, user_id INTEGER, email_ids TEXT, read INTEGER, label TEXT,
            starred INTEGER, archived INTEGER, spam INTEGER, snoozed_until TEXT);
        INSERT INTO user_email_threads VALUES (1, 1, '[1, 2]', 1, 'Pots', 1, 0, 0, NULL);
        CREATE TABLE drafts (id INTEGER PRIMARY KEY, user_id INTEGER, recipient_ids TEXT, subject TEXT, body TEXT);
        INSERT INTO drafts VALUES (1, 1, '[]', 'Glaze', 'Which one?');
        CREATE TABLE attachments (id INTEGER PRIMARY KEY, email_id INTEGER, file_name TEXT, file_content TEXT);
        INSERT INTO attachments VALUES (1, 1, 'plan.txt', 'the plan');",
    ),
    (
        "amazon",
        "CREATE TABLE sellers (id INTEGER PRIMARY KEY, name TEXT, rating REAL);
        INSERT INTO sellers VALUES (1, 'Clay & Co', 4.5);
        CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, product_type TEXT, description TEXT, seller_id INTEGER,
            price REAL, delivery_days INTEGER, inventory_quantity INTEGER, weight REAL, length REAL, width REAL, height REAL,
            color TEXT, relative_size TEXT);
        INSERT INTO products VALUES (1, 'Stoneware clay', 'clay', 'Ten kilos.', 1, 14.5, 2, 30, 10, 10, 10, 8, 'grey', NULL);
        INSERT INTO products VALUES (2, 'Stoneware clay', 'clay', 'Ten kilos.', 1, 15, 2, 30, 10, 10, 10, 8, 'white', NULL);
        CREATE TABLE addresses (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, street_address TEXT, city TEXT, state TEXT,
            country TEXT, zip_code INTEGER);
        INSERT INTO addresses VALUES (4, 1, 'Home', '3 Mill Lane', 'Alder', 'Oregon', 'USA', 97001);
        CREATE TABLE payment_cards (id INTEGER PRIMARY KEY, user_id INTEGER, card_name TEXT, owner_name TEXT,
            card_number INTEGER, expiry_year INTEGER, expiry_month INTEGER, cvv_number INTEGER);
        INSERT INTO payment_cards VALUES (7, 1, 'Blue Card', 'Ida Vale', 4000123412341234, 2030, 8, 123);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, address_id INTEGER, payment_card_id INTEGER,
            discount REAL, created_at TEXT);
        INSERT INTO orders VALUES (1, 1, 4, 7, 0, '2025-05-02 09:00:00');
        INSERT INTO orders VALUES (2, 1, NULL, 7, 0, '2025-05-03 09:00:00');
        CREATE TABLE order_items (id INTEGER PRIMARY KEY, order_id INTEGER, product_id INTEGER, ordered_quantity INTEGER,
            returned_quantity INTEGER, gift_wrap_quantity INTEGER, price REAL, expected_delivery_at TEXT, delivered_at TEXT);
        INSERT INTO order_items VALUES (1, 1, 2, 3, 0, 0, 15, '2025-05-04 09:00:00', NULL);
        INSERT INTO order_items VALUES (2, 2, 2, 1, 0, 0, 15, '2025-05-05 09:00:00', NULL);
        CREATE TABLE product_recommendations (id INTEGER PRIMARY KEY, user_id INTEGER, product_id INTEGER);
        INSERT INTO product_recommendations VALUES (1, 1, 1);",
    ),
    (
        "simple_note",
        // In the singular, with a column that we do not know and without some that we do.
        "CREATE TABLE note (id INTEGER PRIMARY KEY, user_id INTEGER, title TEXT, content TEXT, tags TEXT, mood TEXT);
        INSERT INTO note VALUES (1, 1, 'Glazes', 'Blue ash.', '[\"pots\"]', 'calm');
        INSERT INTO note VALUES (2, 1, 'Tools', 'A wire.', '[]', '');",
    ),
    (
        "splitwise",
        "CREATE TABLE groups (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, description TEXT);
        INSERT INTO groups VALUES (1, 1, 'Studio', 'Rent');
        CREATE TABLE group_members (id INTEGER PRIMARY KEY, group_id INTEGER, user_id INTEGER);
        INSERT INTO group_members VALUES (1, 1, 1), (2, 1, 2);
        CREATE TABLE expenses (id INTEGER PRIMARY KEY, user_id INTEGER, group_id INTEGER, payer_id INTEGER, description TEXT,
            amount REAL, deleted INTEGER);
        INSERT INTO expenses VALUES (1, 1, 1, 1, 'Rent of May', 100, 0);
        CREATE TABLE expense_shares (id INTEGER PRIMARY KEY, expense_id INTEGER, debtor_id INTEGER, share_amount REAL);
        INSERT INTO expense_shares VALUES (1, 1, 2, 40);
        CREATE TABLE payments (id INTEGER PRIMARY KEY, user_id INTEGER, group_id INTEGER, payer_id INTEGER,
            receiver_id INTEGER, amount REAL);
        INSERT INTO payments VALUES (1, 2, 1, 2, 1, 15.5);",
    ),
    (
        "spotify",
        "CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT, genre TEXT);
        INSERT INTO artists VALUES (1, 'The Kilns', 'folk');
        CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT, artist_ids TEXT, album_id INTEGER, duration INTEGER,
            release_date TEXT, genre TEXT, play_count INTEGER, like_count INTEGER);
        INSERT INTO songs VALUES (1, 'Slow Fire', '[1]', NULL, 200, '2020-01-01 00:00:00', 'folk', 9, 3);
        CREATE TABLE song_likes (id INTEGER PRIMARY KEY, user_id INTEGER, song_id INTEGER, liked_at TEXT);
        INSERT INTO song_likes VALUES (1, 1, 1, '2025-01-01 00:00:00');",
    ),
    (
        "todoist",
        "CREATE TABLE projects (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, color TEXT, is_inbox INTEGER,
            description TEXT);
        INSERT INTO projects VALUES (1, 1, 'Inbox', 'charcoal', 1, ''), (2, 1, 'Exhibition', 'berry', 0, 'In autumn');
        CREATE TABLE sections (id INTEGER PRIMARY KEY, project_id INTEGER, name TEXT, order_index INTEGER);
        INSERT INTO sections VALUES (1, 2, 'Pots', 0);
        CREATE TABLE tasks (id INTEGER PRIMARY KEY, project_id INTEGER, section_id INTEGER, user_id INTEGER, title TEXT,
            due_date TEXT, priority TEXT, is_completed INTEGER, duration REAL, duration_unit TEXT, order_index INTEGER);
        INSERT INTO tasks VALUES (1, 2, 1, 1, 'Fire the vases', '2025-06-01 00:00:00', 'high', 0, 2, 'hours', 0);
        INSERT INTO tasks VALUES (2, 1, NULL, 1, 'Buy twine', NULL, 'low', 1, NULL, NULL, 0);",
    ),
    (
        "file_system",
        "CREATE TABLE directories (id INTEGER PRIMARY KEY, user_id INTEGER, path TEXT);
        INSERT INTO directories VALUES (1, 1, '/'), (2, 1, '/' || 'home' || '/'), (3, 1, '/' || 'home' || '/ida/'),
            (4, 1, '/' || 'home' || '/ida/pots/');
        CREATE TABLE files (id INTEGER PRIMARY KEY, user_id INTEGER, path TEXT, content TEXT);
        INSERT INTO files VALUES (1, 1, '/' || 'home' || '/ida/pots/list.txt', 'vase, bowl');",
    ),
    (
        "phone",
        "CREATE TABLE users (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, phone_number TEXT, password TEXT);
        INSERT INTO users VALUES (1, 'Ida', 'Vale', '5550140300', 'secret-9');
        INSERT INTO users VALUES (2, 'Bo', 'Lind', '5550140301', 'secret-8'), (3, 'Cy', 'Moor', '5550140302', 'x');
        CREATE TABLE global_text_messages (id INTEGER PRIMARY KEY, sender_id INTEGER, receiver_id INTEGER, message TEXT,
            created_at TEXT);
        INSERT INTO global_text_messages VALUES (1, 2, 1, 'The kiln is hot', '2025-05-01 10:00:00');
        CREATE TABLE alarms (id INTEGER PRIMARY KEY, user_id INTEGER, time TEXT, repeat_days TEXT, label TEXT, enabled INTEGER,
            snooze_minutes INTEGER);
        INSERT INTO alarms VALUES (1, 1, '06:30', '[\"monday\"]', 'Kiln', 1, 90);
        CREATE TABLE global_voice_messages (id INTEGER PRIMARY KEY, message TEXT);
        INSERT INTO global_voice_messages VALUES (1, 'hello'), (2, 'again');",
    ),
];

/// What the agent looks at: a login and one tool of each app.
const REFERENCE: [(&str, &str, &str); 8] = [
    ("amazon", "show_orders", ""),
    ("gmail", "show_inbox_threads", ""),
    ("phone", "search_text_messages", ""),
    ("simple_note", "search_notes", ""),
    ("splitwise", "show_people_balance", ""),
    ("spotify", "show_liked_songs", ""),
    ("todoist", "show_projects", ""),
    (
        "file_system",
        "copy_file",
        ", source_file_path = \"~/pots/list.txt\", destination_file_path = \"~/copy.txt\"",
    ),
];

pub(crate) fn source(scene: &Scene) {
    let write = |path: &str, text: &str| {
        scene.write(&format!("source/data/potter/{path}"), text);
    };
    write(
        "profile.yaml",
        "schema_version: v2\nuser_id: potter\nrole: Makes pots.\n",
    );
    write(
        "episode.yaml",
        "schema_version: v2\nepisode_id: e\nuser_id: potter\ntasks: [{task_id: one}]\n",
    );
    write("tools.yaml", TOOLS);
    write(
        "tasks/one/task.yaml",
        "schema_version: v2\ntask_id: one\nuser_id: potter\ntask_type: long_term\ntitle: A round\n\
         trigger: {type: user}\nintent:\n  initial_input: Look around.\n  hidden_intent: [{content: Tell what is there.}]\n",
    );
}

pub(crate) fn database(scene: &Scene, app: &str, tables: &str) {
    std::fs::create_dir_all(scene.path("dbs")).unwrap();
    let database = Connection::open(scene.path(&format!("dbs/{app}.db"))).unwrap();
    if app != "phone" {
        database.execute_batch(USERS).unwrap();
    }
    database.execute_batch(tables).unwrap();
}

pub(crate) fn import(scene: &Scene) -> std::process::Output {
    scene.run(&[
        "import", "pi-bench", "source", "--apps", "dbs", "--out", "suite",
    ])
}

/// Gives the session a reference that logs in to every app and looks at it.
fn look_at_all(scene: &Scene) {
    let session = "suite/personas/potter/sessions/one/session.toml";
    let mut text = std::fs::read_to_string(scene.path(session)).unwrap();
    for (app, tool, arguments) in REFERENCE {
        let (name, word) = match app {
            "phone" => ("5550140300", "secret-9"),
            _ => ("ida@vale.example", "secret-1"),
        };
        text.extend([format!(
            "\n[[reference]]\ntool = \"{app}__login\"\narguments = {{ username = \"{name}\", password = \"{word}\" }}\n\
             save = \"{app}\"\n[[reference]]\ntool = \"{app}__{tool}\"\n\
             arguments = {{ access_token = \"{{{{{app}.access_token}}}}\"{arguments} }}\n"
        )]);
    }
    text.push_str("\n[[reference]]\nsay = \"Done.\"\n");
    std::fs::write(scene.path(session), text).unwrap();
}

#[test]
fn the_apps_start_from_databases_and_show_them() {
    let scene = Scene::new();
    source(&scene);
    for (app, tables) in DATABASES {
        database(&scene, app, tables);
    }
    let output = import(&scene);
    expect(
        &output,
        3,
        &[
            "gmail.db: table `emails`: 1 rows: no known sender or recipients",
            "gmail.db: table `attachments`, column `file_content`: 1 values",
            "amazon.db: table `orders`: 1 rows: its address or card is gone",
            "amazon.db: table `product_recommendations`: 1 rows",
            "simple_note.db: table `note`, column `mood`: 1 values",
            "splitwise.db: table `payments`: 1 rows: taken as expenses",
            "phone.db: table `global_voice_messages`: 2 rows",
            "phone.db: table `users`: 1 rows: no address",
        ],
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("2 people"),
        "{output:?}"
    );
    expect(&scene.run(&["check", "suite"]), 0, &[]);

    look_at_all(&scene);
    let output = scene.run(&[
        "run",
        "suite/suite.toml",
        "--agent",
        "reference",
        "--out",
        "run",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trajectory = std::fs::read(scene.path("run/trajectories/potter.r1/one.json")).unwrap();
    let trajectory: Value = serde_json::from_slice(&trajectory).unwrap();
    let steps = trajectory["turns"][0]["steps"].as_array().unwrap();
    let shown = |tool: &str| {
        let call = steps.iter().find(|step| step["record"]["tool"] == tool);
        let record = &call.unwrap()["record"];
        assert_eq!(record["status"], "ok", "{record}");
        record["result"].as_str().unwrap().to_owned()
    };
    for (tool, words) in [
        (
            "amazon__show_orders",
            &["Stoneware clay", "\"paid_amount\":48.6"][..],
        ),
        (
            "gmail__show_inbox_threads",
            &["The kiln", "\"label\":\"Pots\""],
        ),
        (
            "phone__search_text_messages",
            &["The kiln is hot", "2025-05-01T10:00:00"],
        ),
        ("simple_note__search_notes", &["Glazes", "pots"]),
        // 40 of 100 less 15.50 that were paid.
        ("splitwise__show_people_balance", &["24.5"]),
        ("spotify__show_liked_songs", &["Slow Fire"]),
        ("todoist__show_projects", &["Exhibition"]),
        ("file_system__copy_file", &["/copy.txt"]),
    ] {
        let shown = shown(tool);
        for word in words {
            assert!(shown.contains(word), "{tool}: `{word}` is not in {shown}");
        }
    }
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let scene = Scene::new();
    source(&scene);
    scene.write("dbs/gmail.db", "not a database at all, only a text");
    expect(&import(&scene), 3, &["dbs/gmail.db", "nothing was written"]);
    assert!(!scene.path("suite").exists());
    std::fs::remove_file(scene.path("dbs/gmail.db")).unwrap();
    expect(&import(&scene), 3, &["no database of an app"]);
}

/// A view under a table's name, a trigger, an endless query: nothing of a stranger's SQL runs.
#[test]
fn no_sql_of_a_database_runs() {
    let scene = Scene::new();
    source(&scene);
    database(
        &scene,
        "simple_note",
        "CREATE TABLE kept (id INTEGER PRIMARY KEY, user_id INTEGER, title TEXT);
        INSERT INTO kept VALUES (1, 1, 'Hidden');
        CREATE VIEW notes AS WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless)
            SELECT n AS id, 1 AS user_id, 'Endless' AS title FROM endless;
        CREATE VIRTUAL TABLE note USING fts5(title);
        CREATE TRIGGER taken INSTEAD OF INSERT ON notes BEGIN INSERT INTO kept VALUES (2, 1, 'Run'); END;",
    );
    database(
        &scene,
        "todoist",
        // A view where a table is wanted, over one that would be taken, and a trigger on that.
        "CREATE TABLE real (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT);
        INSERT INTO real VALUES (1, 1, 'Hidden');
        CREATE VIEW labels AS SELECT id, user_id, name || ' by a view' AS name FROM real;
        CREATE TRIGGER more AFTER UPDATE ON real BEGIN INSERT INTO real VALUES (2, 1, 'Run'); END;",
    );
    let output = import(&scene);
    expect(
        &output,
        3,
        &[
            "simple_note.db: table `kept`: 1 rows: no app has a place",
            "todoist.db: table `real`: 1 rows: no app has a place",
        ],
    );
    for app in ["simple_note", "todoist"] {
        let records = scene.path(&format!("suite/seeds/appworld/{app}.json"));
        assert!(!records.exists());
    }
}

/// Names that a terminal would obey, or that would pass for lines of ours.
#[test]
fn names_of_strangers_reach_no_terminal_as_they_are() {
    let scene = Scene::new();
    source(&scene);
    let name = "clear\u{1b}[2J\nleft out: nothing";
    scene.write(&format!("source/data/potter/{name}"), "");
    database(
        &scene,
        "simple_note",
        &format!("CREATE TABLE \"{name}\" (id INTEGER); INSERT INTO \"{name}\" VALUES (1);"),
    );
    let output = import(&scene);
    let shown = "clear\\u{1b}[2J left out: nothing";
    expect(
        &output,
        3,
        &[
            &format!("potter/{shown}: no part of the format"),
            &format!("table `{shown}`: 1 rows: no app has a place"),
        ],
    );
    let text = stderr(&output);
    assert!(
        !text.contains('\u{1b}') && !text.contains("\nleft out: nothing"),
        "{text}"
    );
}

/// What a database can be made to hold is bounded.
#[test]
fn huge_values_and_tables_are_refused() {
    for (tables, said) in [
        (
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, user_id INTEGER, title TEXT);
            INSERT INTO notes VALUES (1, 1, hex(zeroblob(9000000)));",
            "table `notes` cannot be read: string or blob too big",
        ),
        (
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, user_id INTEGER);
            INSERT INTO notes WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500001)
                SELECT i, 1 FROM n;",
            "table `notes` cannot be read: more than 500000 rows",
        ),
    ] {
        let scene = Scene::new();
        source(&scene);
        database(&scene, "simple_note", tables);
        expect(&import(&scene), 3, &[said, "nothing was written"]);
    }
}

#[test]
fn a_seed_that_is_not_there_is_told() {
    let scene = Scene::new();
    source(&scene);
    let (app, tables) = DATABASES[2];
    database(&scene, app, tables);
    expect(
        &import(&scene),
        3,
        &["gmail.db: there is none; the app starts empty"],
    );
    let persona = "suite/personas/potter/persona.toml";
    scene.replace(persona, "seed = \"appworld\"", "seed = \"../appworld\"");
    expect(
        &scene.run(&["check", "suite"]),
        3,
        &["persona.toml", "`../appworld` is no id"],
    );
    scene.replace(persona, "seed = \"../appworld\"", "seed = \"elsewhere\"");
    expect(
        &scene.run(&["check", "suite"]),
        3,
        &["seeds/elsewhere/people.json"],
    );
}
