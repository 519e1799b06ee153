//! The paper's Figures 3, 4 and 5 as SVG. It draws what `measures` found; a figure that the runs cannot support says why.

mod draw;
mod labels;

use super::category::{CATEGORIES, describe, letter};
use super::escape::line;
use super::measures::Scores;
use super::published::{MARK, published};
use super::run_record::{CUT, RunRecord, marked};
use super::tables::Measured;
use draw::{Bars, Canvas, Plot, Point};
use pibench_record::identity::incomparable;

pub use draw::Theme;

/// One figure of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// `figure-3`: also its file's name.
    pub id: &'static str,
    pub title: &'static str,
    /// What it shows, for who does not see it.
    pub description: String,
    pub svg: String,
}

/// All figures in one theme. `banner` stands in each.
pub fn figures(runs: &[Measured<'_>], theme: Theme, banner: Option<&str>) -> Vec<Figure> {
    let banner = banner.map(line);
    let banner = banner.as_deref();
    let figure = |id, title: &'static str, svg: String| {
        let description = described(title, runs, id == "figure-4");
        Figure {
            id,
            title,
            svg: named(&svg, title, &description),
            description,
        }
    };
    vec![
        figure(
            "figure-3",
            "Figure 3: Comp against Proc, overall",
            overall(runs, theme, banner),
        ),
        figure(
            "figure-4",
            "Figure 4: turns of a session against Proc",
            turns(runs, theme, banner),
        ),
        figure(
            "figure-5",
            "Figure 5: final sessions with and without those that they depend on",
            ablation(runs, theme, banner),
        ),
        figure(
            "figure-3-categories",
            "Figure 3: Comp against Proc, by category",
            by_category(runs, theme, banner),
        ),
    ]
}

/// What a figure says of the runs, in words.
fn described(title: &str, runs: &[Measured<'_>], turns: bool) -> String {
    let mean = |spread: Option<super::measures::Spread>| {
        spread.map_or_else(|| "none".into(), |spread| format!("{:.1}", spread.mean))
    };
    let of_all = runs.iter().map(|one| {
        let (label, overall) = (run_label(one.run), &one.measures.overall);
        let (proc, comp) = (mean(overall.proc), mean(overall.comp));
        let second = if turns {
            format!("turns {}", mean(one.measures.turns))
        } else {
            format!("Comp {comp}")
        };
        format!("{label}: Proc {proc}, {second}")
    });
    format!("{title}. {}.", of_all.collect::<Vec<_>>().join("; "))
}

/// The figure with a title and a description in it, which readers of screens read.
fn named(svg: &str, title: &str, description: &str) -> String {
    let Some(end) = svg.find('>') else {
        return svg.to_owned();
    };
    let (head, rest) = svg.split_at(end + 1);
    let head = head.replacen("<svg ", "<svg role=\"img\" ", 1);
    let (title, description) = (markup(title), markup(description));
    format!("{head}\n<title>{title}</title>\n<desc>{description}</desc>{rest}")
}

/// A text inside of an element.
fn markup(text: &str) -> String {
    line(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// In place of a figure that the runs cannot support.
fn sentence(why: &str, theme: Theme, banner: Option<&str>) -> String {
    Canvas::new((680, 130), theme, banner).sentence(why)
}

/// Figures carry short labels.
fn label(text: &str) -> String {
    shortened(text, 28)
}

fn shortened(text: &str, length: usize) -> String {
    let text = line(text);
    if text.chars().count() <= length {
        return text;
    }
    let head: String = text.chars().take(length - 1).collect();
    format!("{head}…")
}

fn point(run: &RunRecord, scores: Option<&Scores>, place: usize) -> Option<Point> {
    let scores = scores?;
    Some(Point {
        x: scores.proc?.mean,
        y: scores.comp?.mean,
        spread: (scores.proc?.std, scores.comp?.std),
        label: run_label(run),
        series: Some(place),
        apart: stands_apart(run),
    })
}

/// Whether it is drawn as not to be compared with the others.
fn stands_apart(run: &RunRecord) -> bool {
    run.is_apart() || run.results.ablate.is_some() || run.is_cut()
}

/// A run's name with its marks, which no shortness takes away.
fn run_label(run: &RunRecord) -> String {
    let mut name = marked(&label(&run.label), run.results.players);
    if run.is_cut() {
        name.extend([" (", CUT, ")"]);
    }
    match run.results.ablate {
        Some(_) => format!("{name} (without dependencies)"),
        None => name,
    }
}

/// Says how runs that stand apart are drawn, if there are any.
fn note_of_apart(canvas: &mut Canvas, runs: &[Measured<'_>]) {
    if runs.iter().any(|one| one.run.is_apart()) {
        canvas.note("Triangle: scripted or by patterns, not comparable with the others.");
    } else if runs.iter().any(|one| one.run.results.ablate.is_some()) {
        canvas.note("Triangle: without dependencies, not comparable with the others.");
    } else if runs.iter().any(|one| one.run.is_cut()) {
        canvas.note(&format!("Triangle: {CUT}, not comparable with the others."));
    }
    if runs.iter().any(|one| one.run.results.runs > 1) {
        canvas.note("Bars: the standard deviation over a model's runs.");
    }
}

fn overall(runs: &[Measured<'_>], theme: Theme, banner: Option<&str>) -> String {
    let mut points: Vec<Point> = runs
        .iter()
        .enumerate()
        .filter_map(|(at, one)| point(one.run, Some(&one.measures.overall), at))
        .collect();
    points.extend(published().model.iter().map(|model| Point {
        x: model.proc,
        y: model.comp,
        spread: (Some(model.proc_std), Some(model.comp_std)),
        label: model.name.clone(),
        series: None,
        apart: false,
    }));
    let plot = Plot {
        title: String::new(),
        x: "Proc (%)",
        y: "Comp (%)",
        percent: (true, true),
        diagonal: true,
        labels: true,
        points,
    };
    let mut canvas = Canvas::new((680, 520), theme, banner);
    canvas.note(&format!("Hollow: {MARK}. Dashed: Comp = Proc."));
    note_of_apart(&mut canvas, runs);
    canvas.plots(1, &[plot])
}

fn by_category(runs: &[Measured<'_>], theme: Theme, banner: Option<&str>) -> String {
    let plots: Vec<Plot> = CATEGORIES
        .into_iter()
        .map(|category| {
            let mut points: Vec<Point> = runs
                .iter()
                .enumerate()
                .filter_map(|(at, one)| {
                    let scores = one.measures.categories.get(&category);
                    point(one.run, scores, at)
                })
                .collect();
            points.extend(published().model.iter().filter_map(|model| {
                let [x, y] = *model.categories.get(&category)?;
                Some(Point {
                    x,
                    y,
                    spread: (None, None),
                    label: String::new(),
                    series: None,
                    apart: false,
                })
            }));
            Plot {
                title: shortened(
                    &format!("{} {}", letter(category), describe(category).0),
                    34,
                ),
                x: "Proc",
                y: "Comp",
                percent: (true, true),
                diagonal: true,
                labels: false,
                points,
            }
        })
        .collect();
    let mut canvas = Canvas::new((960, 1160), theme, banner);
    canvas.note(&format!("Hollow: {MARK}. Dashed: Comp = Proc."));
    note_of_apart(&mut canvas, runs);
    for (at, one) in runs.iter().enumerate() {
        canvas.legend(at, stands_apart(one.run), &run_label(one.run));
    }
    canvas.plots(4, &plots)
}

fn turns(runs: &[Measured<'_>], theme: Theme, banner: Option<&str>) -> String {
    let points: Vec<Point> = runs
        .iter()
        .enumerate()
        .filter_map(|(at, one)| {
            Some(Point {
                x: one.measures.turns?.mean,
                y: one.measures.overall.proc?.mean,
                spread: (one.measures.turns?.std, one.measures.overall.proc?.std),
                label: run_label(one.run),
                series: Some(at),
                apart: stands_apart(one.run),
            })
        })
        .collect();
    if points.is_empty() {
        return sentence("No session of these runs was scored.", theme, banner);
    }
    let mut canvas = Canvas::new((680, 520), theme, banner);
    canvas.note("The paper prints no numbers of turns, so its models are not here.");
    note_of_apart(&mut canvas, runs);
    let plot = Plot {
        title: String::new(),
        x: "Turns per session",
        y: "Proc (%)",
        percent: (false, true),
        diagonal: false,
        labels: true,
        points,
    };
    canvas.plots(1, &[plot])
}

/// Runs of one agent on the same suite, the whole one and the one without dependencies.
fn ablation(runs: &[Measured<'_>], theme: Theme, banner: Option<&str>) -> String {
    let mut groups = Vec::new();
    for without in runs.iter().filter(|one| one.run.results.ablate.is_some()) {
        let same = |one: &&Measured<'_>| {
            let (a, b) = (&one.run.manifest, &without.run.manifest);
            one.run.results.ablate.is_none()
                && a.agent == b.agent
                && a.players == b.players
                && incomparable(a, b).is_empty()
        };
        if let Some(with) = runs.iter().find(same) {
            groups.push((with, without));
        }
    }
    if groups.is_empty() {
        let why = "This needs two runs of one agent: a whole one, and one of the final sessions without those that they \
                   depend on.";
        return sentence(why, theme, banner);
    }
    let mut canvas = Canvas::new((860, 420), theme, banner);
    let value = |scores: &Scores, comp: bool| {
        let spread = if comp { scores.comp } else { scores.proc };
        spread.map(|spread| spread.mean)
    };
    let bars = |comp: bool, title: &'static str| Bars {
        title,
        groups: groups
            .iter()
            .map(|(with, without)| {
                let both = [
                    value(&with.measures.finals, comp),
                    value(&without.measures.finals, comp),
                ];
                (
                    marked(&label(&with.run.manifest.agent), with.run.results.players),
                    both,
                )
            })
            .collect(),
    };
    canvas.legend(0, false, "with the sessions that they depend on");
    canvas.legend(1, false, "without");
    canvas.bars(&[bars(false, "Proc (%)"), bars(true, "Comp (%)")])
}
