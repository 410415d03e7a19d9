// The numbers of a chart as a table, for whoever wants them or cannot see the chart. Made when it is first opened.

function numbersTable(chart) {
  const isTimeline = chart.series.some(series => series.style === "spans");
  const {headers, rows} = isTimeline ? spanRows(chart) : sharedRows(chart);
  const table = element("table");
  const head = table.createTHead().insertRow();
  headers.forEach((header, i) => head.append(element("th", i === 0 ? "" : "number", header)));
  const body = table.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((cell, i) => row.append(element("td", i === 0 ? "" : "number", cell)));
  }
  return table;
}

/// One row for each x, one column for each series.
function sharedRows(chart) {
  const places = distinct(chart.series.flatMap(series => series.points.map(point => point.x)));
  const columns = chart.series.map(series => new Map(series.points.map(point => [point.x, point])));
  const name = series => (series.name || axisTitle(chart.y)) + (chart.y.unit && ` (${chart.y.unit})`);
  const x = {...chart.x, unit: chart.x.unit === "B" ? "B" : ""};
  return {
    headers: [axisTitle(chart.x), ...chart.series.map(name)],
    rows: places.map(place => [valueText(place, x), ...columns.map(column => cellText(column.get(place)))]),
  };
}

function cellText(point) {
  if (!point) return "–";
  const interval = hasInterval(point) ? ` (${intervalText(point)})` : "";
  return numberText(point.y) + interval + (point.note && ` · ${point.note}`);
}

function spanRows(chart) {
  const spans = chart.series.flatMap(series =>
    series.points.map((point, i) => ({series, point, end: series.x_ends[i]})));
  spans.sort((a, b) => a.point.x - b.point.x || a.point.y - b.point.y);
  const unit = chart.x.unit ? ` (${chart.x.unit})` : "";
  return {
    headers: ["what", chart.y.name || "row", "kind", `from${unit}`, `to${unit}`],
    rows: spans.map(({series, point, end}) =>
      [point.note, chart.y.categories[point.y] ?? "", series.name, numberText(point.x), numberText(end)]),
  };
}
