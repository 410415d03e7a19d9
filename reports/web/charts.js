// The charts of the page's JSON, with what it leaves out because it is empty or false.

function chartsOf(page) {
  return page.sections.flatMap(section => section.charts ?? []).map(chart => ({
    text: "", is_stacked: false, x_marks: [], y_marks: [], ...chart,
    x: axisOf(chart.x), y: axisOf(chart.y), series: chart.series.map(seriesOf),
  }));
}

function axisOf(axis) {
  return {unit: "", is_logarithmic: false, categories: [], ...axis};
}

function seriesOf(series) {
  return {x_ends: [], ...series, points: series.points.map(point => ({note: "", ...point}))};
}
