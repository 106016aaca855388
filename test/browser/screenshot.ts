/**
 * Takes the README's picture from a real cluster that is really working:
 * `node test/browser/screenshot.ts [FILE] [--dark]`, docs/dashboard.png unless given.
 */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { ensureDashboard } from "../../web/build.ts";
import { launchBrowser } from "./browser.ts";
import { startCluster } from "./real-cluster.ts";

const file =
  process.argv.slice(2).find((arg) => !arg.startsWith("--")) ??
  join(import.meta.dirname, "../../docs/dashboard.png");
const colorScheme = process.argv.includes("--dark") ? "dark" : "light";
const workMs = 30_000;

/** What runs behind the picture: small statements, and one now and then that takes a moment. */
const statements = [
  "SELECT i % 10 AS bucket, count(*) AS n FROM range(2000000) t(i) GROUP BY bucket ORDER BY bucket",
  "SELECT avg(random()) AS mean, stddev(random()) AS spread FROM range(1000000)",
  "SELECT i AS n, i * i AS square FROM range(1, 101) t(i)",
  "SELECT count(*) FROM range(6000) a, range(4000) b WHERE (a.range + b.range) % 7 = 0",
];
const shown = `SELECT date_trunc('hour', ts) AS hour, count(*) AS events, round(avg(value), 2) AS mean
FROM (SELECT TIMESTAMP '2026-01-01' + INTERVAL (i) SECOND AS ts, sin(i / 900.0) * 40 + 60 AS value
      FROM range(28800) t(i)) GROUP BY ALL ORDER BY hour LIMIT 5`;

async function run(url: string, sql: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  await response.text();
}

async function keepBusy(url: string, until: AbortSignal): Promise<void> {
  for (let turn = 0; !until.aborted; turn += 1) {
    await run(url, statements[turn % statements.length] ?? "SELECT 1");
    await setTimeout(60 + 60 * (1 + Math.sin(turn / 9)));
  }
}

await ensureDashboard();
await using cluster = await startCluster(3);
const browser = await launchBrowser();
const page = await browser.newPage({
  viewport: { width: 1280, height: 900 },
  deviceScaleFactor: 1.5,
  locale: "en-US",
  colorScheme,
});
await page.goto(cluster.url);
await page.getByText("Healthy").waitFor();
const over = new AbortController();
const busy = [keepBusy(cluster.url, over.signal), keepBusy(cluster.url, over.signal)];
await setTimeout(workMs);
await page.getByLabel("SQL statement").fill(shown);
await page.keyboard.press("Control+Enter");
await page.getByText(/5 rows in/).waitFor();
await page.mouse.click(5, 5); // The field keeps no focus ring in the picture.
await setTimeout(1_100);
await mkdir(dirname(file), { recursive: true });
await page.screenshot({ path: file });
over.abort();
await Promise.all(busy);
await browser.close();
process.stdout.write(`${file}\n`);
