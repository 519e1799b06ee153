//! What of AppWorld-like databases the apps do not take: refused records are dropped and told before anybody plays, and no
//! value is lost or changed without a line.

use rusqlite::Connection;

use crate::import_appworld::{DATABASES, database, import, source};
use crate::scene::{Scene, expect, stderr};

fn scene() -> Scene {
    let scene = Scene::new();
    source(&scene);
    for (app, tables) in DATABASES {
        database(&scene, app, tables);
    }
    scene
}

/// Runs SQL on one of the databases.
fn change(scene: &Scene, app: &str, sql: &str) {
    let database = Connection::open(scene.path(&format!("dbs/{app}.db"))).unwrap();
    database.execute_batch(sql).unwrap();
}

fn seed(scene: &Scene, app: &str) -> String {
    std::fs::read_to_string(scene.path(&format!("suite/seeds/appworld/{app}.json"))).unwrap()
}

#[test]
fn records_that_an_app_refuses_are_left_out_and_what_is_left_is_played() {
    let scene = scene();
    change(
        &scene,
        "phone",
        "INSERT INTO alarms VALUES (2, 1, '6am', '[]', 'Dawn', 1, 5), (3, 1, '07:45:00', '[]', 'Late', 1, 5);
        CREATE TABLE contacts (id INTEGER PRIMARY KEY, user_id INTEGER, first_name TEXT, email TEXT, birthday TEXT);
        INSERT INTO contacts VALUES (1, 1, 'Bo', 'bo@lind.example', '1990-05-12 00:00:00'), (2, 1, 'Cy', 'nowhere', NULL);",
    );
    change(
        &scene,
        "todoist",
        "CREATE TABLE labels (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, color TEXT);
        INSERT INTO labels VALUES (1, 1, 'kiln', 'red'), (2, 1, 'kiln', 'red');
        UPDATE tasks SET title = hex(zeroblob(300)) WHERE id = 2;
        CREATE TABLE project_invites (id INTEGER PRIMARY KEY, project_id INTEGER, invitee_id INTEGER);
        INSERT INTO project_invites VALUES (1, 2, 2), (2, 2, 2);",
    );
    change(
        &scene,
        "amazon",
        "CREATE TABLE promos (id INTEGER PRIMARY KEY, type TEXT, code TEXT, discount REAL);
        INSERT INTO promos VALUES (1, 'percent', 'CLAY10', 10), (2, 'percent', 'CLAY10', 10);
        CREATE TABLE cart_entries (id INTEGER PRIMARY KEY, user_id INTEGER, product_id INTEGER, quantity INTEGER);
        INSERT INTO cart_entries VALUES (1, 1, 1, 31);
        INSERT INTO payment_cards VALUES (8, 1, 'Short', 'Ida Vale', 12, 2030, 8, 123);",
    );
    change(
        &scene,
        "splitwise",
        "INSERT INTO expenses VALUES (2, 1, NULL, 1, 'My own', 10, 0);
        INSERT INTO expense_shares VALUES (2, 2, 1, 10);",
    );
    change(
        &scene,
        "file_system",
        "INSERT INTO files VALUES (2, 1, 'pots/relative.txt', 'x');
        INSERT INTO directories VALUES (5, 1, '/' || 'home' || '/ida/pots');",
    );
    let output = import(&scene);
    expect(
        &output,
        3,
        &[
            "phone.db: 1 of `alarms` that the app refuses: ",
            "phone.db: 1 of `contacts` that the app refuses: ",
            "todoist.db: 1 of `labels` that the app refuses: ",
            "todoist.db: 1 of `tasks` that the app refuses: ",
            "amazon.db: 1 of `promo_codes` that the app refuses: ",
            "amazon.db: 1 of `cart_items` that the app refuses: ",
            "amazon.db: 1 of `payment_cards` that the app refuses: ",
            "splitwise.db: 1 of `expenses` that the app refuses: ",
            "file_system.db: 1 of `files` that the app refuses: ",
            "file_system.db: 1 of `directories` that the app refuses: ",
        ],
    );
    let phone = seed(&scene, "phone");
    assert!(
        phone.contains("\"07:45\"") && phone.contains("\"1990-05-12\""),
        "{phone}"
    );
    assert!(!phone.contains("Dawn"), "{phone}");
    let played = scene.run(&["run", "suite/suite.toml", "--out", "run"]);
    assert_eq!(played.status.code(), Some(0), "{}", stderr(&played));
}

#[test]
fn no_value_is_lost_or_changed_without_a_line() {
    let scene = scene();
    change(
        &scene,
        "gmail",
        "UPDATE emails SET created_at = '2025-05-01T11:00:00+02:00', recipient_ids = '[2, 9]' WHERE id = 2;
        INSERT INTO emails VALUES (4, 2, '[1]', 'Late', 'x', 77, 'yesterday');
        INSERT INTO attachments VALUES (2, 99, 'gone.txt', NULL);
        UPDATE user_email_threads SET email_ids = '[1, 4]';",
    );
    change(
        &scene,
        "todoist",
        "UPDATE tasks SET due_date = '2025-06-01 16:30:00', priority = 'urgent' WHERE id = 1;
        INSERT INTO sections VALUES (2, 1, 'In the Inbox', 0);
        CREATE TABLE task_label_links (id INTEGER PRIMARY KEY, task_id INTEGER, label_id INTEGER);
        INSERT INTO task_label_links VALUES (1, 1, 5), (2, 9, 5);
        ALTER TABLE tasks ADD COLUMN assignee_id INTEGER;
        UPDATE tasks SET assignee_id = 2;",
    );
    change(
        &scene,
        "spotify",
        "INSERT INTO artists VALUES (2, 'A', 'x'), (3, 'B', 'x'), (4, 'C', 'x'), (5, 'D', 'x'), (6, 'E', 'x');
        UPDATE songs SET artist_ids = '[1, 2, 3, 4, 5, 6]';
        CREATE TABLE playlists (id INTEGER PRIMARY KEY, user_id INTEGER, title TEXT);
        INSERT INTO playlists VALUES (1, 1, 'Firing');
        CREATE TABLE playlist_songs (id INTEGER PRIMARY KEY, playlist_id INTEGER, song_id INTEGER);
        INSERT INTO playlist_songs VALUES (1, 1, 9);",
    );
    change(
        &scene,
        "phone",
        "UPDATE alarms SET repeat_days = '[\"monday\", \"someday\"]'",
    );
    change(
        &scene,
        "amazon",
        "UPDATE products SET relative_size = 'giant', weight = 0 WHERE id = 1;
        UPDATE sellers SET rating = 9;
        UPDATE order_items SET ordered_quantity = 0 WHERE id = 1;",
    );
    change(
        &scene,
        "simple_note",
        "UPDATE note SET tags = '[\"pots\"' WHERE id = 1; UPDATE note SET content = x'ff00' WHERE id = 2;
        ALTER TABLE note ADD COLUMN length INTEGER AS (length(title)) VIRTUAL;",
    );
    let output = import(&scene);
    expect(
        &output,
        3,
        &[
            "table `emails`, column `created_at`: 1 values: changed: its offset from UTC is not kept",
            "table `emails`, column `created_at`: 1 values: no moment",
            "table `emails`, column `recipient_ids`: 1 values: not whole: somebody without an account",
            "table `emails`, column `response_to_email_id`: 1 values: no email before it",
            "table `attachments`: 1 rows: of an email that is not there",
            "table `user_email_threads`, column `email_ids`: 1 values: not whole: emails of another conversation",
            "table `tasks`, column `due_date`: 1 values: changed: its time of day is not kept",
            "table `tasks`, column `priority`: 1 values: a word that the app does not have",
            "table `tasks`, column `assignee_id`: 2 values: nobody in the project",
            "table `projects`, column `color`: 1 values: a word that the app does not have",
            "table `sections`: 1 rows: of an Inbox",
            "table `task_label_links`: 1 rows: no label of the task's creator",
            "table `task_label_links`: 1 rows: of a task that is not there",
            "table `songs`, column `artist_ids`: 1 values: not whole: more than 5 artists",
            "table `playlist_songs`: 1 rows: no known playlist or song",
            "table `alarms`, column `snooze_minutes`: 1 values: changed to the nearest that the app takes",
            "table `alarms`, column `repeat_days`: 1 values: not whole: no day of the week",
            "table `products`, column `relative_size`: 1 values: a size that the app does not have",
            "table `products`, column `weight`: 1 values: changed to the least that the app takes",
            "table `sellers`, column `rating`: 1 values: changed to the nearest from 0 to 5",
            "table `order_items`, column `ordered_quantity`: 1 values: changed to the nearest",
            "table `note`, column `tags`: 1 values: no list in JSON",
            "table `note`, column `content`: 1 values: bytes and no text",
            "table `note`, column `length`: 2 values: no app has a place for them",
        ],
    );
}

#[test]
fn changes_beside_a_database_and_empty_files_are_refused_with_the_remedy() {
    let scene = scene();
    for log in ["dbs/gmail.db-wal", "dbs/gmail.db-journal"] {
        scene.write(log, "rows");
        expect(
            &import(&scene),
            3,
            &[
                log,
                "holds changes that are not in `gmail.db` yet",
                "wal_checkpoint",
                "nothing was written",
            ],
        );
        // A log that was emptied holds nothing.
        scene.write(log, "");
    }
    scene.write("dbs/gmail.db-shm", "an index");
    let output = import(&scene);
    expect(&output, 3, &[]);
    assert!(
        !stderr(&output).contains("gmail.db-"),
        "{}",
        stderr(&output)
    );
    scene.write("dbs/gmail.db", "");
    std::fs::remove_dir_all(scene.path("suite")).unwrap();
    expect(
        &import(&scene),
        3,
        &["gmail.db: the file is empty", "nothing was written"],
    );
}

#[test]
fn a_table_without_row_ids_is_read() {
    let scene = Scene::new();
    source(&scene);
    let (app, tables) = DATABASES[2];
    database(&scene, app, tables);
    change(
        &scene,
        app,
        "CREATE TABLE words (user_id TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
        INSERT INTO words VALUES ('a', 1);
        CREATE TABLE kept AS SELECT * FROM note;
        DROP TABLE note;
        CREATE TABLE note (title TEXT, user_id INTEGER, PRIMARY KEY (user_id, title)) WITHOUT ROWID;
        INSERT INTO note SELECT title, user_id FROM kept;",
    );
    expect(
        &import(&scene),
        3,
        &["table `words`: 1 rows: no app has a place"],
    );
    assert!(seed(&scene, app).contains("Glazes"));
}

#[test]
fn the_folders_above_the_suite_are_made() {
    let scene = Scene::new();
    source(&scene);
    let out = "made/on/the/way";
    let output = scene.run(&["import", "pi-bench", "source", "--out", out]);
    expect(&output, 0, &[]);
    assert!(scene.path(out).join("suite.toml").exists());
}

#[test]
fn a_tool_that_its_app_does_not_have_is_left_out_and_what_is_left_is_played() {
    let scene = Scene::new();
    source(&scene);
    let tools = "source/data/potter/tools.yaml";
    scene.replace(tools, "gmail__login", "gmail__nosuch, gmail__login");
    let output = scene.run(&["import", "pi-bench", "source", "--out", "suite"]);
    let told = "left out: potter/tools.yaml: app `gmail` has no tool `gmail__nosuch`";
    expect(&output, 3, &[told]);
    let persona = std::fs::read_to_string(scene.path("suite/personas/potter/persona.toml"));
    let persona = persona.unwrap();
    let (ours, theirs) = persona.split_once("[metadata.pi_bench]").unwrap();
    assert!(ours.contains("\"gmail__login\""), "{ours}");
    assert!(
        !ours.contains("nosuch") && theirs.contains("nosuch"),
        "{persona}"
    );
    let run = ["run", "suite/suite.toml", "--agent", "nop", "--out", "run"];
    expect(&scene.run(&run), 0, &[]);
}

/// What is written first stands in a hidden folder, which goes away.
#[test]
fn a_task_that_the_suites_format_refuses_is_told_by_its_own_file() {
    let scene = Scene::new();
    source(&scene);
    let task = "source/data/potter/tasks/one/task.yaml";
    scene.replace(task, "content: Tell what is there.", "content: ''");
    let output = scene.run(&["import", "pi-bench", "source", "--out", "made/suite"]);
    let told = [
        "left out: potter/tasks/one/task.yaml: refused by the suite's format: missing key `content`",
        "left out: potter: it has no task that could be read",
        "nothing was written",
    ];
    expect(&output, 3, &told);
    assert!(!stderr(&output).contains(".import-"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(scene.path("made")).unwrap().count(), 0);
}

#[test]
fn sums_that_a_service_rounded_and_bills_that_it_made_are_kept() {
    let scene = scene();
    change(
        &scene,
        "splitwise",
        "INSERT INTO expenses VALUES (2, 1, 1, 1, 'Glaze', 100.01, 0);
        INSERT INTO expense_shares VALUES (2, 2, 1, 50.01), (3, 2, 2, 50.01);
        INSERT INTO expenses VALUES (3, 1, 1, 1, 'Clay', 50.00, 0);
        INSERT INTO expense_shares VALUES (4, 3, 1, 24.96), (5, 3, 2, 24.96);",
    );
    change(
        &scene,
        "amazon",
        "ALTER TABLE orders ADD COLUMN tax REAL;
        ALTER TABLE orders ADD COLUMN delivery_fee REAL;
        ALTER TABLE orders ADD COLUMN paid_amount REAL;
        UPDATE orders SET tax = 8, delivery_fee = 5, paid_amount = 58;",
    );
    let output = import(&scene);
    let text = stderr(&output);
    for lost in ["`expenses`", "`tax`", "`delivery_fee`", "`paid_amount`"] {
        assert!(!text.contains(lost), "{text}");
    }
    let read =
        |app: &str| -> serde_json::Value { serde_json::from_str(&seed(&scene, app)).unwrap() };
    let expenses = read("splitwise")["expenses"].clone();
    // A service takes shares that are ten cents off together.
    for (description, share) in [("Glaze", 50.01), ("Clay", 24.96)] {
        let mut all = expenses.as_array().unwrap().iter();
        let expense = all.find(|it| it["description"] == description).unwrap();
        let shares = serde_json::json!([share, share]);
        assert_eq!(expense["debt_amounts"], shares, "{description}");
    }
    let order = &read("amazon")["orders"][0];
    let bill = ["tax", "delivery_fee", "paid_amount"]
        .map(|part| order[part].as_f64().unwrap().to_string());
    assert_eq!(bill, ["8", "5", "58"]);
    let played = scene.run(&["run", "suite/suite.toml", "--out", "run"]);
    assert_eq!(played.status.code(), Some(0), "{}", stderr(&played));
}
