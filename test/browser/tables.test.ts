/**
 * The Tables page in a real browser, in states that a healthy cluster is seldom in, against an API
 * made for them.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { type FakeApi, fakeWorker } from "../../web/testing/fake-api.ts";
import { fakeRefresh } from "../../web/testing/fake-tables.ts";
import { launchBrowser } from "./browser.ts";
import { assertFits, eventually, type PageOptions, withoutRefusals } from "./dashboard-page.ts";
import { openScene, type Scene } from "./scene.ts";

let browser: Browser;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
});
after(async () => await browser?.close());

function open(
  path: string,
  fill: (api: FakeApi) => void,
  options: PageOptions = {},
): Promise<Scene> {
  const prepare = (api: FakeApi): void => {
    api.setWorker(fakeWorker(1));
    fill(api);
  };
  return openScene(browser, path, prepare, options);
}

/** One table in each condition. */
function allConditions({ tables }: FakeApi): void {
  const nowMs = Date.now();
  tables.addDynamic("fresh", ["orders"]);
  tables.addDynamic("refreshing", ["orders"], {
    activity: "refreshing",
    refreshed_by: "worker-1",
  });
  tables.addDynamic("late", ["fresh"], { late_since_ms: nowMs, data_time_ms: nowMs - 60_000 });
  tables.addDynamic("failed", ["fresh"], { status: "FAILED", status_reason: "no such column" });
  tables.addDynamic("suspended", ["late"], {
    status: "SUSPENDED",
    status_reason: "a reason ".repeat(30),
  });
  tables.addDynamic("retrying", ["late"], { failures_in_a_row: 1, last_error: "out of memory" });
  tables.addDynamic("new", ["orders"], { data_time_ms: null, last_refresh: null });
  tables.history = [
    fakeRefresh(3, {
      state: "FAILED",
      action: null,
      error: { code: "bad_sql", message: "no such column" },
    }),
    fakeRefresh(2, { action: "NO_DATA", repeats: 9, worker_id: null }),
    fakeRefresh(1),
  ];
}

const conditions = ["fresh", "refreshing", "late", "failed", "suspended", "retrying", "new"];

test("[WEB41] the graph says each table's condition by sign, word and colour", async () => {
  await using scene = await open("/tables", allConditions);
  const { page } = scene;
  for (const condition of conditions) {
    const node = page.locator(`.node[data-table="${condition}"]`);
    await node.waitFor();
    await eventually(async () => await node.getAttribute("data-condition"), condition);
    await node.filter({ hasText: new RegExp(condition, "i") }).waitFor();
    await eventually(async () => await node.locator("svg").count(), 1);
  }
  const signs = await page
    .locator(".node svg")
    .evaluateAll((all) => all.map((svg) => (svg as { innerHTML: string }).innerHTML));
  assert.equal(new Set(signs).size, conditions.length + 1, "each has a sign of its own");
  await eventually(async () => await page.locator(".edge").count(), 7);
  assert.deepEqual(scene.complaints, []);
});

test("[WEB41, WEB43] what happens is seen without a reload, and lag ticks", async () => {
  await using scene = await open("/tables/fresh", allConditions);
  const { api, page } = scene;
  const state = page.getByRole("status", { name: "State" });
  await state.getByText("Fresh").waitFor();
  const lag = page.locator(".figure-cell").first().locator(".figure-value");
  const before = await lag.textContent();
  await eventually(async () => (await lag.textContent()) !== before, true);
  api.tables.change("fresh", { status: "SUSPENDED", status_reason: "by somebody else" });
  await state.getByText("Suspended").waitFor();
  await page.getByText("by somebody else").waitFor();
});

test("[WEB42] filter, state and view are in the address", async () => {
  await using scene = await open("/tables", allConditions);
  const { page } = scene;
  await page.getByText("Failed 1", { exact: true }).click();
  await eventually(async () => await page.locator(".node:not(.node-faded)").count(), 1);
  await page.getByText("List", { exact: true }).click();
  const names = async (): Promise<string[]> =>
    await page.locator("tbody .row-link").allTextContents();
  await eventually(names, ["failed"]);
  await page.reload();
  await eventually(names, ["failed"]);
  await page.getByLabel("Filter tables").fill("nothing like it");
  await page.getByText("No table matches").waitFor();
  await page.getByRole("button", { name: "Show all 8" }).click();
  await eventually(names, [
    "failed",
    "late",
    "retrying",
    "suspended",
    "refreshing",
    "new",
    "fresh",
    "orders",
  ]);
});

test("[WEB43] a table's page: from the graph to a source, a reader, its refreshes and its rows", async () => {
  await using scene = await open("/tables", allConditions);
  const { page } = scene;
  await page.locator('.node[data-table="late"]').click();
  await page.getByRole("heading", { name: "late" }).waitFor();
  await page.getByRole("img", { name: /Lag: peak .* target of 30 s/ }).waitFor();
  const refreshes = page.getByRole("table", { name: "Refreshes" });
  await refreshes.getByText("bad_sql no such column").waitFor();
  await refreshes.getByText("No change × 9").waitFor();
  await page.getByRole("region", { name: "SQL" }).getByText("GROUP BY category").waitFor();
  await page.getByRole("cell", { name: "games" }).waitFor();
  await page.getByRole("link", { name: "suspended" }).click();
  await page.getByRole("heading", { name: "suspended" }).waitFor();
  await page.goBack();
  await page.getByRole("region", { name: "Reads" }).getByRole("link", { name: "fresh" }).click();
  await page.getByRole("heading", { name: "fresh", exact: true }).waitFor();
  await page.getByRole("link", { name: "orders" }).click();
  await page.getByRole("region", { name: "Read by" }).getByRole("link", { name: "new" }).waitFor();
  assert.deepEqual(scene.complaints, []);
});

test("[WEB44] suspending asks first and names who reads it; a refusal says why", async () => {
  await using scene = await open("/tables/late", allConditions);
  const { api, page } = scene;
  await page.getByRole("button", { name: "Suspend…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("suspended, retrying").waitFor();
  assert.ok(!api.requests.some((request) => request.startsWith("POST")));
  await dialog.getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  api.tables.readOnly = true;
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("alert").getByText("Use a token with the role operate").waitFor();
  await page.getByRole("button", { name: "More actions for late" }).click();
  assert.ok(await page.getByRole("menuitem", { name: "Drop (others read it)" }).isDisabled());
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB42] a table that is not there, and tables that cannot be read, say so", async () => {
  await using scene = await open("/tables/nowhere", allConditions);
  await scene.page.getByText("There is no table nowhere").waitFor();
  await using refused = await open("/tables", (api) => {
    api.token = "secret";
  });
  await refused.page.getByText("This coordinator asks for a token").waitFor();
});

/** Five levels of twenty over eight plain tables. */
function hundred({ tables }: FakeApi): void {
  let above = Array.from({ length: 8 }, (_, index) => `source_${index}`);
  for (let level = 1; level <= 5; level += 1) {
    const names = Array.from({ length: 20 }, (_, index) => `level_${level}_table_${index}`);
    for (const [index, name] of names.entries()) {
      const sources = [above[(index * 7) % above.length], above[(index * 3 + 1) % above.length]];
      tables.addDynamic(name, [...new Set(sources.filter((each) => each !== undefined))]);
    }
    above = names;
  }
}

test("[WEB46] a hundred tables: one picture, its lineage, and arrow keys along it", async () => {
  await using scene = await open("/tables", hundred, { width: 1440, height: 900 });
  const { page } = scene;
  await eventually(async () => await page.locator(".node").count(), 108);
  await assertFits(page);
  const last = page.locator('.node[data-table="level_5_table_0"]');
  await last.hover();
  const isLineageLit = async (): Promise<boolean> => {
    const lit = await page.locator(".node:not(.node-faded)").count();
    return lit > 5 && lit < 60;
  };
  await eventually(isLineageLit, true);
  await page.mouse.move(0, 0);
  await page.locator('.node[data-table="source_0"]').focus();
  const focused = "document.activeElement.dataset.table?.slice(0, 7)";
  for (let level = 1; level <= 5; level += 1) {
    await page.keyboard.press("ArrowRight");
    await eventually(async () => await page.evaluate(focused), `level_${level}`);
  }
  await page.getByLabel("Larger").click();
  await page.getByLabel("Fit the window").click();
  await page.keyboard.press("/");
  await page.keyboard.type("level_3_table_7");
  await eventually(async () => await page.locator(".node:not(.node-faded)").count(), 1);
  assert.deepEqual(scene.complaints, []);
});

test("[WEB19, WEB42] nothing is wider than the window; a narrow one begins with the list; dark works", async () => {
  await using scene = await open("/tables", allConditions, {
    width: 390,
    height: 800,
    colorScheme: "dark",
  });
  const { page } = scene;
  await page.getByRole("table", { name: "Tables" }).waitFor();
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
  for (const path of ["/tables", "/tables?view=graph", "/tables/suspended", "/tables/orders"]) {
    await page.goto(new URL(path, page.url()).href);
    await page.getByRole("heading", { level: 1 }).waitFor();
    for (const width of [320, 390, 700, 900, 1100, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      await assertFits(page);
    }
  }
  assert.deepEqual(scene.complaints, []);
});
