// Draws the charts of the page's JSON into its figures, and draws them again when colours, widths or paper change.

const MANY_POINTS = 400;   // from here on a canvas is quicker than SVG
const PAPER_WIDTH = 680;   // pixels across A4 and Letter

function plotHeight(chart, width) {
  const layout = layoutOf(chart);
  if (layout === "spans") return (isZoomed(chart, layout) ? 108 : 72) + 32 * chart.y.categories.length;
  const bars = chart.is_stacked ? 1 : chart.series.length;
  if (layout === "bars") return 96 + (16 + 16 * Math.min(bars, 4)) * chart.x.categories.length;
  return width < 500 ? 280 : 340;
}

function draw(figure, chart) {
  const plot = figure.querySelector(".plot");
  const points = chart.series.reduce((sum, series) => sum + series.points.length, 0);
  const place = element("div");
  place.style.height = `${plotHeight(chart, plot.clientWidth)}px`;
  plot.replaceChildren(place);
  const drawn = echarts.init(place, null, {renderer: points > MANY_POINTS ? "canvas" : "svg"});
  const redraw = () => drawn.setOption(chartOption(chart, currentColours(), drawn.getWidth()), true);
  redraw();
  if (chart.series.length > 1) plot.before(legend(chart, drawn));
  new ResizeObserver(() => {
    if (plot.clientWidth === drawn.getWidth()) return;
    drawn.resize();
    redraw();
  }).observe(plot);
  return {drawn, redraw};
}

/// Buttons that show and hide series.
function legend(chart, drawn) {
  const list = element("ul", "legend");
  chart.series.forEach((series, index) => {
    const button = element("button", "", series.name || axisTitle(chart.y));
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.insertAdjacentHTML("afterbegin", legendSign(series, index));
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
      drawn.dispatchAction({type: "legendToggleSelect", name: series.name});
    });
    const item = element("li");
    item.append(button);
    list.append(item);
  });
  return list;
}

function fillWhenOpened(details, chart) {
  const fill = () => details.open && details.children.length === 1 && details.append(wide(numbersTable(chart)));
  details.addEventListener("toggle", fill);
}

function wide(table) {
  const box = element("div", "wide");
  box.tabIndex = 0;
  box.append(table);
  return box;
}

const charts = chartsOf(JSON.parse(document.getElementById("page").textContent));
const figures = [...document.querySelectorAll("figure")];
figures.forEach((figure, i) => fillWhenOpened(figure.querySelector(".numbers"), charts[i]));

if (typeof echarts !== "undefined") {
  const all = [];
  const drawIn = place => figures.forEach((figure, i) => figure.closest(".fold") === place && all.push(draw(figure, charts[i])));
  drawIn(null);
  for (const fold of document.querySelectorAll(".fold")) fold.addEventListener("toggle", () => drawIn(fold), {once: true});
  const redraw = () => all.forEach(one => one.redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const usePaper = isPaper => {
    document.documentElement.classList.toggle("paper", isPaper);
    all.forEach(one => one.drawn.resize(isPaper ? {width: PAPER_WIDTH} : {width: "auto"}));
    redraw();
  };
  addEventListener("beforeprint", () => usePaper(true));
  addEventListener("afterprint", () => usePaper(false));
}
