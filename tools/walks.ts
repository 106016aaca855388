/**
 * Counts the files that data meets on its four walks: `node tools/walks.ts [NAME] [--list]`.
 *
 * There are two counts, and neither stands for the other:
 *
 *   stations   the files that docs/ARCHITECTURE.md names on the walk: what a reader follows.
 *              `unmet` lists those in which no function ran
 *   all_files  every file in which a function ran for the walk, helpers and mechanisms included,
 *              and how many of them lie in each room
 *
 * A walk is made `times` times on a real cluster that runs from the sources, while V8 counts the
 * calls of every function; then another cluster does nothing for as long. A file is on the walk
 * when one of its functions was called at least `times` times more, so that what happens by itself
 * (heartbeats, scrapes) is not counted.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ProtoWriter } from "../src/kinds/ask/metrics/core/ingest/testing/proto-writer.ts";
import { compressSnappy } from "../src/kinds/ask/metrics/core/ingest/wire/snappy.ts";
import { type Cluster, http, runCli, startCluster } from "../test/e2e/harness.ts";
import { roomOf } from "./tidy/rooms.ts";

interface Walk {
  readonly times: number;
  /** What must be there before. */
  prepare?(cluster: Cluster): Promise<void>;
  once(cluster: Cluster, round: number): Promise<void>;
}

const root = join(import.meta.dirname, "..");
const sourcesUrl = new URL("../src/", import.meta.url).href;

const walks: Readonly<Record<string, Walk>> = {
  "range query": {
    times: 100,
    prepare: async (cluster) => await writeSamples(cluster, 0),
    once: async (cluster, round) => {
      const end = Date.now() / 1000;
      const query = `sum by (job) (rate(walked_total[${60 + round}s]))`;
      const range = { query, start: `${end - 600}`, end: `${end}`, step: "15" };
      await ask(cluster, `/api/v1/query_range?${new URLSearchParams(range)}`);
    },
  },
  "insert to dynamic table": {
    times: 30,
    prepare: async (cluster) => {
      await sql(cluster, "CREATE TABLE walked (a INTEGER, b INTEGER)");
      await sql(cluster, "INSERT INTO walked VALUES (1, 1)");
      await sql(
        cluster,
        "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS SELECT a, sum(b) AS s FROM walked GROUP BY a",
      );
    },
    once: async (cluster, round) => {
      await sql(cluster, `INSERT INTO walked VALUES (${round}, 1)`);
      await sql(cluster, "REFRESH DYNAMIC TABLE sums");
    },
  },
  "load run": { times: 2, once: runLoad },
  "remote-write sample": { times: 100, once: writeSamples },
};

const [only] = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
for (const [name, walk] of Object.entries(walks)) {
  if (only !== undefined && only !== name) continue;
  const files = await filesOf(walk);
  const stations = stationsOf(name);
  const unmet = stations.filter((file) => !files.includes(file));
  if (process.argv.includes("--list")) process.stdout.write(`${files.join("\n")}\n`);
  const counts = { stations: stations.length, unmet, all_files: files.length };
  process.stdout.write(`${JSON.stringify({ walk: name, ...counts, rooms: roomsOf(files) })}\n`);
}

/** How many of the files lie in each room, the room with most of them first. */
function roomsOf(files: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const file of files) {
    const name = roomOf(file)?.name ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([, one], [, other]) => other - one));
}

/** The files that docs/ARCHITECTURE.md names on the walk. */
function stationsOf(name: string): readonly string[] {
  const text = readFileSync(join(root, "docs", "ARCHITECTURE.md"), "utf8");
  const [, walk = ""] = text.split(`### ${name}\n`);
  const [section = ""] = walk.split(/\n##/);
  return [...new Set([...section.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, path]) => path ?? ""))];
}

async function filesOf(walk: Walk): Promise<readonly string[]> {
  let walkMs = 0;
  const walked = await callsWith(walk, async (cluster) => {
    const startMs = Date.now();
    for (let round = 1; round <= walk.times; round += 1) await walk.once(cluster, round);
    walkMs = Date.now() - startMs;
  });
  const still = await callsWith(walk, () => new Promise((end) => setTimeout(end, walkMs)));
  const met = [...walked].filter(([key, calls]) => calls - (still.get(key) ?? 0) >= walk.times);
  return [...new Set(met.map(([key]) => key.split("#")[0] ?? ""))].toSorted((a, b) =>
    a < b ? -1 : 1,
  );
}

/** How often each function of src/ was called, in all processes and threads together. */
async function callsWith(
  walk: Walk,
  run: (cluster: Cluster) => Promise<void>,
): Promise<ReadonlyMap<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), "capstan-walks-"));
  try {
    const env = {
      CAPSTAN_PROGRAM: join(root, "src", "cli", "main.ts"),
      NODE_V8_COVERAGE: directory,
      CAPSTAN_WARM_UP: "off",
    };
    const cluster = await startCluster({ env });
    await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
    await walk.prepare?.(cluster);
    await run(cluster);
    const pids = Object.values(cluster.pids());
    await cluster.stop();
    checkComplete(directory, pids);
    return countCalls(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A process writes its calls when it ends; one that was killed meanwhile has written nothing. */
function checkComplete(directory: string, pids: readonly number[]): void {
  const names = readdirSync(directory);
  const silent = pids.filter((pid) => !names.some((name) => name.startsWith(`coverage-${pid}-`)));
  if (silent.length === 0) return;
  throw new Error(`${silent.length} processes ended without their calls: use an idle machine`);
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

function countCalls(directory: string): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const name of readdirSync(directory)) {
    const { result } = JSON.parse(readFileSync(join(directory, name), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      if (!url.startsWith(sourcesUrl)) continue;
      const file = relative(root, fileURLToPath(url));
      for (const { ranges } of functions) {
        const [whole] = ranges;
        if (whole === undefined || whole.startOffset === 0) continue; // The module itself.
        const key = `${file}#${whole.startOffset}`;
        calls.set(key, (calls.get(key) ?? 0) + whole.count);
      }
    }
  }
  return calls;
}

async function ask(cluster: Cluster, path: string, options = {}): Promise<void> {
  const answer = await http(`${cluster.url}${path}`, options);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
}

async function sql(cluster: Cluster, text: string): Promise<void> {
  await ask(cluster, "/api/v1/sql", { method: "POST", body: { sql: text } });
}

async function writeSamples(cluster: Cluster, round: number): Promise<void> {
  const body = new ProtoWriter().message(1, (series) => {
    series.message(1, (label) => label.text(1, "__name__").text(2, "walked_total"));
    series.message(1, (label) => label.text(1, "job").text(2, "walk"));
    series.message(2, (sample) => sample.double(1, round).integer(2, Date.now() + round));
  });
  const answer = await fetch(`${cluster.url}/api/v1/write`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
    },
    body: compressSnappy(body.bytes()) as Uint8Array<ArrayBuffer>,
  });
  if (!answer.ok) throw new Error(`write answered ${answer.status}: ${await answer.text()}`);
}

async function runLoad(cluster: Cluster): Promise<void> {
  const args = ["load", "run", "demo", "--set", "duration=3", "--url", cluster.url];
  const { code, stderr } = await runCli(args);
  if (code !== 0) throw new Error(`capstan load run exited with ${code}: ${stderr}`);
}
