// Colours and marks of series: the same series looks alike in the chart, its legend and its tooltip.

const DATA_COLOURS = 12;

function currentColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue(`--${name}`).trim();
  return {
    background: colour("background"),
    panel: colour("panel"),
    text: colour("text"),
    muted: colour("muted"),
    line: colour("line"),
    font: getComputedStyle(document.body).fontFamily,
    data: Array.from({length: DATA_COLOURS}, (_, i) => colour(`data-${i}`)),
  };
}

const DASHES = [7, 4];
const SYMBOLS = ["circle", "rect", "triangle", "diamond"];

function seriesLook(index, colours) {
  return {
    colour: colours.data[index % colours.data.length],
    symbol: SYMBOLS[index % SYMBOLS.length],
    dash: index % 2 === 0 ? "solid" : DASHES,  // lines that cover each other are both seen
  };
}

/// The sign of a series in the legend, in the colour of the variable: it follows the theme by itself.
function legendSign(series, index) {
  const colour = `var(--data-${index % DATA_COLOURS})`;
  const symbols = [`<circle cx="11" cy="6" r="4"/>`, `<path d="M7 2h8v8H7z"/>`, `<path d="M11 1.5l4.5 8h-9z"/>`,
                   `<path d="M11 1l5 5-5 5-5-5z"/>`];
  const shapes = {
    line: `<path d="M0 6h22" stroke="${colour}" stroke-width="2.5"${index % 2 === 0 ? "" : ' stroke-dasharray="7 4"'}/>`,
    points: `<g fill="none" stroke="${colour}" stroke-width="2">${symbols[index % symbols.length]}</g>`,
  };
  const area = `<rect x="5" width="12" height="12" rx="2" fill="${colour}"/>`;
  return `<svg viewBox="0 0 22 12" aria-hidden="true">${shapes[series.style] ?? area}</svg>`;
}
