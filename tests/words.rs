//! What the scripted judges take for the agent's own words: copies are cut out, names in arguments are not, and lines are
//! lines.

use serde_json::Value;

use crate::scene::{Scene, expect};

/// What the agent reads before it acts.
const SHOWN: &str = "Flat 3, 27 Brunswick Terrace, Leith Walk, Edinburgh EH6 5DT\n\n\
    the blue parcel waits for him on the stairs and not in the hall\n";

/// Plays one session whose agent reads a file and then takes this step: whether that satisfies its one intent.
fn satisfies(step: &str, within: &str, pattern: &str) -> bool {
    let scene = Scene::new();
    scene.write(
        "suite.toml",
        "version = 1\nid = \"small\"\npersonas = [\"ada\"]\n",
    );
    scene.write(
        "ada/persona.toml",
        "version = 1\nid = \"ada\"\nname = \"Ada\"\nprofile = \"x\"\nepisode = [{ session = \"one\" }]\n",
    );
    scene.write("ada/sessions/one/parcel.md", SHOWN);
    scene.write(
        "ada/sessions/one/session.toml",
        &format!(
            "version = 1\nid = \"one\"\ntitle = \"x\"\nclock = 2026-03-02T09:00:00\nrequest = \"See to it.\"\n\
             files = [{{ source = \"parcel.md\" }}]\n\
             [[intents]]\nid = \"i\"\ncontent = \"x\"\nsatisfied = {{ within = [\"{within}\"], all = [['{pattern}']] }}\n\
             [[checklist]]\nid = \"c\"\ncriterion = \"x\"\nmet = {{ all = [[\"x\"]] }}\n\
             [[reference]]\ntool = \"read_file\"\narguments = {{ path = \"parcel.md\" }}\n\
             [[reference]]\nserves = [\"i\"]\n{step}\n"
        ),
    );
    let output = scene.run(&["run", "suite.toml", "--json", "--out", "run"]);
    expect(&output, 0, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    results["proc"].as_f64().unwrap() > 50.0
}

fn search(query: &str) -> String {
    format!("tool = \"web_search\"\narguments = {{ query = \"{query}\" }}")
}

fn write(content: &str) -> String {
    format!("tool = \"write_file\"\narguments = {{ path = \"out.md\", content = '''{content}''' }}")
}

#[test]
fn an_address_that_was_shown_can_be_an_argument_and_a_sentence_cannot() {
    let [address, sentence] = [0, 2].map(|line| SHOWN.lines().nth(line).unwrap());
    assert!(address.len() > 40 && sentence.len() > 40);
    let call = "call:web_search";
    assert!(satisfies(&search(address), call, "27 brunswick terrace"));
    assert!(!satisfies(&search(sentence), call, "blue parcel waits"));
    let own = "the green one is in the hall";
    assert!(satisfies(&search(own), call, "green one"));
}

#[test]
fn what_is_said_to_the_user_is_no_argument() {
    let address = SHOWN.lines().next().unwrap();
    let say = format!("tool = \"message\"\narguments = {{ content = \"{address}\" }}");
    assert!(!satisfies(&say, "response", "27 brunswick terrace"));
    let say = say.replace(address, "Sent to 27 Brunswick Terrace.");
    assert!(satisfies(&say, "response", "27 brunswick terrace"));
}

#[test]
fn a_pattern_can_ask_for_one_line() {
    let one = write("| L05 | 711.90 | out |\n| L06 | 690.00 | stays |\n");
    let two = write("| L05 | 711.90 | stays |\n| L06 | 690.00 | out |\n");
    let line = r"l05[^\n]{0,60}\bout\b";
    assert!(satisfies(&one, "file:out.md", line));
    assert!(!satisfies(&two, "file:out.md", line));
    // Who does not speak of lines is not kept to one.
    assert!(satisfies(&two, "file:out.md", r"l05.{0,60}\bout\b"));
    assert!(satisfies(&two, "file:out.md", r"stays \| \| l06"));
}
