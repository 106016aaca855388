/** Links of another site to the dashboard, in a real browser. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { FakeApi, fakeWorker } from "../../web/testing/fake-api.ts";
import { launchBrowser } from "./browser.ts";
import { eventually, openPage } from "./dashboard-page.ts";

let browser: Browser;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
});
after(async () => await browser?.close());

/** Opens a page of another site and follows its link to the dashboard. */
async function follow(path: string, body: (api: FakeApi, page: Page) => Promise<void>) {
  const api = new FakeApi();
  api.setWorker(fakeWorker(1));
  api.tables.addDynamic("fresh", ["orders"]);
  const address = (await api.start()) + path;
  const elsewhere = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<title>elsewhere</title><a href="${address}">a link</a>`);
  }).listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const { port } = elsewhere.address() as AddressInfo;
  // Another host name is another site.
  await using opened = await openPage(browser, `http://localhost:${port}/`);
  try {
    await opened.page.getByText("a link").click();
    await body(api, opened.page);
    assert.deepEqual(
      opened.complaints.filter((each) => !/favicon/.test(each) && !/404/.test(each)),
      [],
    );
  } finally {
    elsewhere.closeAllConnections();
    elsewhere.close();
    await api.stop();
  }
}

const asked = (api: FakeApi, pattern: RegExp) => api.requests.filter((each) => pattern.test(each));

test("[WEB70] [AP12] a link of another site fills the editor of Explore; the query waits for Run", async () => {
  await follow("/explore?q=http_requests_total", async (api, page) => {
    await page.getByText("Not run yet").waitFor();
    const editor = page.getByLabel("PromQL expression 1");
    await eventually(async () => await editor.textContent(), "http_requests_total");
    assert.deepEqual(asked(api, /query_stream|\/query(_range)?\b/), []);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("img", { name: "Chart of 3 series" }).waitFor();
  });
});

test("[WEB70] [AP12] a link of another site to a table reads no rows before somebody asks", async () => {
  await follow("/tables/fresh", async (api, page) => {
    const show = page.getByRole("button", { name: "Show rows" });
    await show.waitFor();
    assert.deepEqual(asked(api, /\/rows/), []);
    await show.click();
    await show.waitFor({ state: "detached" });
    await eventually(async () => asked(api, /\/rows/).length, 1);
  });
});
