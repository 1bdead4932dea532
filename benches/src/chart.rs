//! Lines over a common axis, as a picture that a browser and a code forge show.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;

/// One line of a picture.
pub struct Line {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// Writes the lines as SVG.
///
/// # Errors
/// Those of the file.
pub fn draw(
    path: &Path,
    (title, x, y): (&str, &str, &str),
    lines: &[Line],
) -> Result<(), Box<dyn Error>> {
    let colours = [
        RGBColor(200, 60, 40),
        RGBColor(40, 90, 160),
        RGBColor(60, 130, 60),
    ];
    let root = SVGBackend::new(path, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(range(lines, |point| point.0), range(lines, |point| point.1))?;
    chart.configure_mesh().x_desc(x).y_desc(y).draw()?;
    for (line, colour) in lines.iter().zip(colours.iter().cycle()) {
        let colour = *colour;
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

fn range(lines: &[Line], of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
    let most = lines
        .iter()
        .flat_map(|line| line.points.iter().map(&of))
        .fold(0.0, f64::max);
    0.0..most * 1.05
}
