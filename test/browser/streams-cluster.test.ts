/** The Streams page of a real cluster, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { eventually, openPage, withoutRefusals } from "./dashboard-page.ts";
import { type RealCluster, startCluster } from "./real-cluster.ts";

let browser: Browser;
let cluster: RealCluster;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
  cluster = await startCluster(2);
});
after(async () => await Promise.all([browser?.close(), cluster?.[Symbol.asyncDispose]()]));

function figure(page: Page, name: string): Locator {
  return page
    .locator(".figure-cell", { has: page.getByText(name, { exact: true }) })
    .locator(".figure-value");
}

/** Waits until rows come in at this moment, as the page says. */
async function untilFlowing(page: Page): Promise<void> {
  const flows = async (): Promise<boolean> => {
    const text = (await figure(page, "Rows in").textContent()) ?? "";
    return Number.parseFloat(text.replace(",", "")) > 0;
  };
  await eventually(flows, true);
}

/** The worker of a fragment in the middle, which is neither at the source nor at the sink. */
async function workerOfMiddle(): Promise<string> {
  const response = await fetch(`${cluster.url}/api/v1/streams/queries/hot_items`);
  const { deployed } = (await response.json()) as {
    readonly deployed: readonly { readonly fragment: string; readonly worker_id: string }[];
  };
  const middle = deployed.find(({ fragment }) => fragment.startsWith("s1."));
  assert.ok(middle !== undefined, JSON.stringify(deployed));
  return middle.worker_id;
}

async function rowCount(): Promise<number> {
  const response = await fetch(`${cluster.url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: "SELECT count(*) FROM hot" }),
  });
  const [, row = "[0]"] = (await response.text()).split("\n");
  return (JSON.parse(row) as readonly number[])[0] ?? 0;
}

test("[WEB78] a query is created in the editor, seen running, healed after a worker died, and stopped softly", async () => {
  await using opened = await openPage(browser, `${cluster.url}/streams`);
  const { page } = opened;
  await page.getByText("Keep a query running").waitFor();
  await page.getByRole("link", { name: "Editor" }).click();
  await page.getByRole("button", { name: "A first query" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("link", { name: "To hot_items" }).click();

  const state = page.getByRole("status", { name: "State" });
  await state.getByText("Running").waitFor();
  await untilFlowing(page);
  await page.locator('.edge-label[data-edge="source bids s0.0"]').waitFor();
  const checkpoints = page.getByRole("table", { name: "Checkpoints" }).locator("tbody tr");
  await checkpoints.first().waitFor();

  const killed = await workerOfMiddle();
  process.kill(await cluster.workerPid(killed), "SIGKILL");
  const history = page.getByRole("table", { name: "History" });
  const lost = history.locator('tr[data-to="DEPLOYING"]').filter({ hasText: "Redeploying" });
  await lost
    .getByText(/cannot be reached|was lost/)
    .first()
    .waitFor();
  await state.getByText("Running").waitFor();
  await history.locator('tr[data-to="RUNNING"]').nth(1).waitFor();
  await untilFlowing(page);

  await page.getByRole("button", { name: "Stop softly…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop softly" }).click();
  await page.getByText("hot_items is gone").waitFor();
  assert.ok((await rowCount()) > 0, "what was read reached the table");
  await page.getByRole("link", { name: "Streams" }).last().click();
  await page.getByText("Keep a query running").waitFor();
  assert.deepEqual(withoutRefusals(opened.complaints), []);
});

test("[WEB78] rows of a source are looked at in the editor, and nothing of that stays", async () => {
  await using opened = await openPage(browser, `${cluster.url}/streams/editor`);
  const { page } = opened;
  await page.getByRole("button", { name: "Look at rows" }).click();
  await page.getByRole("button", { name: "Preview rows" }).click();
  await page.getByRole("cell", { name: "133", exact: true }).waitFor();
  await page
    .getByRole("status", { name: "Result" })
    .getByText(/^20 rows in/)
    .waitFor();
  await page.getByRole("link", { name: "Queries" }).click();
  await page.getByText("Keep a query running").waitFor();
});
