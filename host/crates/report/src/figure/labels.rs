//! Where the labels of a plot's points go: beside their points, and where there is no room, farther away on a line. Points in
//! nearly the same place share one list of labels and one line to it. No label leaves the plot, and none covers a point or
//! another label, as long as the plot has room. Knows pixels only.

/// Height of a label.
const HIGH: i32 = 16;

/// A point's radius, and what is left free around it. Points that lie nearer to each other than that share a list.
const DOT: i32 = 5;

/// Farther away from its point, a label has a line to it.
const NEAR: i32 = 12;

/// Between two labels in one line: letters may be wider than they are taken to be.
const ASIDE: i32 = 8;

/// Around the labels of a list.
const GAP: i32 = 4;

/// Labels of a list at most: a longer one would be higher than a plot has room.
const MOST: usize = 12;

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
    /// Its upper corner on the side of its point.
    pub(super) at: (i32, i32),
    /// That corner is the right one: the label ends there.
    pub(super) ends: bool,
    /// Where a line from the point goes: to the label, or to the list that it is in, and along that to the label.
    pub(super) leader: Option<[(i32, i32); 2]>,
}

/// Left, top, right, bottom.
pub(super) type Area = [i32; 4];

/// A place within the plot for each, in their order: who is first has the choice. Where nothing is free, beside the point.
pub(super) fn place(plot: Area, wanted: &[Wanted]) -> Vec<Placed> {
    let dots = wanted.iter().map(|one| {
        let (x, y) = one.dot;
        [x - DOT, y - DOT, x + DOT, y + DOT]
    });
    let mut taken = Taken {
        texts: Vec::new(),
        dots: dots.collect(),
        lines: Vec::new(),
    };
    let mut placed = Vec::new();
    for stack in stacks(wanted) {
        let area = room(plot, &stack, &taken);
        let [left, top, right, bottom] = area;
        let gap = stack.gap();
        let text = [left - ASIDE, top - gap, right + ASIDE, bottom + gap];
        taken.texts.push(text);
        if let Some(end) = stack.leader(area) {
            taken.lines.push(along(stack.dot, end));
        }
        let labels = stack.labels.iter().enumerate();
        placed.extend(labels.map(|(line, at)| (*at, stack.label(area, line))));
    }
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, one)| one).collect()
}

/// Labels of points in nearly the same place, one below the other.
struct Stack {
    dot: (i32, i32),
    long: i32,
    /// Their places among all.
    labels: Vec<usize>,
}

impl Stack {
    fn size(&self) -> (i32, i32) {
        let lines = i32::try_from(self.labels.len()).unwrap_or(1);
        (self.long + self.gap(), HIGH * lines)
    }

    /// What a list leaves free beside its labels, above and below them: it is then told from the next one.
    fn gap(&self) -> i32 {
        if self.labels.len() > 1 { GAP } else { 0 }
    }

    /// Whether labels here end at their points' side.
    fn ends(&self, area: Area) -> bool {
        let [left, _, right, _] = area;
        let single = self.labels.len() == 1;
        // One label above or below its point is read from its left.
        right <= self.dot.0 || (!single && left + right < 2 * self.dot.0)
    }

    /// Where a line from the point ends. A label right beside its point needs none; a list always has one.
    fn leader(&self, area: Area) -> Option<(i32, i32)> {
        let [left, top, right, bottom] = area;
        let (x, y) = self.dot;
        let side = if self.ends(area) { right } else { left };
        if self.labels.len() > 1 {
            return Some((side, y.clamp(top, bottom)));
        }
        let end = (x.clamp(left, right), y.clamp(top, bottom));
        (apart(end, self.dot) > NEAR).then_some(end)
    }

    /// The label in this line of the list.
    fn label(&self, area: Area, line: usize) -> Placed {
        let [left, top, right, _] = area;
        let ends = self.ends(area);
        let above = HIGH * i32::try_from(line).unwrap_or(0);
        let gap = self.gap();
        let middle = |(x, _): (i32, i32)| (x, top + above + HIGH / 2);
        let leader = self.leader(area).map(|end| match self.labels.len() {
            1 => [end, end],
            _ => [end, middle(end)],
        });
        Placed {
            at: (if ends { right - gap } else { left + gap }, top + above),
            ends,
            leader,
        }
    }
}

/// The lists of labels, in the order of their first ones.
fn stacks(wanted: &[Wanted]) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = Vec::new();
    for (at, one) in wanted.iter().enumerate() {
        let same =
            |stack: &&mut Stack| stack.labels.len() < MOST && apart(stack.dot, one.dot) <= DOT;
        if let Some(stack) = stacks.iter_mut().find(same) {
            stack.long = stack.long.max(one.long);
            stack.labels.push(at);
        } else {
            stacks.push(Stack {
                dot: one.dot,
                long: one.long,
                labels: vec![at],
            });
        }
    }
    stacks
}

/// The nearest place that is free.
fn room(plot: Area, stack: &Stack, taken: &Taken) -> Area {
    let areas = areas(plot, stack);
    let free: Vec<Area> = areas
        .iter()
        .copied()
        .filter(|area| taken.leaves(area))
        .collect();
    let clear = |area: &&Area| !taken.is_crossed(stack.dot, stack.leader(**area));
    // In a crowd of points, a line that crosses something still tells more than a text on another.
    let found = free.iter().find(clear).or(free.first());
    found.copied().unwrap_or(areas[0])
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

/// Every place that a list may have, those with the shortest line first.
fn areas(plot: Area, stack: &Stack) -> Vec<Area> {
    let mut areas: Vec<Area> = (NEAR..FAR)
        .step_by(STEP)
        .flat_map(|far| AROUND.map(|direction| beside(plot, stack, direction, far)))
        .collect();
    areas.sort_by_key(|area| {
        let line = stack.leader(*area);
        line.map_or(NEAR, |end| apart(end, stack.dot).max(NEAR))
    });
    areas
}

/// A place so far from the point in this direction, with its nearest side; one that would leave the plot stays at its edge.
fn beside(plot: Area, stack: &Stack, (right, down): (i32, i32), far: i32) -> Area {
    let (x, y) = stack.dot;
    let (long, high) = stack.size();
    // Above and below in the middle, else on that side.
    let edge = |at: i32, towards: i32, long: i32| match towards.signum() {
        0 => at - long / 2,
        1 => at,
        _ => at - long,
    };
    let within = |at: i32, long: i32, from: i32, to: i32| at.min(to - long).max(from);
    let left = edge(x + right * far / 100, right, long);
    let top = edge(y + down * far / 100, down, high);
    let left = within(left, long, plot[0], plot[2]);
    let top = within(top, high, plot[1], plot[3]);
    [left, top, left + long, top + high]
}

/// The larger one of the distances along x and y.
fn apart((x, y): (i32, i32), (other_x, other_y): (i32, i32)) -> i32 {
    (x - other_x).abs().max((y - other_y).abs())
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

    const ROOM: Area = [0, 0, 680, 460];

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

    /// What a label covers.
    fn covered(placed: Placed, long: i32) -> Area {
        let (x, top) = placed.at;
        let left = if placed.ends { x - long } else { x };
        [left, top, left + long, top + HIGH]
    }

    /// `clear`: whether there is room for the lines too.
    fn check(plot: Area, wanted: &[Wanted], clear: bool) {
        let placed = place(plot, wanted);
        let areas: Vec<Area> = placed
            .iter()
            .zip(wanted)
            .map(|(placed, one)| covered(*placed, one.long))
            .collect();
        for (at, one) in areas.iter().enumerate() {
            assert!(
                one[0] >= plot[0] && one[1] >= plot[1],
                "{at} leaves the plot"
            );
            assert!(
                one[2] <= plot[2] && one[3] <= plot[3],
                "{at} leaves the plot"
            );
            assert!(!areas[..at].iter().any(|other| overlap(one, other)), "{at}");
            let covers = |Wanted { dot, .. }: &Wanted| holds(one, *dot);
            assert!(!wanted.iter().any(covers), "{at} covers a point");
            let (x, y) = wanted[at].dot;
            let nearest = (x.clamp(one[0], one[2]), y.clamp(one[1], one[3]));
            let moved = apart(nearest, (x, y)) > NEAR;
            assert!(!moved || placed[at].leader.is_some(), "{at} has no line");
            let lines = placed.iter().zip(wanted).enumerate();
            for (other, (placed, wanted)) in lines.filter(|(other, _)| *other != at) {
                let line = placed.leader.map(|[end, _]| along(wanted.dot, end));
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
            ends: false,
            leader: None,
        };
        assert_eq!(place(ROOM, &wanted), [beside]);
        // At the edge there is room on the other side only.
        let wanted = [Wanted {
            dot: (670, 100),
            long: 70,
        }];
        let [placed] = place(ROOM, &wanted)[..] else {
            panic!("one label");
        };
        assert_eq!((placed.at, placed.ends), ((658, 92), true));
    }

    #[test]
    fn labels_in_one_line_do_not_touch() {
        // Of the second one there is room on the left only, where the first one ends.
        let wanted = [506, 670].map(|x| Wanted {
            dot: (x, 100),
            long: 70,
        });
        let placed = place(ROOM, &wanted);
        let areas: Vec<Area> = placed.iter().map(|one| covered(*one, 70)).collect();
        for (at, one) in areas.iter().enumerate() {
            let wider = [one[0] - ASIDE, one[1], one[2] + ASIDE, one[3]];
            assert!(!areas[..at].iter().any(|other| overlap(&wider, other)));
        }
    }

    #[test]
    fn the_labels_of_many_models_cover_nothing() {
        for count in [2, 9, 18] {
            check(ROOM, &crowd(count), true);
        }
        check(ROOM, &crowd(29), false);
    }

    #[test]
    fn points_in_nearly_the_same_place_share_a_list_and_a_line() {
        let plot = [68, 84, 664, 446];
        // Most models at the plot's lower edge, as where nothing was done.
        for x in [88, 366, 595] {
            let mut wanted: Vec<Wanted> = (0..8)
                .map(|at| Wanted {
                    dot: (x - 8 * i32::from(at % 4 == 3), 433),
                    long: 120 + 15 * at,
                })
                .collect();
            wanted.push(Wanted {
                dot: (135, 96),
                long: 130,
            });
            check(plot, &wanted, true);
            let placed = place(plot, &wanted);
            assert_eq!(placed[8].leader, None);
            let leaders = placed[..8].iter().map(|one| one.leader.unwrap());
            let leaders: Vec<[(i32, i32); 2]> = leaders.collect();
            for (at, [end, label]) in leaders.iter().enumerate() {
                let first = if at % 4 == 3 { 3 } else { 0 };
                assert_eq!(*end, leaders[first][0]);
                assert_eq!(label.1, placed[at].at.1 + HIGH / 2);
            }
        }
    }

    #[test]
    fn where_there_is_no_room_at_all_a_label_begins_at_the_edge() {
        let wanted = [Wanted {
            dot: (10, 10),
            long: 70,
        }];
        let places = place([0, 0, 40, 20], &wanted);
        assert_eq!(places[0].at, (0, 2));
    }
}
