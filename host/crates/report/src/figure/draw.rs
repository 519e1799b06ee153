//! Points, bars and their axes on an SVG canvas. It knows nothing of runs.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::labels::{self, Placed, Wanted};

/// Colours for a page of paper or for a dark one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Theme {
    fn ground(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(255, 255, 255),
            Self::Dark => RGBColor(24, 28, 36),
        }
    }

    fn ink(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(31, 35, 43),
            Self::Dark => RGBColor(226, 230, 238),
        }
    }

    fn pale(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(118, 126, 140),
            Self::Dark => RGBColor(148, 158, 175),
        }
    }

    fn warning(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(170, 70, 0),
            Self::Dark => RGBColor(239, 195, 118),
        }
    }

    fn grid(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(230, 233, 238),
            Self::Dark => RGBColor(48, 54, 66),
        }
    }

    fn series(self, at: usize) -> RGBColor {
        let (r, g, b) = COLOURS[at % COLOURS.len()];
        match self {
            Self::Light => RGBColor(r, g, b),
            Self::Dark => {
                let lighter = |part: u8| part.saturating_add((255 - part) / 3);
                RGBColor(lighter(r), lighter(g), lighter(b))
            }
        }
    }
}

/// Colours that people with the usual weaknesses tell apart (after Okabe and Ito, 2008).
const COLOURS: [(u8, u8, u8); 7] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (120, 94, 240),
];

/// Corners of a marker around its point, in percent of its radius. One without is a circle.
type Shape = &'static [(i32, i32)];

/// When the colours are used up they begin again with the next shape.
const SHAPES: [Shape; 3] = [
    &[],
    &[(-90, -90), (90, -90), (90, 90), (-90, 90)],
    &[(0, -140), (140, 0), (0, 140), (-140, 0)],
];

/// Shapes of what is not to be compared with the others: triangles, each turned another way.
const TRIANGLES: [Shape; 3] = [
    &[(0, -140), (121, 70), (-121, 70)],
    &[(0, 140), (121, -70), (-121, -70)],
    &[(140, 0), (-70, 121), (-70, -121)],
];

/// A series' shape.
fn shape(series: usize, apart: bool) -> Shape {
    let shapes = if apart { TRIANGLES } else { SHAPES };
    shapes[series / COLOURS.len() % shapes.len()]
}

/// A mark in a plot.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// How far the bars reach on either side of it, along x and along y.
    pub(super) spread: (Option<f64>, Option<f64>),
    pub(super) label: String,
    /// Its colour and marker; None for a published figure, which is hollow.
    pub(super) series: Option<usize>,
    /// Drawn as a triangle: not to be compared with the others.
    pub(super) apart: bool,
}

/// Points between two axes.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    /// Whether an axis is a percentage: it then ends at 0 and 100 at the latest.
    pub(super) percent: (bool, bool),
    /// A dashed line where both are equal.
    pub(super) diagonal: bool,
    pub(super) labels: bool,
    pub(super) points: Vec<Point>,
}

/// Pairs of bars: with and without.
#[derive(Debug, Clone)]
pub(super) struct Bars {
    pub(super) title: &'static str,
    pub(super) groups: Vec<(String, [Option<f64>; 2])>,
}

/// A figure in the making.
pub(super) struct Canvas {
    size: (u32, u32),
    theme: Theme,
    banner: Option<String>,
    notes: Vec<String>,
    legend: Vec<(usize, bool, String)>,
}

/// Plotters fails only where bytes cannot be written, and a text takes them all.
type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const LINE: i32 = 20;

/// What is left free between a plot's edge and its labels.
const EDGE: i32 = 2;

/// Characters of a line of the banner.
const BANNER_WIDTH: usize = 84;

impl Canvas {
    /// The banner's lines come on top of the size: they take nothing from the plots.
    pub(super) fn new(size: (u32, u32), theme: Theme, banner: Option<&str>) -> Self {
        let lines = banner.map_or(0, |banner| wrapped(banner, BANNER_WIDTH).len());
        let more = LINE * i32::try_from(lines).unwrap_or(0);
        Self {
            size: (size.0, size.1.saturating_add_signed(more)),
            theme,
            banner: banner.map(String::from),
            notes: Vec::new(),
            legend: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }

    /// Names a series, beside its marker.
    pub(super) fn legend(&mut self, series: usize, apart: bool, text: &str) {
        self.legend.push((series, apart, text.into()));
    }

    /// Plots in rows of `columns`.
    pub(super) fn plots(&self, columns: usize, plots: &[Plot]) -> String {
        self.draw(|area| {
            let rows = plots.len().div_ceil(columns);
            for (place, plot) in area.split_evenly((rows, columns)).iter().zip(plots) {
                self.plot(place, plot)?;
            }
            Ok(())
        })
    }

    pub(super) fn bars(&self, panels: &[Bars]) -> String {
        self.draw(|area| {
            for (place, panel) in area.split_evenly((1, panels.len())).iter().zip(panels) {
                self.panel(place, panel)?;
            }
            Ok(())
        })
    }

    /// A figure that says why there is none.
    pub(super) fn sentence(&self, text: &str) -> String {
        self.draw(|area| {
            for (at, part) in wrapped(text, 76).iter().enumerate() {
                let y = 40 + LINE * i32::try_from(at).unwrap_or(0);
                area.draw_text(part, &style(15, self.theme.pale()), (24, y))?;
            }
            Ok(())
        })
    }

    fn draw(&self, content: impl Fn(&Area<'_>) -> Drawn) -> String {
        let mut svg = String::new();
        let drawn = self.draw_into(&mut svg, content);
        if drawn.is_err() {
            tracing::warn!("a figure could not be drawn whole");
        }
        svg
    }

    fn draw_into(&self, svg: &mut String, content: impl Fn(&Area<'_>) -> Drawn) -> Drawn {
        let root = SVGBackend::with_string(svg, self.size).into_drawing_area();
        root.fill(&self.theme.ground())?;
        let mut top = 8;
        if let Some(banner) = &self.banner {
            for part in wrapped(banner, BANNER_WIDTH) {
                root.draw_text(&part, &style(15, self.theme.warning()), (16, top))?;
                top += LINE;
            }
        }
        let mut x = 16;
        for (series, apart, text) in &self.legend {
            let width = 38 + 9 * i32::try_from(text.chars().count()).unwrap_or(0);
            if x + width > i32::try_from(self.size.0).unwrap_or(i32::MAX) {
                x = 16;
                top += LINE;
            }
            let at = (x + 6, top + 8);
            draw_mark(&root, self.theme, at, 5, (Some(*series), *apart))?;
            root.draw_text(text, &style(15, self.theme.ink()), (x + 18, top))?;
            x += width;
        }
        if !self.legend.is_empty() {
            top += LINE + 4;
        }
        let foot = 6 + LINE * i32::try_from(self.notes.len()).unwrap_or(0);
        let bottom = i32::try_from(self.size.1).unwrap_or(i32::MAX) - foot;
        for (at, note) in self.notes.iter().enumerate() {
            let y = bottom + LINE * i32::try_from(at).unwrap_or(0);
            root.draw_text(note, &style(14, self.theme.pale()), (16, y))?;
        }
        content(&root.margin(top, foot, 0, 0))?;
        root.present()?;
        Ok(())
    }

    fn plot(&self, area: &Area<'_>, plot: &Plot) -> Drawn {
        let theme = self.theme;
        let small = !plot.labels;
        let (size, edge) = if small { (14, 32) } else { (15, 52) };
        // Small plots are compared with each other.
        let fitted = |values: Vec<f64>, percent| {
            if small {
                (0.0, 100.0)
            } else {
                range(values.into_iter(), percent)
            }
        };
        let xs = fitted(
            plot.points.iter().map(|point| point.x).collect(),
            plot.percent.0,
        );
        let ys = fitted(
            plot.points.iter().map(|point| point.y).collect(),
            plot.percent.1,
        );
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(if small { 6 } else { 14 })
            .x_label_area_size(edge)
            .y_label_area_size(edge);
        if !plot.title.is_empty() {
            builder.caption(&plot.title, style(14, theme.ink()));
        }
        let mut chart = builder.build_cartesian_2d(xs.0..xs.1, ys.0..ys.1)?;
        let digits = |value: &f64| format!("{value:.0}");
        let tenths = |value: &f64| format!("{value:.1}");
        chart
            .configure_mesh()
            .x_desc(if small { "" } else { plot.x })
            .y_desc(if small { "" } else { plot.y })
            .axis_style(theme.pale())
            .bold_line_style(theme.grid())
            .light_line_style(TRANSPARENT)
            .x_labels(if small { 3 } else { 8 })
            .y_labels(if small { 3 } else { 8 })
            .x_label_formatter(if plot.percent.0 { &digits } else { &tenths })
            .y_label_formatter(&digits)
            .label_style(style(size, theme.pale()))
            .axis_desc_style(style(size + 1, theme.ink()))
            .draw()?;
        if plot.diagonal {
            let from = xs.0.max(ys.0);
            let to = xs.1.min(ys.1);
            if from < to {
                let line = DashedLineSeries::new(
                    [(from, from), (to, to)],
                    5,
                    4,
                    theme.pale().stroke_width(1),
                );
                chart.draw_series(line)?;
            }
        }
        // Measured ones last, so that they lie above.
        let mut points: Vec<&Point> = plot.points.iter().collect();
        points.sort_by_key(|point| point.series.is_some());
        if !small {
            draw_spreads(&mut chart, theme, &points)?;
        }
        let base = area.get_base_pixel();
        for point in &points {
            let (x, y) = chart.backend_coord(&(point.x, point.y));
            let at = (x - base.0, y - base.1);
            let radius = if small { 3 } else { 5 };
            draw_mark(area, theme, at, radius, (point.series, point.apart))?;
        }
        if plot.labels {
            self.name_points(area, &chart, &points)?;
        }
        Ok(())
    }

    /// Finds the points' and the plot's pixels, and labels the points.
    fn name_points(&self, area: &Area<'_>, chart: &Chart<'_, '_>, points: &[&Point]) -> Drawn {
        let places: Vec<(i32, i32)> = points
            .iter()
            .map(|point| chart.backend_coord(&(point.x, point.y)))
            .collect();
        let base = area.get_base_pixel();
        let named = points.iter().zip(places);
        let named = named.map(|(point, (x, y))| (*point, (x - base.0, y - base.1)));
        let (across, down) = chart.plotting_area().get_pixel_range();
        let plot = [
            across.start - base.0 + EDGE,
            down.start - base.1 + EDGE,
            across.end - base.0 - EDGE,
            down.end - base.1 - EDGE,
        ];
        self.label(area, plot, named.collect())
    }

    /// Writes each label beside its point, within the plot; measured ones choose first.
    fn label(
        &self,
        area: &Area<'_>,
        plot: labels::Area,
        mut named: Vec<(&Point, (i32, i32))>,
    ) -> Drawn {
        named.sort_by_key(|(point, _)| point.series.is_none());
        let wanted: Vec<Wanted> = named
            .iter()
            .map(|(point, dot)| Wanted {
                dot: *dot,
                // Plotters takes a size for pixels of another height: letters come out some 6.8 wide.
                long: 68 * i32::try_from(point.label.chars().count()).unwrap_or(0) / 10,
            })
            .collect();
        let places = labels::place(plot, &wanted);
        for ((point, dot), Placed { at, ends, leader }) in named.into_iter().zip(places) {
            let colour = match point.series {
                Some(at) => self.theme.series(at),
                None => self.theme.pale(),
            };
            if let Some([end, label]) = leader {
                let pale = self.theme.pale().mix(0.7).stroke_width(1);
                area.draw(&PathElement::new([dot, end, label], pale))?;
            }
            // The letters of a reader may be narrower: a label that ends beside its point ends there all the same.
            let side = if ends { HPos::Right } else { HPos::Left };
            let style = style(15, colour).pos(Pos::new(side, VPos::Top));
            area.draw_text(&point.label, &style, at)?;
        }
        Ok(())
    }

    fn panel(&self, area: &Area<'_>, bars: &Bars) -> Drawn {
        let theme = self.theme;
        let count = bars.groups.len();
        let mut chart = ChartBuilder::on(area)
            .margin(14)
            .caption(bars.title, style(16, theme.ink()))
            .x_label_area_size(30)
            .y_label_area_size(36)
            .build_cartesian_2d(0.0..count as f64, 0.0..100.0)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .axis_style(theme.pale())
            .bold_line_style(theme.grid())
            .light_line_style(TRANSPARENT)
            .y_labels(6)
            .y_label_formatter(&|value| format!("{value:.0}"))
            .label_style(style(14, theme.pale()))
            .draw()?;
        let centred = Pos::new(HPos::Center, VPos::Top);
        for (at, (label, values)) in bars.groups.iter().enumerate() {
            for (side, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let left = at as f64 + 0.15 + 0.36 * side as f64;
                let bar = Rectangle::new(
                    [(left, 0.0), (left + 0.34, *value)],
                    theme.series(side).filled(),
                );
                chart.draw_series(std::iter::once(bar))?;
                let style = style(14, theme.ink()).pos(Pos::new(HPos::Center, VPos::Bottom));
                let text = Text::new(format!("{value:.1}"), (left + 0.17, *value + 1.0), style);
                chart.draw_series(std::iter::once(text))?;
            }
            let style = style(14, theme.ink()).pos(centred);
            let (x, y) = chart.backend_coord(&(at as f64 + 0.5, 0.0));
            let base = area.get_base_pixel();
            area.draw_text(label, &style, (x - base.0, y - base.1 + 8))?;
        }
        Ok(())
    }
}

/// Draws how far each point may be off, within the axes.
fn draw_spreads(chart: &mut Chart<'_, '_>, theme: Theme, points: &[&Point]) -> Drawn {
    let (xs, ys) = (chart.x_range(), chart.y_range());
    let within = |(x, y): (f64, f64)| (x.clamp(xs.start, xs.end), y.clamp(ys.start, ys.end));
    for point in points {
        let colour = match point.series {
            Some(at) => theme.series(at),
            None => theme.pale(),
        };
        let (dx, dy) = (point.spread.0.unwrap_or(0.0), point.spread.1.unwrap_or(0.0));
        let arms = [
            [(point.x - dx, point.y), (point.x + dx, point.y)],
            [(point.x, point.y - dy), (point.x, point.y + dy)],
        ];
        let bars = arms.into_iter().zip([dx, dy]);
        let bars = bars.filter(|(_, reach)| *reach > 0.0);
        let style = colour.mix(0.5).stroke_width(1);
        let bars = bars.map(|(arm, _)| PathElement::new(arm.map(within), style));
        chart.draw_series(bars)?;
    }
    Ok(())
}

/// A series' marker, or the hollow one of published figures.
fn draw_mark(
    area: &Area<'_>,
    theme: Theme,
    (x, y): (i32, i32),
    radius: i32,
    (series, apart): (Option<usize>, bool),
) -> Drawn {
    let (style, corners) = match series {
        Some(at) => (theme.series(at).filled(), shape(at, apart)),
        None => (theme.pale().stroke_width(1), SHAPES[0]),
    };
    if corners.is_empty() {
        area.draw(&Circle::new((x, y), radius, style))?;
        return Ok(());
    }
    let corner = |(right, down): &(i32, i32)| (x + right * radius / 100, y + down * radius / 100);
    let corners: Vec<(i32, i32)> = corners.iter().map(corner).collect();
    area.draw(&Polygon::new(corners, style))?;
    Ok(())
}

fn style(size: i32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

/// Around all values, to whole tens of a percentage.
fn range(values: impl Iterator<Item = f64>, percent: bool) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        low = low.min(value);
        high = high.max(value);
    }
    if !low.is_finite() {
        return (0.0, 100.0);
    }
    if percent {
        let low = ((low - 4.0) / 10.0).floor() * 10.0;
        let high = ((high + 4.0) / 10.0).ceil() * 10.0;
        return (low.max(0.0), high.min(100.0));
    }
    let margin = ((high - low) * 0.15).max(0.5);
    ((low - margin).max(0.0), high + margin)
}

/// Lines of at most so many characters, cut between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_twenty_series_has_a_pair_of_colour_and_marker_of_its_own() {
        let looks: Vec<_> = [false, true]
            .into_iter()
            .flat_map(|apart| (0..20).map(move |at| (at, apart)))
            .map(|(at, apart)| (Theme::Light.series(at), shape(at, apart)))
            .collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{at}");
        }
    }

    #[test]
    fn the_legend_shows_a_series_own_marker() {
        let drawn = |series, apart| {
            let mut canvas = Canvas::new((200, 100), Theme::Light, None);
            canvas.legend(series, apart, "model");
            canvas.sentence("")
        };
        assert!(drawn(0, false).contains("<circle") && !drawn(0, false).contains("<polygon"));
        for (series, apart) in [(7, false), (0, true)] {
            let svg = drawn(series, apart);
            assert!(svg.contains("<polygon"), "{svg}");
            assert!(!svg.contains("<circle"), "{svg}");
        }
        assert_ne!(drawn(0, true), drawn(7, true));
    }

    #[test]
    fn an_axis_of_a_score_never_leaves_0_to_100() {
        assert_eq!(range([0.0].into_iter(), true), (0.0, 10.0));
        assert_eq!(range([100.0].into_iter(), true), (90.0, 100.0));
        assert_eq!(range([0.0, 100.0].into_iter(), true), (0.0, 100.0));
        assert_eq!(range([41.0, 55.0].into_iter(), true), (30.0, 60.0));
        let (low, high) = range([3.0].into_iter(), false);
        assert!(low < 3.0 && high > 3.0);
    }
}
