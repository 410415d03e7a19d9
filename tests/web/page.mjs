// A page of the program in a browser, and what a test asks of it.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {resolve} from "node:path";
import {Browser} from "./browser.mjs";
import * as inPage from "./in_page.mjs";

export const DESKTOP = 1280;
export const PHONE = 375;

export class OpenedPage {
  complaints = [];  // of the page since it was opened
  #html;
  #browser;

  /// @param html, json  the page as the program wrote it
  static async start(html, json, chromium) {
    const page = new OpenedPage();
    page.#html = html;
    page.json = JSON.parse(readFileSync(json, "utf8"));
    page.charts = page.json.sections.flatMap(section => section.charts ?? []);
    page.#browser = await Browser.start(chromium);
    page.#browser.on(({method, params}) => {
      if (method === "Runtime.exceptionThrown") page.complaints.push(params.exceptionDetails.exception?.description);
      if (method === "Runtime.consoleAPICalled") page.complaints.push(params.args.map(one => one.value).join(" "));
      if (method === "Log.entryAdded") page.complaints.push(params.entry.text);
    });
    for (const domain of ["Page", "Runtime", "Log"]) await page.#browser.send(`${domain}.enable`);
    return page;
  }

  close() {
    return this.#browser?.close();
  }

  async load(width, scheme, {scripts = true} = {}) {
    this.complaints = [];
    await this.#browser.send("Emulation.setScriptExecutionDisabled", {value: !scripts});
    await this.resize(width);
    await this.prefer(scheme);
    const loaded = this.#browser.event("Page.loadEventFired");
    await this.#browser.send("Page.navigate", {url: `file://${resolve(this.#html)}`});
    await loaded;
    await this.#browser.send("Emulation.setScriptExecutionDisabled", {value: false});
  }

  /// The same with all that is folded away opened.
  async open(width, scheme, how) {
    await this.load(width, scheme, how);
    await this.ask(inPage.openFolds);
  }

  resize(width) {
    return this.#browser.send(
      "Emulation.setDeviceMetricsOverride", {width, height: 900, deviceScaleFactor: 1, mobile: width === PHONE});
  }

  prefer(scheme, media = "") {
    return this.#browser.send(
      "Emulation.setEmulatedMedia", {media, features: [{name: "prefers-color-scheme", value: scheme}]});
  }

  /// Runs a function of in_page.mjs in the page.
  ask(run, ...given) {
    return this.#browser.evaluate(`(${run})(...${JSON.stringify(given)})`);
  }

  /// [chart, its place, series, its place] of every series that has points.
  seriesWithPoints() {
    return this.charts.flatMap((chart, i) => chart.series.map((series, index) => [chart, i, series, index]))
      .filter(([, , series]) => series.points.length > 0);
  }

  /// Compares the tooltips of the first, a middle and the last point of every series with the JSON.
  async compareTooltips() {
    for (const [chart, i, series, index] of this.seriesWithPoints())
      for (const at of new Set([0, series.points.length >> 1, series.points.length - 1]))
        compare(chart, series, at, await this.ask(inPage.tooltip, i, index, at));
  }
}

/// Six digits, as the page promises; whole numbers whole.
export const shown = value => Number.isInteger(value) ? value : Number(value.toPrecision(6));

function compare(chart, series, at, {name, values}) {
  const point = series.points[at];
  const what = `${chart.title}, ${series.name}, point ${at}`;
  if (series.style === "spans") {
    assert.equal(name, point.note, what);
    assert.deepEqual(values.slice(0, 2).map(one => one.value), [point.x, series.x_ends[at]].map(shown), what);
    return;
  }
  const said = values.find(one => one.name === series.name);
  assert.equal(said?.value, shown(point.y), what);
  if (point.note) assert.ok(said.note.includes(point.note), what);
  if (point.y_low !== undefined) assert.ok(said.note.includes(" to "), what);
}
