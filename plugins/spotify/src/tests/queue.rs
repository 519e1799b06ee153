//! The player against a simple model: every entry of the queue is a thing of its own, so that order and place can be
//! followed even where songs repeat.

use jiff::civil::{DateTime, date};

use crate::player::{Playback, Player};

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<SongId>),
    Replace(Vec<SongId>),
    Remove(usize),
    Play(usize),
    Resume,
    Wait(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let songs = || prop::collection::vec(1..6_u32, 1..5);
    prop_oneof![
        3 => songs().prop_map(Step::Append),
        1 => songs().prop_map(Step::Replace),
        3 => (0..8_usize).prop_map(Step::Remove),
        2 => (0..8_usize).prop_map(Step::Play),
        2 => Just(Step::Resume),
        3 => (0..200_u32).prop_map(Step::Wait),
    ]
}

/// Songs of 10 to 50 seconds.
fn duration(song: SongId) -> u32 {
    song * 10
}

/// Second by second, what the player does in one leap.
#[derive(Debug, Default)]
struct Model {
    queue: Vec<SongId>,
    position: usize,
    seconds: u32,
    playing: bool,
    begun: Vec<SongId>,
}

impl Model {
    fn begin(&mut self, position: usize) {
        (self.position, self.seconds, self.playing) = (position, 0, true);
    }

    fn rest(&mut self) {
        (self.position, self.seconds, self.playing) = (0, 0, false);
    }

    fn second(&mut self) {
        if !self.playing {
            return;
        }
        self.seconds += 1;
        if self.seconds < duration(self.queue[self.position]) {
            return;
        }
        if self.position + 1 == self.queue.len() {
            self.rest();
        } else {
            self.begin(self.position + 1);
            self.begun.push(self.queue[self.position]);
        }
    }

    fn remove(&mut self, position: usize) {
        if position >= self.queue.len() {
            return;
        }
        self.queue.remove(position);
        if position < self.position {
            self.position -= 1;
        } else if position == self.position {
            self.seconds = 0;
            if self.position == self.queue.len() {
                self.rest();
            }
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Append(songs) => self.queue.extend(songs),
            Step::Replace(songs) => {
                self.queue.clone_from(songs);
                self.begin(0);
            }
            Step::Remove(position) => self.remove(*position),
            Step::Play(position) if *position < self.queue.len() => self.begin(*position),
            Step::Resume => self.playing = !self.queue.is_empty(),
            Step::Wait(seconds) => (0..*seconds).for_each(|_| self.second()),
            Step::Play(_) => {}
        }
    }
}

fn run(player: &mut Player, step: &Step, now: &mut DateTime, begun: &mut Vec<SongId>) {
    match step {
        Step::Append(songs) => player.append(songs),
        Step::Replace(songs) => player.replace(songs.clone(), *now),
        Step::Remove(position) => {
            player.remove(*position, *now);
        }
        Step::Play(position) if *position < player.queue().len() => player.play(*position, *now),
        Step::Resume if !player.queue().is_empty() => {
            player.resume(*now);
        }
        Step::Wait(seconds) => *now += jiff::Span::new().seconds(*seconds),
        Step::Play(_) | Step::Resume => {}
    }
    player.advance(*now, duration, |song, times| {
        (0..times).for_each(|_| begun.push(song));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_player_does_what_the_model_does(steps in prop::collection::vec(step(), 0..60)) {
        let mut now = date(2026, 3, 2).at(9, 0, 0, 0);
        let (mut player, mut model, mut begun) = (Player::default(), Model::default(), Vec::new());
        for step in steps {
            model.run(&step);
            run(&mut player, &step, &mut now, &mut begun);
            prop_assert_eq!(player.queue(), &model.queue, "{:?}", step);
            prop_assert_eq!(player.position(), model.position, "{:?}", step);
            prop_assert_eq!(player.playing(), model.playing, "{:?}", step);
            prop_assert_eq!(player.played_seconds(now), model.seconds, "{:?}", step);
            prop_assert_eq!(player.current(), model.queue.get(model.position).copied());
            prop_assert_eq!(&begun, &model.begun);
        }
    }

    #[test]
    fn a_song_stays_current_while_others_leave(
        queue in prop::collection::vec(1..6_u32, 2..20),
        position in any::<prop::sample::Index>(),
        removed in any::<prop::sample::Index>(),
    ) {
        let now = date(2026, 3, 2).at(9, 0, 0, 0);
        // Entries are told apart by their numbers.
        let entries: Vec<SongId> = (0..).zip(&queue).map(|(number, _)| number).collect();
        let (position, removed) = (position.index(queue.len()), removed.index(queue.len()));
        let resting = Playback::Resting { played_seconds: 3 };
        let mut player = Player::new(entries.clone(), position, resting, false).unwrap();
        let (song, begins) = player.remove(removed, now).unwrap();
        prop_assert_eq!((song, begins), (entries[removed], false));
        let rest: Vec<SongId> = entries.iter().copied().filter(|entry| *entry != song).collect();
        prop_assert_eq!(player.queue(), &rest);
        if removed != position {
            prop_assert_eq!(player.current(), Some(entries[position]));
            prop_assert_eq!(player.played_seconds(now), 3);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_is_waited_for() {
    let now = date(2026, 3, 2).at(9, 0, 0, 0);
    let mut player = Player::default();
    player.replace(vec![1, 2], now);
    player.advance(DateTime::MIN, duration, |_, _| panic!("nothing begins"));
    assert_eq!(
        (player.position(), player.played_seconds(DateTime::MIN)),
        (0, 0)
    );
}

#[test]
fn the_end_of_time_ends_the_music() {
    let mut player = Player::default();
    player.replace(vec![1, 2, 3], DateTime::MIN);
    player.advance(DateTime::MAX, duration, |_, _| {});
    assert!(!player.playing());
    player.replace(vec![1, 2, 3], DateTime::MAX);
    player.advance(DateTime::MAX, duration, |_, _| panic!("nothing begins"));
    assert!(player.playing());
}
