// A headless Chromium, spoken to in the Chrome DevTools Protocol through a pipe: the browser's file descriptors 3 and 4,
// each message a JSON text that ends with a zero byte (https://chromedevtools.github.io/devtools-protocol).
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

export class Browser {
  #process;
  #profile = mkdtempSync(join(tmpdir(), "twinstep-chromium-"));
  #sent = new Map();  // by id: what waits for an answer
  #heard = [];        // listeners of events
  #next = 1;
  #rest = "";
  #session;

  static async start(program) {
    const browser = new Browser();
    browser.#process = spawn(program, [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      "--remote-debugging-pipe", `--user-data-dir=${browser.#profile}`,
    ], {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
    browser.#process.stdio[4].setEncoding("utf8").on("data", text => browser.#read(text));
    browser.#process.on("exit", code => browser.#fail(`the browser ended with ${code}`));
    browser.#process.on("error", error => browser.#fail(`the browser did not start: ${error.message}`));
    const {targetId} = await browser.send("Target.createTarget", {url: "about:blank"});
    const {sessionId} = await browser.send("Target.attachToTarget", {targetId, flatten: true});
    browser.#session = sessionId;
    return browser;
  }

  #read(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const message of messages.map(one => JSON.parse(one))) {
      const waiting = this.#sent.get(message.id);
      this.#sent.delete(message.id);
      if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else if (waiting) waiting.resolve(message.result);
      else this.#heard.forEach(listener => listener(message));
    }
  }

  #fail(why) {
    for (const waiting of this.#sent.values()) waiting.reject(new Error(why));
    this.#sent.clear();
  }

  send(method, params = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#sent.set(id, {method, resolve, reject});
      this.#process.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.#session}) + "\0");
    });
  }

  on(listener) {
    this.#heard.push(listener);
  }

  /// The next event called `method`.
  event(method) {
    return new Promise(resolve => {
      const listener = message => {
        if (message.method !== method) return;
        this.#heard.splice(this.#heard.indexOf(listener), 1);
        resolve(message.params);
      };
      this.on(listener);
    });
  }

  /// What `expression` gives in the page; promises are awaited.
  async evaluate(expression) {
    const {result, exceptionDetails} =
      await this.send("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async close() {
    const ended = new Promise(resolve => this.#process.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.#profile, {recursive: true, force: true, maxRetries: 5});
  }
}
