//! Where the labels of a plot's points go: beside their points, and where there is no room, farther away on a line. No
//! label covers a point or another label, as long as the plot has room. Knows pixels only.

/// Height of a label.
const HIGH: i32 = 16;

/// A point's radius, and what is left free around it.
const DOT: i32 = 5;

/// Farther away from its point, a label has a line to it.
const NEAR: i32 = 12;

/// How much farther a label is looked for each time, and how far in the end.
const STEP: usize = 7;
const FAR: i32 = 420;

/// Directions around a point: the sides first, for a label is read from there most easily.
const AROUND: [(i32, i32); 16] = [
    (100, 0),
    (-100, 0),
    (0, -100),
    (0, 100),
    (71, -71),
    (71, 71),
    (-71, -71),
    (-71, 71),
    (92, -38),
    (92, 38),
    (-92, -38),
    (-92, 38),
    (38, -92),
    (38, 92),
    (-38, -92),
    (-38, 92),
];

/// A point that wants a label of this length, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) dot: (i32, i32),
    pub(super) long: i32,
}

/// A label's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// Its left upper corner.
    pub(super) at: (i32, i32),
    /// Where a line from the point ends.
    pub(super) leader: Option<(i32, i32)>,
}

/// Left, top, right, bottom.
type Area = [i32; 4];

/// A place for each, in their order: who is first has the choice. Where nothing is free, beside the point.
pub(super) fn place((width, height): (i32, i32), wanted: &[Wanted]) -> Vec<Placed> {
    let dots = wanted.iter().map(|one| {
        let (x, y) = one.dot;
        [x - DOT, y - DOT, x + DOT, y + DOT]
    });
    let mut taken = Taken {
        texts: Vec::new(),
        dots: dots.collect(),
        lines: Vec::new(),
    };
    let inside = |area: &Area| area[0] > 0 && area[1] > 0 && area[2] < width && area[3] < height;
    wanted
        .iter()
        .map(|one| {
            let free = |placed: &Placed| {
                let area = area(*placed, one.long);
                inside(&area) && taken.leaves(&area)
            };
            let places: Vec<Placed> = places(*one).into_iter().filter(free).collect();
            let clear = |placed: &&Placed| !taken.is_crossed(one.dot, placed.leader);
            // In a crowd of points, a line that crosses something still tells more than a text on another.
            let found = places.iter().find(clear).or(places.first()).copied();
            let chosen = found.unwrap_or_else(|| beside(*one, AROUND[0], NEAR));
            taken.texts.push(area(chosen, one.long));
            if let Some(end) = chosen.leader {
                taken.lines.push(along(one.dot, end));
            }
            chosen
        })
        .collect()
}

/// What a new label must leave visible.
struct Taken {
    texts: Vec<Area>,
    dots: Vec<Area>,
    lines: Vec<Vec<(i32, i32)>>,
}

impl Taken {
    /// Whether a text here covers no other, no point and no line.
    fn leaves(&self, text: &Area) -> bool {
        let mut covered = self.texts.iter().chain(&self.dots);
        let mut lines = self.lines.iter().flatten();
        !covered.any(|other| overlap(text, other)) && !lines.any(|point| holds(text, *point))
    }

    /// Whether a line to a label's place runs over a text or over another point.
    fn is_crossed(&self, dot: (i32, i32), leader: Option<(i32, i32)>) -> bool {
        let own = leader.map(|end| along(dot, end)).unwrap_or_default();
        let crossed = |other: &Area| own.iter().any(|point| holds(other, *point));
        // A line begins at its own point, and another may lie below that.
        let others = self.dots.iter().filter(|other| !holds(other, dot));
        self.texts.iter().chain(others).any(crossed)
    }
}

/// Every place that a label may have, the nearest first.
fn places(wanted: Wanted) -> Vec<Placed> {
    (NEAR..FAR)
        .step_by(STEP)
        .flat_map(|far| AROUND.map(|direction| beside(wanted, direction, far)))
        .collect()
}

/// A label so far from its point in this direction, with its nearest side.
fn beside(Wanted { dot: (x, y), long }: Wanted, (right, down): (i32, i32), far: i32) -> Placed {
    let (cx, cy) = (x + right * far / 100, y + down * far / 100);
    // Above and below in the middle, else on that side.
    let edge = |at: i32, towards: i32, long: i32| match towards.signum() {
        0 => at - long / 2,
        1 => at,
        _ => at - long,
    };
    let (left, top) = (edge(cx, right, long), edge(cy, down, HIGH));
    Placed {
        at: (left, top),
        leader: (far > NEAR).then_some((cx, cy)),
    }
}

fn area(
    Placed {
        at: (left, top), ..
    }: Placed,
    long: i32,
) -> Area {
    [left, top, left + long, top + HIGH]
}

/// Points on a line, some pixels apart.
fn along((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> Vec<(i32, i32)> {
    let steps = ((to_x - x).abs().max((to_y - y).abs()) / 4).max(1);
    (0..steps)
        .map(|step| (x + (to_x - x) * step / steps, y + (to_y - y) * step / steps))
        .collect()
}

fn holds(area: &Area, (x, y): (i32, i32)) -> bool {
    area[0] <= x && x <= area[2] && area[1] <= y && y <= area[3]
}

fn overlap(one: &Area, other: &Area) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: (i32, i32) = (680, 460);

    /// So many points around one place, as close as models of one generation are.
    fn crowd(count: i32) -> Vec<Wanted> {
        let spread = |at: i32, by: i32| at * by % 340 - 170;
        (0..count)
            .map(|at| Wanted {
                dot: (400 + spread(at, 67), 210 + spread(at, 41) * 3 / 4),
                long: 60 + at * 29 % 110,
            })
            .collect()
    }

    /// `clear`: whether there is room for the lines too.
    fn check(wanted: &[Wanted], clear: bool) {
        let placed = place(ROOM, wanted);
        let areas: Vec<Area> = placed
            .iter()
            .zip(wanted)
            .map(|(placed, one)| area(*placed, one.long))
            .collect();
        for (at, one) in areas.iter().enumerate() {
            assert!(one[0] > 0 && one[1] > 0 && one[2] < ROOM.0 && one[3] < ROOM.1);
            assert!(!areas[..at].iter().any(|other| overlap(one, other)), "{at}");
            let covers = |Wanted { dot, .. }: &Wanted| holds(one, *dot);
            assert!(!wanted.iter().any(covers), "{at} covers a point");
            let lines = placed.iter().zip(wanted).enumerate();
            for (other, (placed, wanted)) in lines.filter(|(other, _)| *other != at) {
                let line = placed.leader.map(|end| along(wanted.dot, end));
                let crossed = line.is_some_and(|line| line.iter().any(|point| holds(one, *point)));
                assert!(!(clear && crossed), "the line of {other} crosses {at}");
            }
        }
    }

    #[test]
    fn a_label_alone_stands_right_beside_its_point_and_has_no_line() {
        let wanted = [Wanted {
            dot: (100, 100),
            long: 70,
        }];
        let beside = Placed {
            at: (112, 92),
            leader: None,
        };
        assert_eq!(place(ROOM, &wanted), [beside]);
        // At the edge there is room on the other side only.
        let wanted = [Wanted {
            dot: (670, 100),
            long: 70,
        }];
        assert_eq!(place(ROOM, &wanted)[0].at, (588, 92));
    }

    #[test]
    fn the_labels_of_many_models_cover_nothing() {
        for count in [2, 9, 18] {
            check(&crowd(count), true);
        }
        check(&crowd(29), false);
    }

    #[test]
    fn where_there_is_no_room_at_all_a_label_stands_beside_its_point() {
        let wanted = [Wanted {
            dot: (10, 10),
            long: 70,
        }; 2];
        let places = place((40, 20), &wanted);
        assert!(places.iter().all(|placed| placed.at == (22, 2)));
    }
}
