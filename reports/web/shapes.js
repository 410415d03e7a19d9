// What ECharts has no series for: intervals, places on axes, and timelines.

/// The point of the plane for (x, y); where bars lie, x runs down.
function pair(x, y, isFlipped) {
  return isFlipped ? [y, x] : [x, y];
}

/// The area between the lower and the upper ends of a line's intervals.
function intervalBand(series, id, colour) {
  const points = series.points.filter(hasInterval);
  const corners = [...points.map(p => [p.x, p.y_low]), ...points.map(p => [p.x, p.y_high]).reverse()];
  return {
    type: "custom", id, name: series.name, silent: true, clip: true, z: 1, tooltip: {show: false},
    data: points.map(p => [p.x, p.y_low, p.y_high]), encode: {x: 0, y: [1, 2]},
    renderItem: (params, api) => params.dataIndex === 0 && {
      type: "polygon", shape: {points: corners.map(corner => api.coord(corner))}, style: {fill: colour, opacity: 0.16},
    },
  };
}

const BAR_LAYOUT = {barMaxWidth: 28, barGap: "10%"};

/// A whisker at each point that has an interval; for bars, on the one that stands at `place.index` of `place.count`.
function intervalWhiskers(series, id, colour, isFlipped, place) {
  const points = series.points.filter(hasInterval);
  const cap = 4;
  return {
    type: "custom", id, name: series.name, silent: true, clip: true, z: 4, tooltip: {show: false},
    data: points.map(p => [p.x, p.y_low, p.y_high]),
    encode: isFlipped ? {x: [1, 2], y: 0} : {x: 0, y: [1, 2]},
    renderItem: (params, api) => {
      const aside = place.index < 0 ? 0 : api.barLayout({...BAR_LAYOUT, count: place.count})[place.index].offsetCenter;
      const end = value => {
        const [x, y] = api.coord(pair(api.value(0), value, isFlipped));
        return isFlipped ? [x, y + aside] : [x + aside, y];
      };
      const [low, high] = [end(api.value(1)), end(api.value(2))];
      const across = ([x, y]) => isFlipped ? [[x, y - cap], [x, y + cap]] : [[x - cap, y], [x + cap, y]];
      return {type: "group", children: [[low, high], across(low), across(high)].map(([[x1, y1], [x2, y2]]) => (
        {type: "line", shape: {x1, y1, x2, y2}, style: {stroke: colour, lineWidth: 1.5}}))};
    },
  };
}

/// Lines across the chart at places of one axis, over what is drawn, and regions under it. They widen the axis so that
/// they are seen.
function axisMarks(marks, isOnX, id, colours) {
  return {
    type: "custom", id, silent: true, z: marks.some(mark => mark.end !== undefined) ? 0 : 6, tooltip: {show: false},
    data: marks.map(mark => [mark.at, mark.end ?? mark.at]), encode: isOnX ? {x: [0, 1]} : {y: [0, 1]},
    renderItem: (params, api) => markShape(marks[params.dataIndex], params, api, isOnX, colours),
  };
}

function markShape(mark, params, api, isOnX, colours) {
  const frame = params.coordSys;
  const isRegion = mark.end !== undefined;
  const place = value => api.coord(isOnX ? [value, 0] : [0, value])[isOnX ? 0 : 1];
  const [from, to] = [place(mark.at), place(mark.end ?? mark.at)].sort((a, b) => a - b);
  const shape = isOnX ? {x: from, y: frame.y, width: to - from, height: frame.height}
                      : {x: frame.x, y: from, width: frame.width, height: to - from};
  const isEven = params.dataIndex % 2 === 0;
  const area = {type: "rect", shape, style: {fill: colours.muted, opacity: isEven ? 0.1 : 0.04}};
  const line = {
    type: "line", style: {stroke: colours.muted, lineWidth: 1.2, lineDash: [5, 4]},
    shape: {x1: shape.x, y1: shape.y, x2: shape.x + shape.width, y2: shape.y + shape.height},
  };
  const width = isRegion && isOnX ? shape.width - 6 : frame.width / 2;
  const row = isRegion ? 0 : params.dataIndex % 3;  // texts of neighbours stand below each other
  const text = {type: "text", style: {
    text: mark.text, fill: colours.muted, stroke: isRegion ? "none" : colours.background, lineWidth: 3,
    fontSize: 11, fontFamily: colours.font, width, overflow: "truncate",
    ...markTextPlace(frame, from, isOnX, row)}};
  return {type: "group", children: [isRegion ? area : line, text]};
}

/// Right of a vertical line while there is room; above a horizontal one, where it begins.
function markTextPlace(frame, at, isOnX, row) {
  if (isOnX) {
    const isAtEnd = at > frame.x + frame.width * 0.8;
    return {x: at + (isAtEnd ? -4 : 4), y: frame.y + 4 + 14 * row, align: isAtEnd ? "right" : "left"};
  }
  return {x: frame.x + 4, y: at - 3, align: "left", verticalAlign: "bottom"};
}

/// Up to as many bars have room for their texts beside them, where they are too short for these.
const FEW_SPANS = 20;

/// All that the bars of a series cover.
function lengthOf(series) {
  return series.points.reduce((sum, point, i) => sum + series.x_ends[i] - point.x, 0);
}

/// Bars from x to x_end in the rows of a timeline. Where bars are thinner than what a screen can show, those that cover
/// most lie on top: the others would seem to be more than they are.
function spanSeries(chart, series, id, colour, colours) {
  const share = lengthOf(series) / chart.series.reduce((sum, one) => sum + lengthOf(one), 0);
  const isSparse = chart.series.reduce((sum, one) => sum + one.points.length, 0) <= FEW_SPANS;
  return {
    type: "custom", id, name: series.name, clip: true, progressive: 4000, z: 2 + (share || 0),
    data: series.points.map((point, i) => [point.x, point.y, series.x_ends[i]]), encode: {x: [0, 2], y: 1},
    renderItem: (params, api) => spanShape(series.points[params.dataIndex].note, isSparse, params, api, colour, colours),
  };
}

function spanShape(note, isSparse, params, api, colour, colours) {
  const [left, middle] = api.coord([api.value(0), api.value(1)]);
  const right = api.coord([api.value(2), api.value(1)])[0];
  const height = api.size([0, 1])[1] * 0.68;
  const {x, y, width, height: frameHeight} = params.coordSys;
  const shape = echarts.graphic.clipRectByRect(
    {x: left, y: middle - height / 2, width: Math.max(right - left, 0.2), height}, {x, y, width, height: frameHeight});
  if (!shape) return null;
  const isRoomy = shape.width >= 48;
  if (note === "" || !(isRoomy || isSparse)) return {type: "rect", shape, style: {fill: colour}};
  const text = {text: note, fill: isRoomy ? colours.background : colours.text, fontSize: 11, fontFamily: colours.font,
                width: isRoomy ? shape.width - 8 : undefined, overflow: "truncate"};
  return {type: "rect", shape, style: {fill: colour}, textContent: {style: text},
          textConfig: {position: isRoomy ? "insideLeft" : "right", distance: 4}};
}
