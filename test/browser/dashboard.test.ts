/** The dashboard of a real cluster, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { assertFits, complete, eventually, openPage, pressInARow } from "./dashboard-page.ts";
import { type RealCluster, startCluster } from "./real-cluster.ts";

let browser: Browser;
let cluster: RealCluster;
before(async () => {
  await ensureDashboard();
  [browser, cluster] = await Promise.all([launchBrowser(), startCluster(2)]);
});
after(async () => await Promise.all([browser?.close(), cluster?.[Symbol.asyncDispose]()]));

function row(page: Page, workerId: string): Locator {
  return page.locator(`[data-worker="${workerId}"]`);
}

async function reaches(page: Page, workerId: string, condition: string): Promise<void> {
  await row(page, workerId)
    .and(page.locator(`[data-condition="${condition}"]`))
    .waitFor();
}

test("[WEB22] the overview shows two workers, and a statement is answered by one of them", async () => {
  await using opened = await openPage(browser, cluster.url);
  const { page } = opened;
  await page.getByText("Healthy").waitFor();
  await page.getByText("2 of 2 workers taking work.").waitFor();
  await page.getByLabel("SQL statement").fill("SELECT 6 * 7 AS answer, 'ok' AS word");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("cell", { name: "42", exact: true }).waitFor();
  await page.getByText(/1 row in .* on worker-[12]/).waitFor();
  const recent = page.getByRole("region", { name: "Recent queries" }).getByRole("row");
  await recent.filter({ hasText: "6 * 7" }).getByText("Done").waitFor();
  assert.deepEqual(opened.complaints, []);
});

test("[WEB22] a statement that is no SQL is refused with a message", async () => {
  await using opened = await openPage(browser, cluster.url);
  const { page } = opened;
  await page.getByLabel("SQL statement").fill("SELECT * FORM t");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("alert").getByText("bad_sql").waitFor();
});

test("[WEB22] a running statement is cancelled from the table", async () => {
  await using opened = await openPage(browser, cluster.url);
  const { page } = opened;
  const statement = "SELECT count(*) FROM range(100000) a, range(100000) b, range(100000) c";
  await page.getByLabel("SQL statement").fill(statement);
  await page.keyboard.press("Control+Enter");
  const recent = page.getByRole("region", { name: "Recent queries" }).getByRole("row");
  const record = recent.filter({ hasText: "range(100000) c" });
  await record.getByText("Running").waitFor();
  await record.getByRole("button", { name: /Cancel/ }).click();
  await record.getByText("Cancelled", { exact: true }).waitFor();
  await page.getByText("cancelled after").waitFor();
});

test("[WEB22] a stopped worker is shown unreachable, and active again when it goes on", async () => {
  await using opened = await openPage(browser, `${cluster.url}/workers`);
  const { page } = opened;
  await reaches(page, "worker-1", "active");
  await reaches(page, "worker-2", "active");
  const pid = await cluster.workerPid("worker-2");
  process.kill(pid, "SIGSTOP");
  try {
    await reaches(page, "worker-2", "unreachable");
    await reaches(page, "worker-1", "active");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await reaches(page, "worker-2", "active");
  assert.deepEqual(opened.complaints, []);
});

test("[WEB22] a killed worker is shown unreachable, restarted and active, without a reload", async () => {
  await using opened = await openPage(browser, `${cluster.url}/workers/worker-1`);
  const { page } = opened;
  const history = page.getByRole("dialog").getByRole("listitem");
  await page.getByRole("dialog").getByText("None so far.").waitFor();
  process.kill(await cluster.workerPid("worker-1"), "SIGKILL");
  await history.filter({ hasText: "Unreachable" }).first().waitFor();
  await history.filter({ hasText: "Restarted" }).first().waitFor();
  await page.keyboard.press("Escape");
  await reaches(page, "worker-1", "active");
  assert.deepEqual(opened.complaints, []);
});

test("[WEB14] draining and taking it back go through the real store", async () => {
  await using opened = await openPage(browser, `${cluster.url}/workers`);
  const { page } = opened;
  await page.getByRole("button", { name: "Actions for worker-2" }).click();
  await page.getByRole("menuitem", { name: "Drain…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
  await reaches(page, "worker-2", "draining");
  await page.getByRole("button", { name: "Actions for worker-2" }).click();
  await page.getByRole("menuitem", { name: "Take work again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take work again" }).click();
  await reaches(page, "worker-2", "active");
  assert.deepEqual(opened.complaints, []);
});

test("[WEB19] dark and narrow, both pages fit and work by keyboard", async () => {
  const options = { colorScheme: "dark", width: 390, height: 800 } as const;
  await using opened = await openPage(browser, cluster.url, options);
  const { page } = opened;
  await page.getByText("Healthy").waitFor();
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
  await assertFits(page);
  await pressInARow(page, ["g", "w"]);
  await reaches(page, "worker-1", "active");
  await eventually(async () => await page.title(), "Workers · Capstan");
  await assertFits(page);
  assert.deepEqual(opened.complaints, []);
});

test("[WEB32] Explore completes, charts and explains what the cluster scraped of itself", async () => {
  await using opened = await openPage(browser, `${cluster.url}/explore`);
  const { page } = opened;
  await eventually(
    async () => (await promqlSeries("capstan_control_streams_active")).length > 0,
    true,
  );
  await page.getByLabel("PromQL expression 1").click();
  await page.keyboard.type("capstan_control_str", { delay: 20 });
  const editor = page.getByLabel("PromQL expression 1");
  await complete(page, editor, "capstan_control_streams_active");
  await page.keyboard.press("Enter");
  await page.getByRole("img", { name: /Chart of \d+ series/ }).waitFor();
  await page.getByText("Table", { exact: true }).click();
  await page.getByRole("cell", { name: /capstan_control_streams_active\{instance=/ }).waitFor();
  await page.getByText("Explain", { exact: true }).click();
  await page
    .getByRole("cell", { name: /^worker-[12]$/ })
    .first()
    .waitFor();
  assert.deepEqual(opened.complaints, []);
});

test("[WEB33] Explore marks an error where the coordinator's parser saw it", async () => {
  await using opened = await openPage(browser, `${cluster.url}/explore?q=sum(rate(up[5m])`);
  const { page } = opened;
  await page.getByRole("alert").getByText("1:17: parse error: unclosed left parenthesis").waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor();
});

async function promqlSeries(query: string): Promise<readonly unknown[]> {
  const response = await fetch(`${cluster.url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const body = (await response.json()) as { data?: { result: readonly unknown[] } };
  return body.data?.result ?? [];
}

test("[WEB23] with seven tabs of streams open, the eighth loads, follows changes and runs a query", async () => {
  await using opened = await openPage(browser, `${cluster.url}/tables`);
  const pages = await Promise.all(
    Array.from({ length: 6 }, async () => await opened.page.context().newPage()),
  );
  for (const page of pages) await page.goto(`${cluster.url}/tables`);
  const eighth = await opened.page.context().newPage();
  await eighth.goto(`${cluster.url}/workers`);
  await reaches(eighth, "worker-2", "active");
  const change = async (verb: string): Promise<void> => {
    const address = `${cluster.url}/api/v1/workers/worker-2/${verb}`;
    assert.equal((await fetch(address, { method: "POST" })).status, 200);
  };
  await change("drain");
  try {
    await reaches(eighth, "worker-2", "draining");
  } finally {
    await change("undrain");
  }
  await reaches(eighth, "worker-2", "active");
  await eighth.getByRole("link", { name: "Overview" }).click();
  await eighth.getByLabel("SQL statement").fill("SELECT 6 * 7 AS answer");
  await eighth.keyboard.press("Control+Enter");
  await eighth.getByRole("cell", { name: "42", exact: true }).waitFor();
  for (const page of [opened.page, ...pages]) {
    await eventually(async () => await page.locator(".banner").count(), 0);
  }
  assert.deepEqual(opened.complaints, []);
});
