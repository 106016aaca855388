/** The Tables page of a real cluster, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { eventually, openPage } from "./dashboard-page.ts";
import { type RealCluster, startCluster } from "./real-cluster.ts";

let browser: Browser;
let cluster: RealCluster;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
  cluster = await startCluster(2);
});
after(async () => await Promise.all([browser?.close(), cluster?.[Symbol.asyncDispose]()]));

async function sql(text: string): Promise<void> {
  const response = await fetch(`${cluster.url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text }),
  });
  const answer = await response.text();
  assert.ok(response.ok && !answer.includes('{"error"'), answer);
}

test("[WEB45, WEB44] on a real cluster: from nothing to a table that is kept fresh, refreshed and dropped", async () => {
  await using opened = await openPage(browser, `${cluster.url}/tables`);
  const { page } = opened;
  await page.getByText("Keep a query's result fresh").waitFor();
  await eventually(async () => await page.getByRole("button", { name: /^Copy: / }).count(), 3);
  await page.getByRole("button", { name: "Run all three" }).click();
  const node = page.locator('.node[data-table="revenue"]');
  await node.and(page.locator('[data-condition="fresh"]')).waitFor();
  await node.click();
  await page.getByRole("cell", { name: "books" }).waitFor();
  await page.getByRole("cell", { name: "19.70" }).waitFor();
  await sql("INSERT INTO orders (id, category, amount) VALUES (4, 'games', 5)");
  await page.getByRole("button", { name: "Refresh now" }).click();
  await page.getByRole("cell", { name: "games" }).waitFor();
  const refreshes = page.getByRole("table", { name: "Refreshes" });
  await refreshes.getByText("manual").first().waitFor();
  await refreshes.getByText("Full").first().waitFor();
  await page.getByRole("img", { name: /Lag: peak/ }).waitFor();
  await page.getByRole("button", { name: "Suspend…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("status", { name: "State" }).getByText("Suspended").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Refresh now" }).waitFor();
  await page.getByRole("button", { name: "More actions for revenue" }).click();
  await page.getByRole("menuitem", { name: "Drop…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
  await page.getByText("Keep a query's result fresh").waitFor();
  await page.locator('[data-table="orders"]').getByText("4").first().waitFor();
  assert.deepEqual(opened.complaints, []);
});
