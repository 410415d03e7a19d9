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
    const held = next > 0 ? points[next - 1] : {y: 0, note: "", isAbsent: true};
    return {...held, x};
  });
}

/// Logarithms are of positive numbers; the table of numbers has the others.
function drawable(points, chart) {
  return points.filter(p => (!chart.x.is_logarithmic || p.x > 0) && (!chart.y.is_logarithmic || p.y > 0));
}

/// `width` is that of the plot, in pixels.
function chartOption(given, colours, width) {
  const named = withNamedBars(given);
  const drawn = {...named, series: named.series.map(series => ({...series, points: drawable(series.points, named)}))};
  const chart = withHeldSteps(drawn);
  const layout = layoutOf(given);
  return {
    animation: false,
    textStyle: {fontFamily: colours.font},
    grid: {left: 2, right: 18, top: layout === "plane" ? 22 : 8, bottom: isZoomed(chart, layout) ? 34 : 4,
           outerBoundsMode: "same", outerBoundsContain: "all"},
    legend: {show: false},
    ...axesOption(chart, layout, colours, width),
    tooltip: tooltipOption(chart, layout, colours),
    dataZoom: isZoomed(chart, layout) ? zoomOption(colours) : [],
    series: [...markSeries(chart, layout, colours),
             ...chart.series.flatMap((series, i) => drawnSeries(chart, series, i, layout, colours))],
  };
}

function axesOption(chart, layout, colours, width) {
  const axis = (which, isVertical) => chart[which].categories.length > 0
    ? namesAxis(chart[which], colours, isVertical, width) : valueAxis(chart, which, colours, isVertical, width);
  return layout === "bars" ? {xAxis: axis("y", false), yAxis: axis("x", true)}
                           : {xAxis: axis("x", false), yAxis: axis("y", true)};
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
  if (series.style === "spans") return [spanSeries(chart, series, id, look.colour, colours)];
  const common = {id, name: series.name, color: look.colour, data: series.points.map(p => pair(p.x, p.y, isFlipped))};
  return [...intervalSeries(chart, series, index, look.colour, isFlipped),
          {...common, ...styleOption(chart, series, look, colours)}];
}

/// The intervals of a series; where series are stacked they have no place.
function intervalSeries(chart, series, index, colour, isFlipped) {
  if (chart.is_stacked || !series.points.some(hasInterval)) return [];
  const id = `interval ${index}`;
  const isLine = series.style === "line" || series.style === "steps";
  if (isLine && !isFlipped) return [intervalBand(series, id, colour)];
  const bars = chart.series.filter(one => one.style === "bars");
  const place = {count: bars.length, index: bars.indexOf(series)};
  return [intervalWhiskers(series, id, colour, isFlipped, place)];
}

function styleOption(chart, series, look, colours) {
  const stack = chart.is_stacked ? "all" : undefined;
  switch (series.style) {
    case "points":
      return {type: "scatter", symbol: look.symbol, symbolSize: 9, z: 5,
              itemStyle: {color: colours.background, borderColor: look.colour, borderWidth: 2}};
    case "bars":
      return {type: "bar", stack, ...BAR_LAYOUT, cursor: "default",
              itemStyle: {borderColor: colours.background, borderWidth: 0.5}};
    case "steps":
      return {type: "line", step: "end", symbol: "none", stack, lineStyle: {width: stack ? 0 : 2, type: look.dash},
              areaStyle: stack ? {opacity: 0.9} : undefined};
    default:
      return {type: "line", symbol: look.symbol, symbolSize: 7, showSymbol: series.points.length <= 40, stack,
              lineStyle: {width: stack ? 0 : 2, type: look.dash}, areaStyle: stack ? {opacity: 0.9} : undefined};
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

/// Names are broken into lines: down the side within a share of the width, below the plot while there is room.
function namesAxis(axis, colours, isVertical, width) {
  const look = axisLook(colours);
  const room = width / axis.categories.length - 12;
  const label = isVertical ? {interval: 0, width: Math.min(180, width * 0.36), overflow: "break", lineHeight: 13}
              : room > 40 ? {interval: 0, width: room, overflow: "break"} : {interval: "auto"};
  return {
    ...look, type: "category", data: axis.categories, inverse: isVertical,
    axisLabel: {...look.axisLabel, color: colours.text, ...label},
    ...(isVertical ? {} : titleBelow(axis, width)),
  };
}

function titleBelow(axis, width) {
  return {name: axisTitle(axis), nameLocation: "middle", nameGap: 28, nameTruncate: {maxWidth: width * 0.8}};
}

/// Numbers of `which` axis of the chart.
function valueAxis(chart, which, colours, isVertical, width) {
  const axis = chart[which];
  const look = axisLook(colours);
  const title = !isVertical ? titleBelow(axis, width)
    : {name: axisTitle(axis), nameLocation: "end", nameGap: 12, nameTruncate: {maxWidth: width * 0.8},
       nameTextStyle: {...look.nameTextStyle, align: "left"}};
  const values = valuesOn(chart, which);
  const isTime = chart.series.some(series => series.style === "spans" || series.style === "steps") && values[0] >= 0;
  const ends = which === "x" ? {min: isTime ? 0 : "dataMin", max: "dataMax"} : {};
  // The end of an axis is named where its name is short.
  const isShort = value => value === Number(value.toPrecision(2));
  const endLabels = which === "x" && !axis.is_logarithmic && values.length > 0
    ? {showMinLabel: isTime || isShort(values[0]), showMaxLabel: isShort(values.at(-1))} : {};
  return {
    ...look, ...title, ...ends, type: "value",
    minInterval: values.every(Number.isInteger) ? 1 : undefined,  // there is no half of a node
    splitLine: {show: which === "y", lineStyle: {color: colours.line}},
    axisLabel: {...look.axisLabel, ...endLabels, formatter: value => tickText(value, axis)},
    ...(axis.is_logarithmic ? logOption(values, axis, which, look) : {}),
  };
}

/// All that an axis has to show, in order.
function valuesOn(chart, which) {
  const ends = which === "x" ? chart.series.flatMap(series => series.x_ends)
    : chart.series.flatMap(series => series.points.filter(hasInterval).flatMap(point => [point.y_low, point.y_high]));
  return distinct([...chart.series.flatMap(series => series.points.map(point => point[which])), ...ends]);
}

/// Along x, powers of two stand at powers of two, and few places are all named; up y, whole decades or 1, 2, 5.
function logOption(values, axis, which, look) {
  const tickLabel = {...look.axisLabel, formatter: value => tickText(value, axis)};
  const at = ticks => ({axisLabel: {...tickLabel, customValues: ticks},
                        axisTick: {show: which === "x", customValues: ticks, lineStyle: look.axisLine.lineStyle}});
  const positive = values.filter(value => value > 0);
  if (which === "y" && positive.length > 0) {
    const ticks = decimalTicks(positive[0], positive.at(-1));
    return {type: "log", min: ticks[0], max: ticks.at(-1), ...at(ticks)};
  }
  const logBase = positive.every(value => Number.isInteger(Math.log2(value))) ? 2 : 10;
  return {type: "log", logBase, ...(positive.length <= 12 ? at(positive) : {})};
}

/// Powers of ten around [low, high], with their doubles and fivefolds where these are few.
function decimalTicks(low, high) {
  const steps = high / low < 1000 ? [1, 2, 5] : [1];
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    all.push(...steps.map(step => Number(`${step}e${power}`)));
  const first = all.findLastIndex(tick => tick <= low);
  const last = all.findIndex(tick => tick >= high);
  return all.slice(Math.max(first, 0), (last < 0 ? all.length : Math.max(last, first + 1)) + 1);
}

/// Timelines are looked into; a few bars are not, and paper is not.
function isZoomed(chart, layout) {
  const isOnPaper = document.documentElement.classList.contains("paper");
  const bars = chart.series.reduce((sum, series) => sum + series.points.length, 0);
  return !isOnPaper && layout === "spans" && bars > 100;
}

function zoomOption(colours) {
  return [
    {type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", preventDefaultMouseMove: false},
    {type: "slider", filterMode: "weakFilter", height: 18, bottom: 4, showDetail: false, showDataShadow: false,
     brushSelect: false, borderColor: colours.line, fillerColor: "rgba(128, 140, 155, .18)",
     handleStyle: {color: colours.muted}},
  ];
}
