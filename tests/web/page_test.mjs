// node page_test.mjs PAGE.html PAGE.json CHROMIUM: the page with every kind of chart, in a browser.
import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import * as inPage from "./in_page.mjs";
import {DESKTOP, OpenedPage, PHONE, shown} from "./page.mjs";

let page;
before(async () => page = await OpenedPage.start(...process.argv.slice(2)));
after(() => page?.close());

async function checkColours(where) {
  for (const [chart, i, series, index] of page.seriesWithPoints())
    assert.ok(await page.ask(inPage.shapesInColour, i, index) > 0, `${chart.title}: ${series.name} is not drawn ${where}`);
}

for (const width of [DESKTOP, PHONE])
  for (const scheme of ["light", "dark"]) {
    const where = `at ${width} pixels, ${scheme}`;

    test(`every series of every chart is drawn in its colour ${where}`, async () => {
      await page.open(width, scheme);
      await checkColours(where);
      assert.deepEqual(page.complaints, []);
    });

    test(`nothing is wider than the window but what scrolls by itself ${where}`, async () => {
      await page.open(width, scheme);
      assert.deepEqual(await page.ask(inPage.widerThanWindow), []);
    });
  }

test("tooltips say the values of the JSON", async () => {
  await page.open(DESKTOP, "light");
  await page.compareTooltips();
  assert.deepEqual(page.complaints, []);
});

test("the table of numbers has every point of the JSON", async () => {
  await page.open(PHONE, "light");
  for (const [i, chart] of page.charts.entries()) {
    const rows = await page.ask(inPage.openNumbers, i);
    const isTimeline = chart.series.some(series => series.style === "spans");
    const places = new Set(chart.series.flatMap(series => series.points.map(point => point.x)));
    const points = chart.series.reduce((sum, series) => sum + series.points.length, 0);
    assert.equal(rows.length, isTimeline ? points : places.size, chart.title);
    const found = new Set(rows.flat().map(cell => parseFloat(cell.replaceAll(",", ""))));
    for (const series of chart.series)
      for (const point of series.points) assert.ok(found.has(shown(isTimeline ? point.x : point.y)), chart.title);
  }
  assert.deepEqual(await page.ask(inPage.widerThanWindow), []);
  assert.deepEqual(page.complaints, []);
});

test("what is folded away is drawn when it is opened", async () => {
  const undrawn = () => document.querySelectorAll(".plot pre").length;
  await page.load(DESKTOP, "light");
  assert.equal(await page.ask(undrawn), page.charts.filter(chart => chart.fold).length);
  assert.ok(await page.ask(inPage.openFolds) > 0);
  assert.equal(await page.ask(undrawn), 0);
  assert.deepEqual(page.complaints, []);
});

test("charts change their colours and widths with the window", async () => {
  await page.open(DESKTOP, "light");
  await page.prefer("dark");
  await page.resize(PHONE);
  await page.ask(inPage.nextFrames);
  await checkColours("in dark colours");
  assert.deepEqual(await page.ask(inPage.widerThanWindow), []);
});

test("on paper a dark page is light", async () => {
  await page.open(DESKTOP, "dark");
  const dark = await page.ask(inPage.background);
  await page.ask(() => dispatchEvent(new Event("beforeprint")));
  assert.notEqual(await page.ask(inPage.background), dark);
  assert.ok(await page.ask(inPage.shapesInColour, 0, 0) > 0);
  await page.ask(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.ask(inPage.background), dark);
});

test("a series is hidden and shown by its button in the legend", async () => {
  await page.open(DESKTOP, "light");
  await page.ask(inPage.pressLegend, 0, 1);
  assert.equal(await page.ask(inPage.shapesInColour, 0, 1), 0);
  await page.ask(inPage.pressLegend, 0, 1);
  assert.ok(await page.ask(inPage.shapesInColour, 0, 1) > 0);
});

test("where scripts may not run, charts are text and nothing is too wide", async () => {
  await page.open(PHONE, "light", {scripts: false});
  assert.equal(await page.ask(() => document.querySelectorAll(".plot pre").length), page.charts.length);
  assert.deepEqual(await page.ask(inPage.widerThanWindow), []);
});

test("texts are shown as they are and run nothing", async () => {
  await page.open(DESKTOP, "light");
  assert.equal(await page.ask(() => document.querySelector("h1").textContent), page.json.title);
  assert.equal(await page.ask(() => document.querySelectorAll("img, script[src]").length), 0);
  assert.deepEqual(await page.ask(() => JSON.parse(document.getElementById("page").textContent)), page.json);
  assert.deepEqual(page.complaints, []);
});
