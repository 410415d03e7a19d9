// node page_test.mjs PAGE.html PAGE.json CHROMIUM: the page with every kind of chart, in a browser.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {resolve} from "node:path";
import {after, before, beforeEach, test} from "node:test";
import {Browser} from "./browser.mjs";
import * as inPage from "./in_page.mjs";

const [html, json, chromium] = process.argv.slice(2);
const page = JSON.parse(readFileSync(json, "utf8"));
const charts = page.sections.flatMap(section => section.charts);
const DESKTOP = 1280;
const PHONE = 375;

let browser;
let complaints = [];

before(async () => {
  browser = await Browser.start(chromium);
  browser.on(({method, params}) => {
    if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description);
    if (method === "Runtime.consoleAPICalled") complaints.push(params.args.map(argument => argument.value).join(" "));
    if (method === "Log.entryAdded") complaints.push(params.entry.text);
  });
  for (const domain of ["Page", "Runtime", "Log"]) await browser.send(`${domain}.enable`);
});
beforeEach(() => complaints = []);
after(() => browser?.close());

const resize = width => browser.send(
  "Emulation.setDeviceMetricsOverride", {width, height: 900, deviceScaleFactor: 1, mobile: width === PHONE});

async function open(width, scheme, {scripts = true} = {}) {
  await browser.send("Emulation.setScriptExecutionDisabled", {value: !scripts});
  await resize(width);
  await prefer(scheme);
  const loaded = browser.event("Page.loadEventFired");
  await browser.send("Page.navigate", {url: `file://${resolve(html)}`});
  await loaded;
  await browser.send("Emulation.setScriptExecutionDisabled", {value: false});
}

const prefer = scheme =>
  browser.send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: scheme}]});

/// Runs a function of in_page.mjs in the page.
const ask = (run, ...given) => browser.evaluate(`(${run})(...${JSON.stringify(given)})`);

/// Six digits, as the page promises; whole numbers whole.
const shown = value => Number.isInteger(value) ? value : Number(value.toPrecision(6));

const seriesWithPoints = chart =>
  chart.series.map((series, i) => [series, i]).filter(([series]) => series.points.length > 0);

for (const width of [DESKTOP, PHONE])
  for (const scheme of ["light", "dark"]) {
    const where = `at ${width} pixels, ${scheme}`;

    test(`every series of every chart is drawn in its colour ${where}`, async () => {
      await open(width, scheme);
      for (const [i, chart] of charts.entries())
        for (const [series, index] of seriesWithPoints(chart))
          assert.ok(await ask(inPage.shapesInColour, i, index) > 0, `${chart.title}: ${series.name} is not drawn`);
      assert.deepEqual(complaints, []);
    });

    test(`nothing is wider than the window but what scrolls by itself ${where}`, async () => {
      await open(width, scheme);
      assert.deepEqual(await ask(inPage.widerThanWindow), []);
    });
  }

test("tooltips say the values of the JSON", async () => {
  await open(DESKTOP, "light");
  for (const [i, chart] of charts.entries())
    for (const [series, index] of seriesWithPoints(chart))
      for (const at of new Set([0, series.points.length >> 1, series.points.length - 1])) {
        const {name, values} = await ask(inPage.tooltip, i, index, at);
        const point = series.points[at];
        const what = `${chart.title}, ${series.name}, point ${at}`;
        if (series.style === "spans") {
          assert.equal(name, point.note, what);
          assert.deepEqual(values.slice(0, 2).map(one => one.value), [point.x, series.x_ends[at]].map(shown), what);
          continue;
        }
        const said = values.find(one => one.name === series.name);
        assert.equal(said?.value, shown(point.y), what);
        if (point.note) assert.ok(said.note.includes(point.note), what);
        if (point.y_low !== null) assert.ok(said.note.includes(" to "), what);
      }
  assert.deepEqual(complaints, []);
});

test("the table of numbers has every point of the JSON", async () => {
  await open(PHONE, "light");
  for (const [i, chart] of charts.entries()) {
    const rows = await ask(inPage.openNumbers, i);
    const isTimeline = chart.series.some(series => series.style === "spans");
    const places = new Set(chart.series.flatMap(series => series.points.map(point => point.x)));
    const points = chart.series.reduce((sum, series) => sum + series.points.length, 0);
    assert.equal(rows.length, isTimeline ? points : places.size, chart.title);
    const found = new Set(rows.flat().map(cell => parseFloat(cell.replaceAll(",", ""))));
    for (const [series] of seriesWithPoints(chart))
      for (const point of series.points) assert.ok(found.has(shown(isTimeline ? point.x : point.y)), chart.title);
  }
  assert.deepEqual(await ask(inPage.widerThanWindow), []);
  assert.deepEqual(complaints, []);
});

test("charts change their colours and widths with the window", async () => {
  await open(DESKTOP, "light");
  await prefer("dark");
  await resize(PHONE);
  await ask(inPage.nextFrames);
  for (const [i, chart] of charts.entries())
    for (const [series, index] of seriesWithPoints(chart))
      assert.ok(await ask(inPage.shapesInColour, i, index) > 0, `${chart.title}: ${series.name} is not in dark colours`);
  assert.deepEqual(await ask(inPage.widerThanWindow), []);
});

test("on paper a dark page is light", async () => {
  await open(DESKTOP, "dark");
  const dark = await ask(inPage.background);
  await ask(() => dispatchEvent(new Event("beforeprint")));
  assert.notEqual(await ask(inPage.background), dark);
  assert.ok(await ask(inPage.shapesInColour, 0, 0) > 0);
  await ask(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await ask(inPage.background), dark);
});

test("a series is hidden and shown by its button in the legend", async () => {
  await open(DESKTOP, "light");
  await ask(inPage.pressLegend, 0, 1);
  assert.equal(await ask(inPage.shapesInColour, 0, 1), 0);
  await ask(inPage.pressLegend, 0, 1);
  assert.ok(await ask(inPage.shapesInColour, 0, 1) > 0);
});

test("where scripts may not run, charts are text and nothing is too wide", async () => {
  await open(PHONE, "light", {scripts: false});
  assert.equal(await ask(() => document.querySelectorAll(".plot pre").length), charts.length);
  assert.deepEqual(await ask(inPage.widerThanWindow), []);
});

test("texts are shown as they are and run nothing", async () => {
  await open(DESKTOP, "light");
  assert.equal(await ask(() => document.querySelector("h1").textContent), page.title);
  assert.equal(await ask(() => document.querySelectorAll("img, script[src]").length), 0);
  assert.deepEqual(await ask(() => JSON.parse(document.getElementById("page").textContent)), page);
  assert.deepEqual(complaints, []);
});
