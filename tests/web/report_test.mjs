// node report_test.mjs PAGE.html PAGE.json CHROMIUM: a report of the program, in a browser.
import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import * as inPage from "./in_page.mjs";
import {DESKTOP, OpenedPage, PHONE} from "./page.mjs";

const A4_WITHOUT_MARGINS = 717;  // pixels: 210 mm less two margins of 10 mm, at 96 pixels an inch

let page;
before(async () => page = await OpenedPage.start(...process.argv.slice(2)));
after(() => page?.close());

test("every chart is drawn, with all points of the JSON, and nothing is complained about", async () => {
  await page.open(DESKTOP, "light");
  assert.ok(page.charts.length > 0);
  for (const [i, chart] of page.charts.entries()) {
    const {shapes, points} = await page.ask(inPage.drawn, i);
    assert.ok(shapes > 0, `${chart.title} is empty`);
    assert.deepEqual(points, chart.series.map(series => series.points.length), chart.title);
  }
  assert.deepEqual(page.complaints, []);
});

test("there is nothing between whole numbers that has a tick", async () => {
  await page.open(DESKTOP, "light");
  for (const [i, chart] of page.charts.entries()) {
    const isWhole = chart.series.every(series => series.points.every(point => Number.isInteger(point.x)));
    if (!isWhole || chart.x.is_logarithmic || chart.x.categories || chart.series.some(series => series.x_ends)) continue;
    const ticks = await page.ask(inPage.xTicks, i);
    assert.deepEqual(ticks.filter(tick => !Number.isInteger(tick)), [], chart.title);
  }
});

test("tooltips say the values of the JSON", async () => {
  await page.open(DESKTOP, "dark");
  await page.compareTooltips();
  assert.deepEqual(page.complaints, []);
});

for (const width of [DESKTOP, PHONE])
  test(`nothing is wider than the window at ${width} pixels`, async () => {
    await page.open(width, "light");
    assert.deepEqual(await page.ask(inPage.widerThanWindow), []);
  });

test("nothing reaches beyond the paper, which would make all of it smaller", async () => {
  await page.open(A4_WITHOUT_MARGINS, "light");
  await page.prefer("light", "print");
  await page.ask(() => dispatchEvent(new Event("beforeprint")));
  assert.deepEqual(await page.ask(inPage.beyondWindow), []);
});
