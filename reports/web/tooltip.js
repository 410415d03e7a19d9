// What is said about the point under the pointer: the numbers of the page's JSON, as text and never as HTML.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function tooltipOption(chart, layout, colours) {
  const isByItem = layout === "spans";
  return {
    trigger: isByItem ? "item" : "axis",
    axisPointer: {type: layout === "bars" ? "shadow" : "line", label: {show: false}},
    confine: true, transitionDuration: 0, className: "tip", backgroundColor: colours.panel, borderColor: colours.line,
    padding: [8, 12], textStyle: {color: colours.text},
    formatter: isByItem ? hit => spanTip(chart, hit, colours) : hits => pointsTip(chart, hits, colours),
  };
}

/// The series and the point that ECharts means; null for intervals and marks.
function pointOf(chart, hit) {
  const index = hit.seriesId.startsWith("series ") ? Number(hit.seriesId.slice("series ".length)) : -1;
  const series = chart.series[index];
  return series ? {series, index, point: series.points[hit.dataIndex]} : null;
}

function sign(index, colours) {
  const dot = element("span", "dot");
  dot.style.background = seriesLook(index, colours).colour;
  return dot;
}

function pointsTip(chart, hits, colours) {
  const found = hits.map(hit => pointOf(chart, hit)).filter(one => one && !one.point.isAbsent);
  if (found.length === 0) return "";
  const tip = element("div");
  const x = valueText(found[0].point.x, chart.x);
  tip.append(element("b", "", chart.x.categories.length > 0 || chart.x.name === "" ? x : `${chart.x.name}: ${x}`));
  const rows = element("table");
  for (const {series, index, point} of found) {
    const row = element("tr");
    const name = element("th", "", series.name);
    name.prepend(sign(index, colours));
    row.append(name, element("td", "value", valueText(point.y, chart.y)));
    const note = [intervalText(point), point.note].filter(text => text !== "").join(" · ");
    row.append(element("td", "note", note));
    rows.append(row);
  }
  tip.append(rows);
  return tip;
}

function spanTip(chart, hit, colours) {
  const found = pointOf(chart, hit);
  if (!found) return "";
  const {series, index, point} = found;
  const end = series.x_ends[hit.dataIndex];
  const tip = element("div");
  const name = element("b", "", point.note || series.name);
  name.prepend(sign(index, colours));
  tip.append(name, element("div", "", [chart.y.categories[point.y], series.name].filter(Boolean).join(" · ")));
  const rows = element("table");
  for (const [what, value] of [["from", point.x], ["to", end], ["length", end - point.x]]) {
    const row = element("tr");
    row.append(element("th", "", what), element("td", "value", valueText(value, chart.x)));
    rows.append(row);
  }
  tip.append(rows);
  return tip;
}
