// node scripts/draw_pictures.mjs PAGE.html FOLDER ID…: charts of a report as pictures, as they look at 900 pixels.
import {writeFileSync} from "node:fs";
import {join, resolve} from "node:path";
import {Browser} from "../tests/web/browser.mjs";

const [page, folder, ...ids] = process.argv.slice(2);
const browser = await Browser.start(process.env.CHROMIUM ?? "chromium");
await browser.send("Page.enable");
await browser.send("Emulation.setDeviceMetricsOverride", {width: 900, height: 900, deviceScaleFactor: 1, mobile: false});
const loaded = browser.event("Page.loadEventFired");
await browser.send("Page.navigate", {url: `file://${resolve(page)}`});
await loaded;
await browser.evaluate("document.querySelectorAll('.fold').forEach(fold => fold.open = true)");
for (const id of ids) {
  const clip = await browser.evaluate(`(async () => {
    const chart = document.getElementById(${JSON.stringify(id)});
    chart.scrollIntoView();
    await new Promise(done => setTimeout(done, 1500));  // until it is drawn
    const {x, y, width, height} = chart.getBoundingClientRect();
    return {x: x + scrollX, y: y + scrollY, width, height, scale: 1};
  })()`);
  const {data} = await browser.send("Page.captureScreenshot", {format: "png", clip, captureBeyondViewport: true});
  writeFileSync(join(folder, `${id}.png`), Buffer.from(data, "base64"));
}
await browser.close();
