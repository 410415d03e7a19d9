// A chart of the page as an option of ECharts. Nothing is computed here but places on the screen.

/// How a chart is laid out: "spans" has rows of time, "bars" lie so that names have room, all else is a plane.
function layoutOf(chart) {
  if (chart.series.some(series => series.style === "spans")) return "spans";
  const hasBars = chart.series.some(series => series.style === "bars");
  return hasBars && chart.x.categories.length > 0 ? "bars" : "plane";
}

/// Bars over numbers stand over names of the numbers, evenly spaced.
function withNamedBars(chart) {
  if (chart.x.categories.length > 0 || !chart.series.some(series => series.style === "bars")) return chart;
  const values = distinct(chart.series.flatMap(series => series.points.map(point => point.x)));
  const place = new Map(values.map((value, i) => [value, i]));
  const series = chart.series.map(one => ({...one, points: one.points.map(p => ({...p, x: place.get(p.x)}))}));
  const x = {...chart.x, is_logarithmic: false, categories: values.map(value => tickText(value, chart.x))};
  return {...chart, x, series};
}

function distinct(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}

/// Stacked areas need values at the same places: each series holds its value until its next point.
function withHeldSteps(chart) {
  if (!chart.is_stacked || !chart.series.some(series => series.style === "steps")) return chart;
  const places = distinct(chart.series.flatMap(series => series.points.map(point => point.x)));
  return {...chart, series: chart.series.map(series => ({...series, points: heldAt(series.points, places)}))};
}

function heldAt(points, places) {
  let next = 0;
  return places.map(x => {
    while (next < points.length && points[next].x <= x) ++next;
    const held = next > 0 ? points[next - 1] : {y: 0, y_low: null, y_high: null, note: "", isAbsent: true};
    return {...held, x};
  });
}

/// Logarithms are of positive numbers; the table of numbers has the others.
function drawable(points, chart) {
  return points.filter(p => (!chart.x.is_logarithmic || p.x > 0) && (!chart.y.is_logarithmic || p.y > 0));
}

function chartOption(given, colours) {
  const named = withNamedBars(given);
  const drawn = {...named, series: named.series.map(series => ({...series, points: drawable(series.points, named)}))};
  const chart = withHeldSteps(drawn);
  const layout = layoutOf(given);
  return {
    animation: false,
    textStyle: {fontFamily: getComputedStyle(document.body).fontFamily},
    grid: {left: 2, right: 18, top: 34, bottom: layout === "spans" ? 40 : 4, outerBoundsMode: "same", outerBoundsContain: "all"},
    legend: {show: false},
    xAxis: layout === "bars" ? valueAxis(chart, "y", colours, false) : planeXAxis(chart, layout, colours),
    yAxis: layout === "bars" ? namesAxis(chart.x, colours, true)
         : chart.y.categories.length > 0 ? namesAxis(chart.y, colours, true) : valueAxis(chart, "y", colours, true),
    tooltip: tooltipOption(chart, layout, colours),
    dataZoom: layout === "spans" ? zoomOption(colours) : [],
    series: [...markSeries(chart, layout, colours), ...chart.series.flatMap((series, i) => drawnSeries(chart, series, i, layout, colours))],
  };
}

function planeXAxis(chart, layout, colours) {
  return chart.x.categories.length > 0 ? namesAxis(chart.x, colours, false) : valueAxis(chart, "x", colours, false);
}

function markSeries(chart, layout, colours) {
  const isFlipped = layout === "bars";
  const of = (marks, isOnX, id) => marks?.length > 0 ? [axisMarks(marks, isOnX !== isFlipped, id, colours)] : [];
  return [...of(chart.x_marks, true, "x marks"), ...of(chart.y_marks, false, "y marks")];
}

function drawnSeries(chart, series, index, layout, colours) {
  const isFlipped = layout === "bars";
  const look = seriesLook(index, colours);
  const id = `series ${index}`;
  if (series.style === "spans") return [spanSeries(series, id, look.colour, colours)];
  const common = {id, name: series.name, color: look.colour, data: series.points.map(p => pair(p.x, p.y, isFlipped))};
  const intervals = series.points.some(hasInterval);
  const isLine = series.style === "line" || series.style === "steps";
  const interval = !intervals ? []
    : [isLine && !isFlipped ? intervalBand(series, `interval ${index}`, look.colour)
                            : intervalWhiskers(series, `interval ${index}`, look.colour, isFlipped)];
  return [...interval, {...common, ...styleOption(chart, series, look, colours)}];
}

function styleOption(chart, series, look, colours) {
  const stack = chart.is_stacked ? "all" : undefined;
  switch (series.style) {
    case "points":
      return {type: "scatter", symbol: look.symbol, symbolSize: 9, z: 5,
              itemStyle: {color: colours.background, borderColor: look.colour, borderWidth: 2}};
    case "bars":
      return {type: "bar", stack, barMaxWidth: 24, barMinHeight: 1, barGap: "10%", cursor: "default",
              itemStyle: {borderColor: colours.background, borderWidth: 0.5}};
    case "steps":
      return {type: "line", step: "end", symbol: "none", stack, lineStyle: {width: stack ? 0.5 : 2, type: look.dash},
              areaStyle: stack ? {opacity: 0.8} : undefined};
    default:
      return {type: "line", symbol: look.symbol, symbolSize: 7, showSymbol: series.points.length <= 40, stack,
              lineStyle: {width: 2, type: look.dash}, areaStyle: stack ? {opacity: 0.8} : undefined};
  }
}

function axisLook(colours) {
  return {
    axisLine: {show: true, lineStyle: {color: colours.line}},
    axisTick: {show: false},
    axisLabel: {color: colours.muted, fontSize: 12, hideOverlap: true},
    splitLine: {show: false},
    nameTextStyle: {color: colours.muted, fontSize: 12},
  };
}

function namesAxis(axis, colours, isVertical) {
  const look = axisLook(colours);
  return {
    ...look, type: "category", data: axis.categories, inverse: isVertical,
    axisLabel: {...look.axisLabel, color: colours.text, interval: isVertical ? 0 : "auto", width: isVertical ? 130 : 90,
                overflow: "truncate"},
    ...(isVertical ? {} : {name: axisTitle(axis), nameLocation: "middle", nameGap: 28}),
  };
}

/// Numbers of `which` axis of the chart.
function valueAxis(chart, which, colours, isVertical) {
  const axis = chart[which];
  const look = axisLook(colours);
  const title = isVertical ? {nameLocation: "end", nameTextStyle: {...look.nameTextStyle, align: "left"}}
                           : {nameLocation: "middle", nameGap: 28};
  const ends = which === "x" ? {min: "dataMin", max: "dataMax"} : {};
  return {
    ...look, ...title, ...ends, type: axis.is_logarithmic ? "log" : "value", name: axisTitle(axis),
    splitLine: {show: which === "y", lineStyle: {color: colours.line}},
    axisLabel: {...look.axisLabel, formatter: value => tickText(value, axis)},
    ...(axis.is_logarithmic ? logOption(chart, which, look) : {}),
  };
}

/// Powers of two stand at powers of two; few places are all named.
function logOption(chart, which, look) {
  const values = distinct(chart.series.flatMap(series => series.points.map(point => point[which])));
  const logBase = which === "x" && values.every(value => Number.isInteger(Math.log2(value))) ? 2 : 10;
  if (which !== "x" || values.length > 12) return {logBase};
  const axisLabel = {...look.axisLabel, customValues: values, formatter: value => tickText(value, chart[which])};
  return {logBase, axisLabel, axisTick: {show: true, customValues: values, lineStyle: look.axisLine.lineStyle}};
}

function zoomOption(colours) {
  return [
    {type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", preventDefaultMouseMove: false},
    {type: "slider", filterMode: "weakFilter", height: 18, bottom: 4, showDetail: false, showDataShadow: false, brushSelect: false,
     borderColor: colours.line, fillerColor: "rgba(128, 140, 155, .18)", handleStyle: {color: colours.muted}},
  ];
}
