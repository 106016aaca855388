/**
 * States that a healthy cluster is seldom in, in a real browser against an API that is made for it.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { type FakeApi, fakeQuery, fakeWorker, sendError } from "../../web/testing/fake-api.ts";
import { launchBrowser } from "./browser.ts";
import {
  assertFits,
  eventually,
  type PageOptions,
  pressInARow,
  withoutRefusals,
} from "./dashboard-page.ts";
import { openScene, type Scene } from "./scene.ts";

let browser: Browser;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
});
after(async () => await browser.close());

function open(
  path: string,
  prepare: (api: FakeApi) => void = () => undefined,
  options: PageOptions = {},
): Promise<Scene> {
  return openScene(browser, path, prepare, options);
}

function twoWorkers(api: FakeApi): void {
  api.setWorker(fakeWorker(1));
  api.setWorker(fakeWorker(2));
}

test("[WEB10] an empty cluster says what to do, and nothing breaks the content security policy", async () => {
  await using scene = await open("/");
  const { page } = scene;
  await page.getByText("No workers", { exact: true }).waitFor();
  await page.getByText("What to try next").waitFor();
  await page.getByText("capstan worker --join").first().waitFor();
  await assertFits(page);
  await page.getByRole("link", { name: "Workers", exact: true }).click();
  await page.getByText("No worker has joined yet").waitFor();
  assert.deepEqual(scene.complaints, []);
});

test("[WEB5] what needs attention is listed live with links, and the cluster is not called healthy", async () => {
  await using scene = await open("/", twoWorkers, { width: 390 });
  const { api, page } = scene;
  await page.getByText("Healthy").waitFor();
  const reason = "Binder Error: the table orders does not exist any more";
  const table = { kind: "dynamic_table", id: "sales.daily", name: "sales.daily" } as const;
  api.attention = [{ ...table, severity: "failed", state: "failed", reason, since_ms: 1 }];
  await page.getByText("1 dynamic table; queries are answered.").waitFor();
  await eventually(async () => await page.getByText("Healthy").count(), 0);
  const list = page.getByRole("region", { name: "Needs attention" });
  await list.getByText(reason).waitFor();
  const link = list.getByRole("link", { name: "sales.daily" });
  assert.equal(await link.getAttribute("href"), "/tables/sales.daily");
  await assertFits(page);
  api.attention = [];
  await page.getByText("Healthy").waitFor();
  await eventually(async () => await list.count(), 0);
  assert.deepEqual(scene.complaints, []);
});

test("[WEB11] a wrong token is asked for again, a right one opens the page and stays in the tab", async () => {
  await using scene = await open("/workers", (api) => {
    twoWorkers(api);
    api.token = "right";
  });
  const { page } = scene;
  await page.getByRole("textbox", { name: "Token" }).fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("The last token was refused.").waitFor();
  await page.getByRole("textbox", { name: "Token" }).fill("right");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "worker-1" }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "worker-1" }).waitFor();
  assert.ok(scene.api.requests.every((request) => !request.includes("right")));
  await page.getByRole("button", { name: "Use another token" }).click();
  await page.getByRole("textbox", { name: "Token" }).fill("wrong");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB12] a lost connection is said, data is marked stale, and the page resumes by itself", async () => {
  await using scene = await open("/workers", twoWorkers);
  const { api, page } = scene;
  await page.getByRole("link", { name: "worker-2" }).waitFor();
  api.down = true;
  api.cutStreams();
  await page.locator(".banner").getByText("Reconnecting…").waitFor();
  await eventually(async () => await page.locator(".card.stale").count(), 1);
  await page.getByRole("button", { name: "Try now" }).click();
  const seen = api.revision;
  api.requests.length = 0;
  api.down = false;
  await page.locator(".banner").waitFor({ state: "detached" });
  const resumed = `GET /api/v1/watch?table=workers&revision=${seen}`;
  await eventually(async () => api.requests.includes(resumed), true);
  api.setWorker(fakeWorker(3));
  await page.getByRole("link", { name: "worker-3" }).waitFor();
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB23] where WebSockets are refused, eight tabs follow changes and run queries, and none holds a connection", async () => {
  await using scene = await open("/tables", (api) => {
    twoWorkers(api);
    api.webSockets = false;
  });
  const { api, page } = scene;
  const others = await Promise.all(
    Array.from({ length: 7 }, async () => await page.context().newPage()),
  );
  const [eighth] = others;
  assert.ok(eighth !== undefined);
  for (const other of others) await other.goto(new URL("/workers", page.url()).href);
  for (const other of others) await other.getByRole("link", { name: "worker-2" }).waitFor();
  api.setWorker(fakeWorker(3));
  for (const other of others) await other.getByRole("link", { name: "worker-3" }).waitFor();
  await eighth.getByRole("link", { name: "Overview" }).click();
  await eighth.getByLabel("SQL statement").fill("SELECT 6 * 7 AS answer");
  await eighth.keyboard.press("Control+Enter");
  await eighth.getByRole("cell", { name: "42", exact: true }).waitFor();
  await eventually(async () => api.streamCount, 0);
  await eventually(async () => await eighth.locator(".banner").count(), 0);
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB13] a refused statement shows its message and hint; the next one clears them", async () => {
  await using scene = await open("/", (api) => {
    twoWorkers(api);
    const answer = api.sql;
    api.sql = (sql, response) => {
      if (sql.includes("FORM")) sendError(response, 400, "bad_sql", "near FORM", "Try FROM.");
      else answer(sql, response);
    };
  });
  const { page } = scene;
  await page.getByText("Healthy").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("SELECT * FORM t");
  await page.keyboard.press("Control+Enter");
  const alert = page.getByRole("alert");
  await alert.getByText("near FORM").waitFor();
  await alert.getByText("Try FROM.").waitFor();
  await page.getByLabel("SQL statement").fill("SELECT 42 AS answer");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("cell", { name: "42", exact: true }).waitFor();
  await eventually(async () => await alert.count(), 0);
});

test("[WEB13] rows show while they arrive, and cancelling closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using scene = await open("/", (api) => {
    twoWorkers(api);
    api.sql = (_sql, response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.write('{"query_id":"q9","columns":[{"name":"i","type":"BIGINT"}]}\n');
      response.write("[9007199254740993]\n");
      response.on("close", () => closed.resolve());
    };
  });
  const { page } = scene;
  await page.getByLabel("SQL statement").fill("SELECT forever");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("cell", { name: "9007199254740993" }).waitFor();
  await page.getByRole("link", { name: "Workers", exact: true }).click();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("1 row so far").waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("cancelled after").waitFor();
  await closed.promise;
});

test("[WEB14] draining asks first, and the table follows; a refusal says why", async () => {
  await using scene = await open("/workers", twoWorkers);
  const { api, page } = scene;
  const row = page.locator('[data-worker="worker-1"]');
  await page.getByRole("button", { name: "Actions for worker-1" }).click();
  assert.ok(await page.getByRole("menuitem", { name: "Drop (drain it first)" }).isDisabled());
  await page.getByRole("menuitem", { name: "Drain…" }).click();
  assert.ok(!api.requests.some((request) => request.startsWith("POST")));
  await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
  await row.getByText("Draining").first().waitFor();
  assert.ok(api.requests.includes("POST /api/v1/workers/worker-1/drain"));
  api.role = "standby";
  await page.getByRole("button", { name: "Actions for worker-1" }).click();
  await page.getByRole("menuitem", { name: "Drop…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
  await page.getByRole("alert").getByText("Ask the leader").waitFor();
});

test("[WEB15] the drawer has facts and the changes seen, and is an address of its own", async () => {
  await using scene = await open("/workers/worker-2?sort=cpu", twoWorkers);
  const { api, page } = scene;
  const drawer = page.getByRole("dialog");
  await drawer.getByText("127.0.0.1:41002").waitFor();
  api.setWorker(fakeWorker(2, { state: "UNREACHABLE", state_reason: "the stream was lost" }));
  await drawer.getByRole("listitem").getByText("the stream was lost").waitFor();
  const spoken = page.getByRole("status", { name: "Worker changes" });
  await spoken.getByText(/worker-2: Unreachable/).waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  await page.waitForURL("**/workers?sort=cpu");
});

test("[WEB16] filter and order are in the address", async () => {
  await using scene = await open("/workers", (api) => {
    twoWorkers(api);
    api.setWorker(fakeWorker(3, { state: "UNREACHABLE" }));
  });
  const { page } = scene;
  const names = async (): Promise<string[]> =>
    await page.locator("tbody .row-link").allTextContents();
  await page.getByRole("button", { name: "CPU" }).click();
  await page.getByRole("button", { name: "CPU" }).click();
  await eventually(names, ["worker-3", "worker-2", "worker-1"]);
  await page.getByText("Unreachable 1").click();
  await eventually(names, ["worker-3"]);
  await page.getByLabel("Filter workers").fill("nobody");
  await page.getByText("No worker matches").waitFor();
  await page.reload();
  await page.getByText("No worker matches").waitFor();
});

test("[WEB17] everything is reachable by keyboard", async () => {
  await using scene = await open("/", twoWorkers);
  const { page } = scene;
  await page.getByText("Healthy").waitFor();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await eventually(async () => await skip.evaluate((it) => it.matches(":focus-visible")), true);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  const focused = "document.activeElement.textContent";
  await eventually(async () => await page.evaluate(focused), "All workers");
  await pressInARow(page, ["g", "w"]);
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  await eventually(async () => await page.title(), "Workers · Capstan");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("g o");
  await eventually(async () => await page.getByLabel("Filter workers").inputValue(), "g o");
  assert.deepEqual(scene.complaints, []);
});

test("[WEB18] dark follows the system, can be switched, and is remembered", async () => {
  await using scene = await open("/", twoWorkers, { colorScheme: "dark" });
  const { page } = scene;
  const scheme = async (): Promise<string | null> =>
    await page.locator("html").getAttribute("data-mantine-color-scheme");
  await page.getByText("Healthy").waitFor();
  await eventually(scheme, "dark");
  await page.keyboard.press("t");
  await page.locator('html[data-mantine-color-scheme="light"]').waitFor();
  await page.reload({ waitUntil: "commit" });
  await page.locator('html[data-mantine-color-scheme="light"]').waitFor();
  await eventually(scheme, "light");
});

test("[WEB19] nothing is wider than the window, at any width", async () => {
  await using scene = await open("/", (api) => {
    twoWorkers(api);
    const error = { code: "query_failed", message: "a message that is long ".repeat(20) };
    api.setWorker(fakeWorker(3, { state: "UNREACHABLE", state_reason: "a reason ".repeat(30) }));
    api.queries = [fakeQuery(1, { text: "SELECT wide ".repeat(60), error })];
  });
  const { page } = scene;
  await page.getByText("Degraded").waitFor();
  for (const width of [320, 390, 700, 900, 1100, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await assertFits(page);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole("button", { name: "Navigation" }).click();
  await page.getByRole("link", { name: "Workers", exact: true }).click();
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  await page.getByRole("link", { name: "worker-3" }).waitFor();
  await assertFits(page);
});

test("[WEB20] a process without a control store still shows its workers", async () => {
  await using scene = await open("/workers", (api) => {
    twoWorkers(api);
    api.role = "query_api";
    api.watchable = false;
  });
  await scene.page.getByRole("link", { name: "worker-1" }).waitFor();
  await eventually(async () => await scene.page.locator(".banner").count(), 0);
});

test("[WEB21] an address that leads nowhere says so", async () => {
  await using scene = await open("/no-such-page", twoWorkers);
  await scene.page.getByText("There is no such page").waitFor();
});
