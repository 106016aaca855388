/**
 * Load tests on a real cluster, in a real browser: from a template to a run that is watched and
 * stopped.
 */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { assertFits, eventually, openPage, withoutRefusals } from "./dashboard-page.ts";
import { type RealCluster, startCluster } from "./real-cluster.ts";

/** The directory for screenshots, if given. */
const pictures = process.env.CAPSTAN_SCREENSHOTS;

let browser: Browser;
let cluster: RealCluster;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
  cluster = await startCluster(1);
});
after(async () => await Promise.all([browser?.close(), cluster?.[Symbol.asyncDispose]()]));

async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  await mkdir(pictures, { recursive: true });
  for (const [suffix, width] of [
    ["wide", 1_280],
    ["narrow", 400],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(350); // The drawing follows the window a moment later.
    await assertFits(page);
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(350);
      const path = join(pictures, `${name}-${suffix}-${scheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
  }
  await page.setViewportSize({ width: 1_280, height: 860 });
}

async function call<T>(path: string, method = "GET", body?: unknown): Promise<T> {
  const response = await fetch(`${cluster.url}${path}`, {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as T;
}

interface Made {
  readonly template_id: string;
  readonly template_name: string;
  readonly config: Record<string, unknown>;
}

test("[WEB54] [AP38] templates: found, copied, imported, checked, saved, exported and deleted", async () => {
  await using opened = await openPage(browser, `${cluster.url}/load`);
  const { page } = opened;
  await page.getByRole("link", { name: "Templates", exact: true }).click();
  const ready = page.getByRole("table", { name: "Built-in templates" });
  await ready.getByRole("link", { name: "Demo" }).waitFor();
  await picture(page, "templates");
  await page.getByLabel("Filter templates").fill("ycsb zipf-nothing");
  await page.getByText("No template matches").waitFor();
  await page.getByLabel("Filter templates").fill("sqlite");
  await eventually(async () => await ready.locator("tbody tr").count(), 1);
  await page.getByRole("button", { name: "Actions for Demo" }).click();
  await page.getByRole("menuitem", { name: "Copy" }).click();
  await page.getByRole("heading", { name: "Demo (copy)" }).waitFor();

  // The form and the text are one thing, and the coordinator says what is wrong with it.
  const text = page.getByLabel("Template as YAML");
  await page.getByLabel("Duration").fill("45");
  await page.getByText("Rate", { exact: true }).click();
  await page.getByLabel("Operations per second").fill("0");
  const problems = page.getByRole("list", { name: "Problems" });
  await problems.getByText("workload.target_qps").click();
  await text.getByText("target_qps: 0").waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor();
  await picture(page, "editor-problem");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The template was not saved").waitFor();
  await page.getByText("Connections", { exact: true }).first().click();
  await problems.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await eventually(async () => await page.getByText("Not saved").count(), 0);

  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  assert.equal((await download).suggestedFilename(), "demo-copy.yaml");

  // Another saves in between: who comes second is told, and loses nothing.
  const id = decodeURIComponent(page.url().split("/").at(-1) ?? "");
  const seen = await call<Made>(`/api/templates/${id}`);
  const { duration_seconds: duration, load_mode: mode } = seen.config.workload as {
    readonly duration_seconds: number;
    readonly load_mode: string;
  };
  assert.deepEqual([duration, mode], [45, "CONCURRENCY"]);
  await call(`/api/templates/${id}`, "PUT", { ...seen.config, description: "by another" });
  await page.getByLabel("Duration").fill("50");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else saved this template since you opened it").waitFor();
  await picture(page, "editor-conflict");
  await page.getByRole("link", { name: "Templates", exact: true }).first().click();
  await page.getByRole("dialog", { name: "Leave without saving" }).waitFor();
  await page.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("button", { name: "Load theirs, drop mine" }).click();
  await text.getByText("by another").waitFor();

  await page.getByRole("link", { name: "Templates", exact: true }).first().click();
  await page.getByRole("button", { name: "Import YAML…" }).click();
  await page.getByLabel("YAML").fill("name: mine\ntarget: sqlite:x.db\nworkload:\n  duration: 5\n");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("did you mean duration_seconds?").waitFor();
  await picture(page, "import-refused");
  await page.getByLabel("YAML").fill("name: mine\ntarget: sqlite:x.db\n");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("heading", { name: "mine" }).waitFor();
  await page.getByRole("link", { name: "Templates", exact: true }).first().click();
  await page.getByRole("button", { name: "Actions for mine" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted. Its runs are kept.").waitFor();
  await page.getByRole("button", { name: "Actions for Demo", exact: true }).click();
  await page.getByRole("menuitem", { name: "Delete (built-in)" }).waitFor();
  assert.deepEqual(withoutRefusals(opened.complaints), []);
});

/** What both clocks and the rate show now. */
async function look(page: Page): Promise<{
  readonly total: number;
  readonly phase: number;
  readonly of: string;
  readonly qps: number;
}> {
  return await page.evaluate(`(() => {
    const seconds = (name) =>
      Number(document.querySelector('[data-timer="' + name + '"]')?.getAttribute("data-seconds") ?? 0);
    return {
      total: seconds("total"),
      phase: seconds("phase"),
      of: document.querySelector("[data-phase]")?.getAttribute("data-phase") ?? "",
      qps: Number((document.querySelector('[data-figure="qps"]')?.textContent ?? "0").replace(/[^0-9.]/g, "")),
    };
  })()`);
}

test("[WEB56] a run is prepared, started, watched live and stopped; the page stays quick", async () => {
  const copy = await call<Made>("/api/templates/demo/copy", "POST", {
    template_name: "Short demo",
  });
  const { config } = copy;
  await call(`/api/templates/${copy.template_id}`, "PUT", {
    ...config,
    template_name: "Short demo",
    workload: {
      ...(config.workload as object),
      warmup_seconds: 3,
      duration_seconds: 900, // Long enough for a busy machine: the test stops the run.
      think_time_ms: 5,
    },
    scaling: { mode: "FIXED", min_workers: 2, min_connections: 2 },
  });
  await using opened = await openPage(browser, `${cluster.url}/load/templates/${copy.template_id}`);
  const { page } = opened;
  await page.getByRole("button", { name: "Prepare…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Target").fill("postgres://me@db.example/shop");
  await dialog.getByText("Load db.example: it is not this machine").waitFor();
  await dialog.getByRole("button", { name: "Prepare" }).click();
  await dialog.getByText("The run was not prepared").waitFor();
  await picture(page, "prepare-refused");
  await dialog.getByLabel("Target").fill("sqlite:load-demo.db");
  await dialog.getByLabel("Name of the run").fill("Watched");
  await dialog.getByRole("button", { name: "Prepare" }).click();
  await page.getByRole("heading", { name: "Watched" }).waitFor();
  const state = page.getByRole("status", { name: "State" });
  await state.getByText("Prepared").waitFor();
  await picture(page, "run-prepared");
  await page.getByRole("button", { name: "Start" }).click();
  await state
    .getByText(/Starting|Warm-up|Running/)
    .first()
    .waitFor();
  await page.locator('[data-phase="MEASUREMENT"]').waitFor();

  // Both clocks only go forward, and the rate is shown.
  let before = await look(page);
  let best = 0;
  for (let turn = 0; turn < 60 || (best === 0 && turn < 600); turn += 1) {
    await page.waitForTimeout(50);
    const now = await look(page);
    assert.ok(now.total >= before.total, `${before.total} then ${now.total}`);
    if (now.of === before.of) assert.ok(now.phase >= before.phase, JSON.stringify({ before, now }));
    best = Math.max(best, now.qps);
    before = now;
  }
  assert.equal(before.of, "MEASUREMENT");
  assert.ok(best > 0, "the rate stayed at 0");
  await page.getByRole("img", { name: /Operations per second over/ }).waitFor();
  await page.getByRole("img", { name: /Latency percentiles/ }).waitFor();
  await page.getByText("2 of 2 healthy").waitFor();
  await page.getByRole("region", { name: "Log lines" }).waitFor();

  // The machine may be busy with other tests just now: then as quick as without a run counts.
  const clickMs = async (): Promise<number> => {
    const clickedMs = performance.now();
    await page.getByRole("link", { name: "Templates", exact: true }).first().click();
    await page.getByLabel("Filter templates").waitFor();
    return performance.now() - clickedMs;
  };
  let bestMs = Number.POSITIVE_INFINITY;
  let otherMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 10 && bestMs >= Math.max(500, 2 * otherMs); attempt += 1) {
    bestMs = Math.min(bestMs, await clickMs());
    await page.getByRole("link", { name: "Runs", exact: true }).first().click();
    await page.getByLabel("Search runs").waitFor();
    otherMs = Math.min(otherMs, await clickMs());
    for (let back = 0; back < 3; back += 1) await page.goBack();
    await page.locator('[data-phase="MEASUREMENT"]').waitFor();
  }
  const times = [bestMs, otherMs].map((ms) => `${Math.round(ms)} ms`);
  assert.ok(bestMs < Math.max(500, 2 * otherMs), `a click took ${times.join(", without a run ")}`);
  await page.getByRole("img", { name: /Latency percentiles/ }).waitFor();
  await picture(page, "run-live");
  await page.locator(".worker-tile").first().click();
  await page.getByRole("dialog").getByRole("img", { name: "p95 of this worker" }).waitFor();
  if (pictures !== undefined) await picture(page, "run-worker");
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Stop…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Let it run" }).click();
  await page.getByRole("button", { name: "Stop…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop it" }).click();
  await page.locator("[data-phase]").waitFor({ state: "detached" });
  await state.getByText("Cancelled").waitFor();
  const run = await call<{ readonly status: string }>(`/api/tests/${runIdOf(page)}`);
  assert.equal(run.status, "CANCELLED");
  await picture(page, "run-ended");
  assert.deepEqual(withoutRefusals(opened.complaints), []);
});

function runIdOf(page: Page): string {
  return new URL(page.url()).pathname.split("/").at(-1) ?? "";
}

test("[WEB56] a search for the maximum shows its steps as they are judged, then its result", async () => {
  const { test_id: id } = await call<{ readonly test_id: string }>(
    "/api/tests/from-template/demo",
    "POST",
    {
      test_name: "Searched",
      settings: [
        "mode=FIND_MAX_CONCURRENCY",
        "warmup=0",
        "find_max.start_concurrency=1",
        "find_max.concurrency_increment=1",
        "find_max.step_duration_seconds=2",
        "find_max.max_concurrency=2",
        "workload.think_time_ms=10",
      ],
    },
  );
  await using opened = await openPage(browser, `${cluster.url}/load/runs/${id}`);
  const { page } = opened;
  await page.getByRole("button", { name: "Start" }).click();
  const steps = page.getByRole("table", { name: "Steps" });
  await steps.locator("tbody tr").first().waitFor();
  await picture(page, "run-search");
  await page.locator("[data-phase]").waitFor({ state: "detached" });
  await page.getByRole("status", { name: "State" }).getByText("Completed").waitFor();
  assert.deepEqual(opened.complaints, []);
});

test("[WEB57] what is not there, or does not answer, is said, and how old the figures are", async () => {
  const own = await startCluster(1);
  await using stack = new AsyncDisposableStack();
  stack.use(own);
  const prepared = await fetch(`${own.url}/api/tests/from-template/demo`, { method: "POST" });
  const { test_id: id } = (await prepared.json()) as { readonly test_id: string };
  const opened = await openPage(browser, `${own.url}/load/runs/none`);
  stack.use(opened);
  const { page } = opened;
  await page.getByText("There is no such run").waitFor();
  await page.goto(`${own.url}/load/templates/none`);
  await page.getByText("There is no such template").waitFor();
  await page.goto(`${own.url}/load/nowhere`);
  await page.getByText("There is no such page").waitFor();
  await page.goto(`${own.url}/load/runs/${id}`);
  await page.getByRole("link", { name: "Templates", exact: true }).click();
  const prepare = page.getByRole("button", { name: "Prepare Demo", exact: true });
  await prepare.waitFor(); // From here on the page has its code and the list.
  await page.goBack();
  await page.getByRole("status", { name: "State" }).getByText("Prepared").waitFor();
  await own[Symbol.asyncDispose]();
  const note = page.getByRole("alert").filter({ hasText: "Not connected" });
  await note.getByText(/The figures are from .* ago/).waitFor();
  await picture(page, "run-lost");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("Could not start the run").waitFor();
  await page.getByRole("link", { name: "Templates", exact: true }).click();
  await prepare.waitFor();
  await page.locator(".banner").getByText("What is shown may be out of date.").waitFor();
  await prepare.click();
  await page.getByRole("dialog").getByText("The coordinator does not answer.").waitFor();
  await picture(page, "prepare-lost");
});
