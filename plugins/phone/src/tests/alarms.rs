use super::*;

#[test]
fn an_alarm_is_set_with_the_usual_settings() {
    let mut session = ida();
    let answer = session.ok("create_alarm", json!({"time": "6:45"}));
    assert_eq!(
        answer,
        json!({"message": "Alarm 3 is created.", "alarm_id": 3})
    );
    let expected = json!({
        "alarm_id": 3, "time": "06:45", "repeat_days": [], "label": "", "enabled": true, "snooze_minutes": 15,
        "vibration": true, "created_at": "2026-03-02T09:00:00",
        "user": {"name": "Ida Vale", "phone_number": IDAS},
    });
    assert_eq!(session.ok("show_alarm", json!({"alarm_id": 3})), expected);
}

#[test]
fn an_alarm_is_set_as_told() {
    let mut session = ida();
    let alarm = json!({
        "time": "22:00", "repeat_days": ["sunday", "tuesday", "sunday"], "label": " Sleep ", "enabled": false,
        "snooze_minutes": 0, "vibration": false,
    });
    session.ok("create_alarm", alarm);
    let shown = session.ok("show_alarm", json!({"alarm_id": 3}));
    assert_eq!(shown["repeat_days"], json!(["tuesday", "sunday"]));
    assert_eq!(shown["label"], "Sleep");
    let flags = ["enabled", "snooze_minutes", "vibration"].map(|key| shown[key].clone());
    assert_eq!(flags, [json!(false), json!(0), json!(false)]);
}

#[test]
fn an_alarm_of_a_time_its_days_and_a_label_is_set_once() {
    let mut session = ida();
    let alarm = |label: &str| json!({"time": "22:00", "repeat_days": ["sunday"], "label": label});
    session.ok("create_alarm", alarm("Sleep"));
    let refusal = session.refused("create_alarm", alarm("Sleep"));
    let message = "You have an alarm at 22:00 on these days with this label already.";
    assert_eq!((refusal.status, refusal.message.as_str()), (409, message));
    for label in ["Tea", "", ""] {
        session.ok("create_alarm", alarm(label));
    }
}

#[test]
fn an_alarm_is_changed_where_told() {
    let mut session = ida();
    let change = json!({"alarm_id": 1, "time": "08:00", "repeat_days": [], "enabled": false});
    let answer = session.ok("update_alarm", change);
    assert_eq!(answer, json!({"message": "Alarm 1 is updated."}));
    let expected = json!({
        "id": 1, "owner": IDA, "time": "08:00", "repeat_days": [], "label": "Swimming", "enabled": false,
        "snooze_minutes": 15, "vibration": true, "created_at": "2026-01-03T10:00:00",
    });
    assert_eq!(session.state()["alarms"][0], expected);
}

#[test]
fn an_alarm_that_breaks_a_rule_is_refused() {
    for time in [
        "24:00",
        "7",
        "07:60",
        "7:5",
        "07:30:00",
        "half past",
        "-1:00",
        "١:00",
    ] {
        let message = format!("{time:?} is no time of the day from 00:00 to 23:59.");
        check_refused("create_alarm", json!({"time": time}), 422, &message);
        check_refused(
            "update_alarm",
            json!({"alarm_id": 1, "time": time}),
            422,
            &message,
        );
    }
    let snooze = json!({"time": "07:30", "snooze_minutes": 61});
    let message = "snooze_minutes must be from 0 to 60, not 61.";
    check_refused("create_alarm", snooze, 422, message);
    let label = json!({"alarm_id": 1, "label": "x".repeat(201)});
    check_refused(
        "update_alarm",
        label,
        422,
        "The label has 201 bytes; at most 200 fit.",
    );
    let day = json!({"time": "07:30", "repeat_days": ["someday"]});
    assert_eq!(ida().refused("create_alarm", day).status, 422);
}

#[test]
fn an_alarm_must_exist_and_be_ones_own() {
    for tool in ["show_alarm", "update_alarm"] {
        check_refused(tool, json!({"alarm_id": 9}), 409, "There is no alarm 9.");
        let foreign = "Alarm 2 belongs to another account.";
        check_refused(tool, json!({"alarm_id": 2}), 422, foreign);
    }
}
