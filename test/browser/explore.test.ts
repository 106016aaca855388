/** The Explore page in a real browser, against an API that answers as each test wants. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { fakeWorker } from "../../web/testing/fake-api.ts";
import { failQuery, sendEvent } from "../../web/testing/fake-prometheus.ts";
import { launchBrowser } from "./browser.ts";
import {
  assertFits,
  complete,
  eventually,
  type PageOptions,
  withoutRefusals,
} from "./dashboard-page.ts";
import { openScene, type Scene } from "./scene.ts";

let browser: Browser;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
});
after(async () => await browser.close());

function open(path: string, options: PageOptions = {}): Promise<Scene> {
  return openScene(browser, path, (api) => api.setWorker(fakeWorker(1)), options);
}

async function type(page: Page, text: string): Promise<void> {
  await page.getByLabel("PromQL expression 1").click();
  await page.keyboard.type(text, { delay: 10 });
}

test("[WEB32] an expression is completed, run and charted; its address shows the same again", async () => {
  await using scene = await open("/explore");
  const { page } = scene;
  await page.getByText("Enter a query").waitFor();
  await type(page, "http_req");
  await complete(page, page.getByLabel("PromQL expression 1"), "http_requests_total");
  await page.keyboard.press("Enter");
  await page.getByRole("img", { name: "Chart of 3 series" }).waitFor();
  await page
    .getByRole("status", { name: "Outcome" })
    .getByText(/3 series, \d+ points/)
    .waitFor();
  await page.getByText('{job="checkout"}').waitFor();
  await page.waitForURL(/\?q=http_requests_total$/);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.getByRole("img", { name: "Chart of 3 series" }).waitFor();
  assert.deepEqual(scene.complaints, []);
});

test("[WEB33] an error is marked where it is, and shown", async () => {
  await using scene = await open("/explore");
  const { page, api } = scene;
  api.query = (_form, response) =>
    failQuery(
      response,
      400,
      'invalid parameter "query": 1:5: parse error: unexpected identifier "b"',
    );
  await type(page, "a + b c");
  await page.keyboard.press("Escape"); // Closes what completion offers, if it does.
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("alert").getByText('unexpected identifier "b"').waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor();
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB33] the mark of an error that only the server finds stays", async () => {
  await using scene = await open("/explore");
  const { page, api } = scene;
  api.query = (_form, response) =>
    failQuery(response, 400, 'invalid parameter "query": 1:5: parse error: no such thing as "b"');
  await type(page, "a + b");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const mark = page.locator(".cm-lintRange-error");
  await mark.getByText("b").waitFor();
  await setTimeout(1_500); // The editor's own linter comes 0.75 s after the last key.
  assert.equal(await mark.count(), 1);
});

/** Now a frame, now a turn of the page's loop, now nothing between two keys. */
function typeQuickly(text: string): string {
  return `(async () => {
    for (const [index, key] of [...${JSON.stringify(text)}].entries()) {
      document.execCommand("insertText", false, key);
      if (index % 3 === 1) await new Promise((resolve) => requestAnimationFrame(resolve));
      if (index % 3 === 2) await new Promise((resolve) => setTimeout(resolve, 0));
    }
  })()`;
}

test("[WEB32] keys that come faster than the page is drawn are all there", async () => {
  await using scene = await open("/explore");
  const { page } = scene;
  const text = "sum by (job) (rate(requests_total[5m])) / 60 + 1 - 1 * 2 ".repeat(4);
  await page.getByLabel("PromQL expression 1").click();
  await page.evaluate(typeQuickly(text));
  await eventually(async () => await page.getByLabel("PromQL expression 1").textContent(), text);
});

test("[WEB33] a running query is cancelled, and the server sees it", async () => {
  await using scene = await open("/explore?q=up");
  const { page, api } = scene;
  const closed = Promise.withResolvers<void>();
  api.query = (_form, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    sendEvent(response, "result", { resultType: "matrix", result: [] });
    response.on("close", () => closed.resolve());
  };
  await page.getByRole("button", { name: "Run all" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("cancelled after").waitFor();
  await closed.promise;
});

test("[WEB33] a connection that is lost in the middle is no result", async () => {
  await using scene = await open("/explore");
  const { page, api } = scene;
  api.query = (_form, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    sendEvent(response, "result", { resultType: "matrix", result: [] });
    response.end();
  };
  await page.goto(`${page.url()}?q=up`);
  await page.getByRole("alert").getByText("connection was lost").waitFor();
});

test("[WEB32] table, explanation, a second query, another range, and zooming by dragging", async () => {
  await using scene = await open("/explore?q=up");
  const { page, api } = scene;
  await page.getByRole("img", { name: "Chart of 3 series" }).waitFor();
  await page.getByText("Table", { exact: true }).click();
  await page.getByRole("cell", { name: '{job="api"}' }).waitFor();
  await page.getByText("Explain", { exact: true }).click();
  await page
    .getByText("aggregated by the workers, from 14 segments and the newest samples")
    .waitFor();
  await page.getByText("Chart", { exact: true }).click();
  await page.getByRole("button", { name: "Add a query" }).click();
  await page.getByLabel("PromQL expression 2").click();
  await page.keyboard.type("process_cpu_seconds_total");
  await page.getByRole("region", { name: "Query 2" }).getByRole("button", { name: "Run" }).click();
  await page
    .getByRole("region", { name: "Query 2" })
    .getByRole("img", { name: /Chart of/ })
    .waitFor();
  const asked = () => api.requests.filter((request) => request.includes("query_stream")).length;
  const before = asked();
  await page.getByRole("button", { name: /Time range/ }).click();
  await page.getByText("6h", { exact: true }).click();
  await page.getByRole("button", { name: "Time range: Last 6h" }).waitFor();
  // Both queries are asked again, for the new range.
  await eventually(async () => asked() >= before + 2, true);
  // Until it is answered, the chart has the old range.
  await eventually(async () => await page.getByRole("button", { name: "Cancel" }).count(), 0);
  const chart = page.getByRole("region", { name: "Query 1" }).locator(".u-over");
  const box = await chart.boundingBox();
  assert.ok(box !== null);
  await page.mouse.move(box.x + box.width / 4, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 50, { steps: 4 });
  await page.mouse.up();
  await eventually(async () => /end=\d+/.test(page.url()), true);
  assert.match(new URL(page.url()).searchParams.get("range") ?? "", /^1h(2\d|3\d)m/);
  assert.deepEqual(scene.complaints, []);
});

test("[WEB19] Explore fits a narrow window, in the dark too", async () => {
  await using scene = await open("/explore?q=up&q=up", { width: 320, colorScheme: "dark" });
  const { page } = scene;
  await page.getByRole("img", { name: "Chart of 3 series" }).first().waitFor();
  await assertFits(page);
  await page.getByText("Explain", { exact: true }).click();
  await page.getByText("Merge and evaluate").first().waitFor();
  await assertFits(page);
});

test("[WEB34] the pointer and the arrow keys show the time and each value, with its unit", async () => {
  await using scene = await open("/explore?q=process_resident_memory_bytes", { width: 390 });
  const { page } = scene;
  await page.locator(".chart canvas").waitFor();
  const readout = page.getByRole("status", { name: "At this time" });
  assert.equal(await readout.count(), 0);
  await page.locator(".chart .u-over").hover({ position: { x: 60, y: 100 } });
  await readout.getByText(/\d{1,2} \w{3} \d{4}, \d\d:\d\d:\d\d/).waitFor();
  await eventually(async () => await readout.getByText(/^[\d.]+ B$/).count(), 3);
  await assertFits(page);
  const before = await readout.textContent();
  await page.locator(".chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await eventually(async () => (await readout.textContent()) !== before, true);
  await page.keyboard.press("Escape");
  await readout.waitFor({ state: "detached" });
  assert.deepEqual(scene.complaints, []);
});
