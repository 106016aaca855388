/** History, results and comparison of load tests, on a real cluster in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Browser, Locator, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { assertFits, eventually, openPage, withoutRefusals } from "./dashboard-page.ts";
import { type RealCluster, startCluster } from "./real-cluster.ts";

let browser: Browser;
let cluster: RealCluster;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
  cluster = await startCluster(1);
});
after(async () => await Promise.all([browser?.close(), cluster?.[Symbol.asyncDispose]()]));

async function api<T>(path: string, body?: object): Promise<T> {
  const response = await fetch(`${cluster.url}${path}`, {
    ...(body !== undefined && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.text();
  assert.ok(response.ok, answer);
  return JSON.parse(answer) as T;
}

interface Ended {
  readonly status: string;
  readonly enrichment_status: string | null;
}

/** Waits until the exact percentiles are there, too. */
async function ended(id: string): Promise<Ended> {
  const deadlineMs = performance.now() + 120_000;
  for (;;) {
    const run = await api<Ended>(`/api/tests/${id}`);
    const isOver = ["COMPLETED", "FAILED", "CANCELLED"].includes(run.status);
    if (isOver && !["PENDING", "RUNNING"].includes(run.enrichment_status ?? "")) return run;
    assert.ok(performance.now() < deadlineMs, `${id} is ${run.status}`);
    await setTimeout(200);
  }
}

async function begin(name: string, settings: readonly string[]): Promise<string> {
  const body = { template_id: "demo", test_name: name, settings };
  const { test_id: id } = await api<{ test_id: string }>("/api/runs", body);
  await api(`/api/tests/${id}/start`, {});
  return id;
}

async function run(name: string, settings: readonly string[]): Promise<string> {
  const id = await begin(name, settings);
  await ended(id);
  return id;
}

/** Stops the run whose page is open. */
async function stop(page: Page): Promise<void> {
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await api(`/api/tests/${id}/stop`, {});
  await ended(id);
}

function digits(text: string | null): number {
  return Number((text ?? "").replaceAll(/[^\d.]/g, ""));
}

async function figure(page: Page, name: string): Promise<number> {
  const cell = page.locator(".figure-cell", { has: page.getByText(name, { exact: true }) });
  return digits(await cell.locator(".figure-value").first().textContent());
}

/** Waits until a chart's canvas has content. */
async function drawn(page: Page, label: RegExp): Promise<void> {
  const chart = page.getByRole("img", { name: label });
  await chart.scrollIntoViewIfNeeded();
  await eventually(async () => await isDrawn(chart), true);
}

async function isDrawn(chart: Locator): Promise<boolean> {
  return await chart.locator("canvas").evaluate((element) => {
    const canvas = element as unknown as {
      width: number;
      height: number;
      getContext(kind: "2d"): {
        getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray };
      };
    };
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  });
}

test("[WEB60] [WEB61] [WEB65] [WEB66] [WEB67] from nothing to two runs that are found, opened and compared", async () => {
  await using opened = await openPage(browser, `${cluster.url}/load`);
  const { page } = opened;
  await page.getByText("No runs yet").waitFor();
  await page.getByText("capstan load run demo --set duration=10").waitFor();
  await page.getByRole("button", { name: "Run the demo" }).click();
  await page.waitForURL("**/load/runs/*");
  await stop(page);

  const short = ["duration=4", "warmup=1", "think_time_ms=5"];
  const first = await run("Before the change", short);
  await page.goto(`${cluster.url}/load`);
  await page.locator(`[data-run="${first}"]`).waitFor();
  const second = await begin("After the change", [...short, "concurrent_connections=2"]);
  await page.reload(); // Reloads at once: the run is soon over.
  const running = page.locator(`[data-run="${second}"]`);
  await running.getByText("Watch it live").waitFor();
  await running.getByText("Completed").waitFor(); // Without a reload.
  await ended(second);
  const names = page.locator(".row-link");
  const named = ["After the change", "Before the change", "Demo"];
  await eventually(async () => await names.allInnerTexts(), named);

  await page.getByLabel("Search runs").fill("before THE");
  await running.waitFor({ state: "detached" });
  await page.waitForURL(/q=before\+THE/);
  await page.getByLabel("Search runs").fill("no such run");
  await page.getByText("No run matches").waitFor();
  await page.getByText("Show all runs").click();
  await running.waitFor();

  const { latency, coverage } = await api<{
    latency: { p95_ms: number };
    coverage: number;
  }>(`/api/tests/${first}/final-figures`);
  const { qps, total_operations: total } = await api<{ qps: number; total_operations: number }>(
    `/api/tests/${first}/report.json`,
  );
  assert.equal(coverage, 1);
  await page.getByRole("link", { name: "Before the change" }).click();
  await page
    .getByRole("region", { name: "Verdict" })
    .getByText(/objectives/)
    .first()
    .waitFor();
  const objectives = page.getByRole("list", { name: "Objectives" }).locator("li");
  await eventually(async () => await objectives.count(), 3);
  await page.getByText("exact, from all records").first().waitFor();
  await eventually(async () => await figure(page, "Operations"), total);
  assert.ok(Math.abs((await figure(page, "Operations/s")) - qps) <= 0.5);
  assert.ok(Math.abs((await figure(page, "p95")) / latency.p95_ms - 1) < 0.01);
  await drawn(page, /Operations per second over time/);
  await drawn(page, /Percentiles of latency/);
  await drawn(page, /Histogram of the latency/);
  await drawn(page, /Heat map/);
  const operations = page.getByRole("table", { name: "Operations", exact: true });
  await eventually(async () => await operations.locator("tbody tr").count(), 4);
  await page.getByRole("table", { name: "Workers" }).getByText("worker-0").waitFor();
  const single = page.getByRole("table", { name: "Single operations" });
  await single.locator("tbody tr").first().waitFor();
  await eventually(async () => await single.locator("tbody tr").count(), 20);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("21 to 40").waitFor();
  await page.getByRole("region", { name: "Log lines" }).getByText("MEASUREMENT begins").waitFor();
  await page.getByText("workload.duration_seconds").waitFor();
  await page.getByRole("button", { name: "Report" }).click();
  const report = page.getByRole("menuitem", { name: /HTML/ });
  assert.equal(await report.getAttribute("href"), `/api/tests/${first}/report.html`);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Compare with…" }).click();
  await page.getByRole("dialog").getByText("After the change").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await page.getByLabel(new RegExp(`Compare .*${second}`)).check();
  await page.getByText("Select another run to compare it with").waitFor();
  await page.getByLabel(new RegExp(`Compare .*${first}`)).check();
  await page.getByRole("link", { name: "Compare 2 runs" }).click();
  await page.getByText("Comparison of 2 runs").waitFor();
  await page.waitForURL(`**/load/compare?ids=${first},${second}`);
  const { comparisons } = await api<{
    comparisons: { verdict: string; metrics: { metric: string; after: number }[] }[];
  }>(`/api/tests/compare?ids=${first},${second}`);
  const [comparison] = comparisons;
  const verdict = page.locator(".comparison-verdict");
  assert.equal(await verdict.getAttribute("data-verdict"), comparison?.verdict);
  const rate = comparison?.metrics.find(({ metric }) => metric === "qps")?.after ?? 0;
  const cells = page.locator('[data-metric="qps/ALL"] td');
  assert.ok(Math.abs(digits(await cells.nth(2).textContent()) - rate) <= 0.5);
  await page.getByRole("cell", { name: "workload.concurrent_connections" }).waitFor();
  await drawn(page, /Operations per second of each run/);
  await drawn(page, /p95 of each run/);
  await drawn(page, /Latency of each run by percentile/);
  await page.getByRole("link", { name: "Make it the base" }).click();
  await page.waitForURL(`**/load/compare?ids=${second},${first}`);
  await page.getByRole("link", { name: "After the change" }).click();
  await page.getByRole("button", { name: "Rerun" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(second) && /runs/.test(url.pathname));
  await stop(page);
  assert.deepEqual(opened.complaints, []);
});

test("[WEB68] [WEB19] what is not there, measured nothing or failed says so; nothing scrolls sideways", async () => {
  const limits = ["guardrails.max_p99_latency_ms=0.001", "guardrails.grace_seconds=1"];
  const failed = await run("Guarded", ["duration=30", "warmup=0", ...limits]);
  const stopped = await begin("Stopped", ["duration=30"]);
  await api(`/api/tests/${stopped}/stop`, {});
  await ended(stopped);
  await using opened = await openPage(browser, `${cluster.url}/load/runs/nope`, {
    width: 400,
    colorScheme: "dark",
  });
  const { page } = opened;
  await page.getByText("There is no such run").waitFor();
  await page.goto(`${cluster.url}/load/runs/${failed}`);
  await page.getByText("The run failed").waitFor();
  await page
    .getByText(/Guardrail triggered: p99/)
    .first()
    .waitFor();
  await page.getByText("exact, from all records").first().waitFor();
  await assertFits(page);
  await page.goto(`${cluster.url}/load/runs/${stopped}`);
  await page.getByText(/Nothing had been measured by then/).waitFor();
  await page.getByText(/No second of load was recorded/).waitFor();
  await assertFits(page);
  await page.goto(`${cluster.url}/load`);
  await page
    .locator(`[data-run="${failed}"]`)
    .getByText(/Guardrail triggered/)
    .waitFor();
  await assertFits(page);
  await page.goto(`${cluster.url}/load/compare?ids=${failed}`);
  await page.getByText("Choose two runs to compare").waitFor();
  await page.goto(`${cluster.url}/load/compare?ids=${failed},nope`);
  await page.getByText("One of the runs is not there").waitFor();
  await assertFits(page);
  assert.deepEqual(withoutRefusals(opened.complaints), []);
});
