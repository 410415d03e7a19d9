// What is asked inside the page. Each function is sent there as its own text, so none may call another.

/// Shapes of chart `chart` that have the colour of its series `index`: elements of an SVG, or pixels of a canvas.
export function shapesInColour(chart, index) {
  const plot = document.querySelectorAll(".plot")[chart];
  const probe = document.createElement("i");
  probe.style.color = `var(--data-${index % 12})`;
  document.body.append(probe);
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  const canvas = plot.querySelector("canvas");
  if (!canvas) {
    const hasColour = shape => [getComputedStyle(shape).fill, getComputedStyle(shape).stroke].includes(wanted);
    return [...plot.querySelectorAll("svg :is(path, rect, circle, polyline, polygon)")].filter(hasColour).length;
  }
  const [r, g, b] = wanted.match(/\d+/g).map(Number);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const isNear = (found, channel) => Math.abs(found - channel) <= 4;  // many thin shapes upon each other are rounded
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    count += isNear(data[i], r) && isNear(data[i + 1], g) && isNear(data[i + 2], b);
  return count;
}

/// Elements that reach beyond the window, other than inside of what scrolls.
export function widerThanWindow() {
  const width = document.documentElement.clientWidth;
  const scrolls = element =>
    element && (["auto", "hidden"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter(element => element.getBoundingClientRect().right > width + 0.5 && !scrolls(element.parentElement))
    .map(element => `${element.tagName}.${element.className.baseVal ?? element.className}`);
}

/// Elements that reach beyond the window, whether or not they scroll: paper does not.
export function beyondWindow() {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll("main *")]
    .filter(element => element.getBoundingClientRect().right > width + 0.5)
    .map(element => `${element.tagName}: ${element.textContent.slice(0, 60)}`);
}

/// What of a chart is there: how much is painted, and how many points each of its series has.
export function drawn(chart) {
  const place = document.querySelectorAll(".plot > div")[chart];
  const canvas = place.querySelector("canvas");
  const painted = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.filter(one => one > 0);
  const all = echarts.getInstanceByDom(place).getOption().series.filter(one => one.id.startsWith("series "));
  return {
    shapes: canvas ? painted().length : place.querySelectorAll("svg :is(path, rect, circle, polyline, polygon)").length,
    points: all.map(one => one.data.length),
  };
}

/// The numbers at which the x axis of a chart has ticks.
export function xTicks(chart) {
  const place = document.querySelectorAll(".plot > div")[chart];
  const axis = echarts.getInstanceByDom(place).getModel().getComponent("xAxis", 0).axis;
  return axis.scale.getTicks().map(tick => tick.value);
}

/// The tooltip of a point, in words and numbers.
export function tooltip(chart, series, point) {
  const page = JSON.parse(document.getElementById("page").textContent);
  const given = page.sections.flatMap(section => section.charts ?? [])[chart];
  const place = document.querySelectorAll(".plot > div")[chart];
  const drawn = echarts.getInstanceByDom(place);
  const all = drawn.getOption().series;
  const seriesIndex = all.findIndex(one => one.id === `series ${series}`);
  drawn.dispatchAction({type: "hideTip"});
  if (given.series.every(one => one.style !== "spans" && one.style !== "bars") && !given.x.categories) {
    // By its place: areas that are stacked on each other have values at all places of all of them. The outermost places
    // lie on the very edge.
    const pixel = value => drawn.convertToPixel({seriesIndex}, [value, 0])[0];
    const places = given.series.flatMap(one => one.points.map(each => pixel(each.x)));
    const x = Math.min(Math.max(pixel(given.series[series].points[point].x), Math.min(...places) + 0.5), Math.max(...places) - 0.5);
    drawn.dispatchAction({type: "showTip", x, y: drawn.getHeight() / 2});
  } else {
    drawn.dispatchAction({type: "showTip", seriesIndex, dataIndex: point});
  }
  const tip = place.querySelector(".tip");
  const number = text => Number(text.replace(/\u00a0.*/, "").replaceAll(",", ""));
  return {
    name: tip.querySelector("b").textContent,
    values: [...tip.querySelectorAll("tr")].map(row => ({
      name: row.querySelector("th").textContent,
      value: number(row.querySelector(".value").textContent),
      note: row.querySelector(".note")?.textContent,
    })),
  };
}

/// Opens what is folded away, and gives how much that was.
export async function openFolds() {
  const folds = [...document.querySelectorAll(".fold")];
  for (const fold of folds) {
    const toggled = new Promise(resolve => fold.addEventListener("toggle", resolve, {once: true}));
    fold.open = true;
    await toggled;
  }
  return folds.length;
}

/// Opens the numbers of a chart and gives the cells of their rows.
export async function openNumbers(chart) {
  const details = document.querySelectorAll(".numbers")[chart];
  const toggled = new Promise(resolve => details.addEventListener("toggle", resolve, {once: true}));
  details.open = true;
  await toggled;
  return [...details.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent));
}

export function nextFrames() {
  return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

export function background() {
  return getComputedStyle(document.body).backgroundColor;
}

export function pressLegend(chart, series) {
  document.querySelectorAll("figure")[chart].querySelectorAll(".legend button")[series].click();
  return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
