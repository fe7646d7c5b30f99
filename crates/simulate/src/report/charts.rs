//! Charts as SVG, drawn here: nothing is needed to see them but a browser.

use std::fmt::Write as _;
use std::time::Duration;

use super::page::escaped;
use crate::quantities::shown;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 22.0;

/// How points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// By lines.
    Line,
    /// Each value lasts until the next.
    Steps,
    /// The same, filled.
    Area,
    /// Not at all.
    Dots,
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub name: String,
    /// Colours and dashes, as the style of the page names them.
    pub class: &'static str,
    pub shape: Shape,
    pub points: Vec<(f64, f64)>,
}

/// A chart over time.
pub(super) struct Chart<'a> {
    pub title: &'a str,
    /// Seconds.
    pub until: f64,
    pub low: f64,
    pub high: f64,
    /// What follows a figure.
    pub unit: &'a str,
    pub series: Vec<Series>,
    /// Moments that are marked.
    pub marks: Vec<f64>,
    /// Whether the other axis is time.
    pub is_timed: bool,
}

impl Chart<'_> {
    fn x(&self, time: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (time / self.until.max(1e-9)).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low).max(1e-9);
        TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - part.clamp(0.0, 1.0))
    }

    /// The chart with its title and key.
    pub(super) fn draw(&self) -> String {
        let mut keys = String::new();
        for series in self.series.iter().filter(|series| !series.name.is_empty()) {
            let dashed = if series.class.contains("dashed") { "dashed" } else { "" };
            let _ = write!(
                keys,
                "<span class=\"key\"><i class=\"{} {dashed}\"></i>{}</span>",
                series.class.split(' ').next().unwrap_or_default(),
                escaped(&series.name)
            );
        }
        let title = escaped(self.title);
        format!(
            "<figure><figcaption><b>{title}</b>{keys}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{title}\">\n{}{}{}</svg></figure>\n",
            self.axes(),
            self.marks(),
            self.series.iter().map(|series| self.drawn(series)).collect::<String>()
        )
    }

    fn axes(&self) -> String {
        let mut text = String::new();
        let step = nice((self.high - self.low) / 4.0);
        let mut value = (self.low / step).ceil() * step;
        while value <= self.high + step * 1e-6 {
            let y = self.y(value);
            let _ = writeln!(
                text,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                WIDTH - RIGHT
            );
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}{}</text>",
                LEFT - 6.0,
                y + 4.0,
                figure(value, step),
                self.unit
            );
            value += step;
        }
        let step = if self.is_timed { nice_time(self.until / 6.0) } else { nice(self.until / 6.0).max(1.0) };
        let mut time = 0.0;
        while time <= self.until + 1e-6 {
            let x = self.x(time);
            let anchor = if time == 0.0 {
                "start"
            } else if x > WIDTH - 40.0 {
                "end"
            } else {
                "middle"
            };
            let label =
                if self.is_timed { shown(Duration::from_millis((time * 1000.0) as u64)) } else { figure(time, step) };
            let _ =
                writeln!(text, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>", HEIGHT - 6.0,);
            time += step;
        }
        text
    }

    fn marks(&self) -> String {
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let line = |time: &f64| {
            let x = self.x(*time);
            format!("<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\n")
        };
        self.marks.iter().map(line).collect()
    }

    fn drawn(&self, series: &Series) -> String {
        if series.points.is_empty() {
            return String::new();
        }
        let class = series.class;
        if series.shape == Shape::Dots {
            let dot = |(time, value): &(f64, f64)| {
                let (x, y) = (self.x(*time), self.y(*value));
                if class.contains("bad") {
                    // Another form as well: colour is never alone.
                    format!(
                        "<path class=\"dot {class}\" d=\"M{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}Z\"/>\n",
                        x - 6.0,
                        y - 6.0,
                        x + 6.0,
                        y + 6.0
                    )
                } else {
                    format!("<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>\n")
                }
            };
            return series.points.iter().map(dot).collect();
        }
        let mut path = String::new();
        let mut last: Option<(f64, f64)> = None;
        for (time, value) in &series.points {
            let (x, y) = (self.x(*time), self.y(*value));
            match last {
                None => drop(write!(path, "M{x:.1} {y:.1}")),
                // What lies on the way already needs no words.
                Some((_, before)) if series.shape != Shape::Line => {
                    if (before - y).abs() > 0.05 {
                        let _ = write!(path, "L{x:.1} {before:.1}L{x:.1} {y:.1}");
                    } else {
                        let _ = write!(path, "L{x:.1} {y:.1}");
                    }
                }
                Some(_) => drop(write!(path, "L{x:.1} {y:.1}")),
            }
            last = Some((x, y));
        }
        if series.shape == Shape::Area {
            let (floor, first) = (self.y(self.low), self.x(series.points[0].0));
            let end = last.map_or(first, |(x, _)| x);
            return format!("<path class=\"area {class}\" d=\"{path}L{end:.1} {floor:.1}L{first:.1} {floor:.1}Z\"/>\n");
        }
        format!("<path class=\"line {class}\" d=\"{path}\"/>\n")
    }
}

/// A round number that is not less.
pub(super) fn nice(step: f64) -> f64 {
    if step <= 0.0 || !step.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= step * 0.999);
    round.unwrap_or(10.0) * power
}

/// A round time that is not less.
fn nice_time(step: f64) -> f64 {
    let round = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400];
    round
        .into_iter()
        .map(f64::from)
        .find(|round| *round >= step * 0.999)
        .unwrap_or_else(|| nice(step / 86_400.0) * 86_400.0)
}

fn figure(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-9 { 0.0 } else { value };
    let digits = if step >= 1.0 { 0 } else { (-step.log10().floor()) as usize };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!([nice(0.0), nice(0.3), nice(1.0), nice(3.0), nice(700.0)], [1.0, 0.5, 1.0, 5.0, 1000.0]);
        assert_eq!([nice_time(0.4), nice_time(7.0), nice_time(301.0)], [1.0, 10.0, 600.0]);
        assert_eq!([figure(0.5, 0.25), figure(20.0, 5.0)], ["0.5", "20"]);
    }

    #[test]
    fn every_series_is_drawn_within_the_frame() {
        let series = Series {
            name: "a & b".to_owned(),
            class: "old",
            shape: Shape::Steps,
            points: vec![(0.0, 0.0), (10.0, 50.0), (20.0, 5000.0)],
        };
        let chart = Chart {
            title: "t",
            until: 20.0,
            low: 0.0,
            high: 100.0,
            unit: "%",
            series: vec![series],
            marks: vec![5.0],
            is_timed: true,
        };
        let drawn = chart.draw();
        assert!(drawn.contains("a &amp; b") && drawn.contains("100%"), "{drawn}");
        assert!(drawn.contains("d=\"M46.0 178.0L337.0 178.0L337.0 94.0L628.0 94.0L628.0 10.0\""), "{drawn}");
    }
}
