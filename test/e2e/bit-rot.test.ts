/**
 * Bits flip in files of the lake, in segments and in the log: before a start, after an eviction,
 * and while it runs. Every answer is the one that was remembered of the sound data, or an error
 * that names what is damaged; and everything that flipped is named. Files of S3 whose copies were
 * evicted are in `bit-rot-s3.test.ts`.
 *
 * A few flips of each of the nine kinds here. More, and at other places:
 * `CAPSTAN_TEST_FLIPS=200 CAPSTAN_TEST_SEED=7 node --test test/e2e/bit-rot*.test.ts` (half an
 * hour).
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import type { ReadyBody, StatusBody } from "../../src/faces/api/index.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { type BitFlip, flipBit, flipCount } from "../../src/ground/kernel/testing/flip-bit.ts";
import { remoteWrite } from "./ask-cluster.ts";
import { type DataSeries, dataSeries, openMetricsText, remoteWriteBody } from "./ask-data.ts";
import { type Answer, allRight, judge, type Question, report, seed } from "./bit-rot.ts";
import {
  type CapstanProcess,
  getJson,
  makeDir,
  removeDir,
  runCli,
  sql,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";

const flips = flipCount(3);
/** Each flip of the log costs a start. */
const logFlips = flipCount(2);
const prng = createPrng(`bit rot ${seed}`);
const waitMs = 120_000;
const limit = { timeout: 7_200_000 };
const blockMs = 2 * 3_600_000;
const lastBlockMs = Math.floor(Date.now() / blockMs - 2) * blockMs;

const dataDir = makeDir();
const lakeDir = join(dataDir, "lake");
const env = { CAPSTAN_CLUSTER_TOKEN: "a-token-for-the-whole-cluster" };
let coordinator: CapstanProcess;
let worker: CapstanProcess;
let url: string;

async function startCoordinator(name = "coordinator"): Promise<void> {
  coordinator = startProcess(
    [
      ...["coordinator", "--name", name, "--data-dir", dataDir, "--port", "0"],
      ...["--upkeep-every", "1s", "--scrub-every", "1s", "--log-format", "json"],
    ],
    env,
  );
  url = await coordinator.url();
}

async function start(columns: string): Promise<void> {
  await startCoordinator();
  await startWorker(columns);
}

/** `columns`: memory for decoded columns. A kilobyte has room for one of them. */
async function startWorker(columns: string): Promise<void> {
  worker = startProcess(
    [
      ...["worker", "--name", "worker-1", "--data-dir", dataDir, "--join", url],
      ...["--compute-threads", "1", "--column-cache", columns, "--log-format", "json"],
    ],
    env,
  );
  await untilAnswering();
}

async function untilAnswering(): Promise<void> {
  await waitFor(
    "answers",
    async () => ((await sql(url, "SELECT 1")).rows.length === 1 ? true : undefined),
    waitMs,
    () => coordinator.output.slice(-2_000),
  );
}

const tables: readonly Question[] = Array.from({ length: flips }, (_, table) => ({
  ask: async () => {
    const query = `SELECT count(*)::INT, sum(id)::INT, sum(price)::DOUBLE, max(name) FROM t${table}`;
    const { rows, error } = await sql(url, query);
    return error === undefined ? { text: JSON.stringify(rows) } : error;
  },
  right: JSON.stringify([tableAnswer(table)]),
}));

function tableAnswer(table: number): readonly unknown[] {
  const ids = Array.from({ length: 40 }, (_, id) => id).filter(
    (id) => table % 2 === 0 || id % 4 > 0,
  );
  const sum = ids.reduce((total, id) => total + id, 0);
  return [ids.length, sum, sum / 4 + table * ids.length, "name 9"];
}

async function makeTable(table: number): Promise<void> {
  const rows = `SELECT range::INT AS id, 'name ' || range AS name, range / 4 + ${table} AS price FROM range(40)`;
  assert.equal((await sql(url, `CREATE TABLE t${table} AS ${rows}`)).error, undefined);
  if (table % 2 === 0) return;
  assert.equal((await sql(url, `DELETE FROM t${table} WHERE id % 4 = 0`)).error, undefined);
}

/** A segment each: a block of time has one. */
const segmentSeries = (block: number): readonly DataSeries[] =>
  ["a", "b"].map((job, at) =>
    dataSeries(
      { __name__: "rot", job },
      { startMs: lastBlockMs - block * blockMs, stepMs: 30_000, count: 40 },
      (index) => block + at * 100 + index,
    ),
  );
const segments: readonly Question[] = Array.from({ length: flips }, (_, block) => {
  const values = segmentSeries(block).flatMap((series) => [...series.values]);
  return {
    ask: () => promql("sum(sum_over_time(rot[1h]))", lastBlockMs - block * blockMs + 1_800_000),
    right: JSON.stringify([String(values.reduce((sum, value) => sum + value, 0))]),
  };
});

async function promql(query: string, timeMs: number): Promise<Answer> {
  const form = new URLSearchParams({ query, time: String(timeMs / 1000) });
  const response = await fetch(`${url}/api/v1/query?${form}`);
  const body = (await response.json()) as {
    readonly status: string;
    readonly error?: string;
    readonly code?: string;
    readonly warnings?: readonly string[];
    readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  };
  const told = body.error ?? body.warnings?.[0];
  if (told !== undefined) return { code: body.code ?? "", message: told };
  return { text: JSON.stringify(body.data?.result.map(({ value }) => value[1])) };
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** A file of each table, data or deletes. */
function flipTables(): readonly BitFlip[] {
  return tables.map((_, table) => flipBit(prng, filesIn(join(lakeDir, "main", `t${table}`))));
}

/** A file of each segment. */
function flipSegments(): readonly BitFlip[] {
  const byId = Map.groupBy(filesIn(join(lakeDir, "segments")), dirname);
  return [...byId.values()].map((files) => flipBit(prng, files));
}

const tableName = ({ path }: BitFlip): string => relative(lakeDir, path);
const segmentName = ({ path }: BitFlip): string => basename(dirname(path));

/** The scrub's findings are on /readyz, and the check names every file. */
async function requireNamed(flipped: readonly BitFlip[], names: readonly string[]): Promise<void> {
  await waitFor(
    `${flipped.length} damaged files on /readyz`,
    async () => {
      const { parts } = await getJson<ReadyBody>(`${url}/readyz`);
      const part = parts.find(({ name }) => name === "stored_data");
      return part?.reason?.startsWith(`damaged files (${flipped.length}) of `) ? true : undefined;
    },
    waitMs,
    () => coordinator.output.slice(-2_000),
  );
  const checked = await runCli(["lake", "check", "--json", "--data-dir", dataDir]);
  assert.equal(checked.code, 1, checked.stderr);
  const { findings } = JSON.parse(checked.stdout) as { findings: readonly string[] };
  for (const name of names) {
    assert.ok(
      findings.some((finding) => finding.includes(name)),
      `${name} in ${findings.join("\n")}`,
    );
  }
}

async function untilSound(): Promise<void> {
  await waitFor(
    "everything to be sound",
    async () => {
      const { parts } = await getJson<ReadyBody>(`${url}/readyz`);
      return parts.every(({ state }) => state === "ok") ? true : undefined;
    },
    waitMs,
    () => coordinator.output.slice(-2_000),
  );
}

before(async () => {
  const setup = await runCli(["setup", "--data-dir", dataDir]);
  assert.equal(setup.code, 0, setup.stderr);
  await start("32MB");
  for (const table of tables.keys()) await makeTable(table);
  assert.equal((await sql(url, "CREATE TABLE old AS SELECT 1 AS n")).error, undefined);
  const file = join(dataDir, "rot.om");
  const perSeries = Map.groupBy(
    [...segments.keys()].reverse().flatMap(segmentSeries),
    ({ labels }) => labels.job,
  );
  const joined = [...perSeries.values()].map((pieces) => ({
    labels: pieces[0]?.labels ?? {},
    ts: Float64Array.from(pieces.flatMap(({ ts }) => [...ts])),
    values: Float64Array.from(pieces.flatMap(({ values }) => [...values])),
  }));
  writeFileSync(file, openMetricsText(joined));
  const imported = await runCli(["metrics", "import", file, "--url", url]);
  assert.equal(imported.code, 0, imported.stderr);
  await allRight(tables);
  await allRight(segments);
});
after(async () => {
  await stopEverything();
  removeDir(dataDir);
});

async function look(
  cell: string,
  ofTables: readonly BitFlip[],
  ofSegments: readonly BitFlip[],
): Promise<void> {
  const tableNames = ofTables.map(tableName);
  const segmentNames = ofSegments.map(segmentName);
  const flipped = [...ofTables, ...ofSegments];
  if (ofTables.length > 0) {
    const judged = await judge(tables, tableNames);
    assert.equal(judged.refused, ofTables.length, "a table's files are read by every statement");
    report("lake", cell, judged);
  }
  report("segments", cell, await judge(segments, segmentNames));
  await requireNamed(flipped, [...tableNames, ...segmentNames]);
  for (const flip of flipped) flip.mend();
  await untilSound();
  await allRight(tables);
  await allRight(segments);
}

test("[LK50, LK51, MS10, MU8] bits flip in tables and segments while it runs", limit, async () => {
  await look("while it runs", flipTables(), flipSegments());
});

test(
  "[LK52, MS5] files of tables and segments that are deleted while it runs are named as missing",
  limit,
  async () => {
    const [file = ""] = filesIn(join(lakeDir, "main", "t0"));
    const [segment = ""] = filesIn(join(lakeDir, "segments")).map(dirname);
    const places = [file, segment];
    for (const place of places) renameSync(place, `${place}-away`);
    await worker.stop(); // What it has open it reads on.
    await startWorker("32MB");
    const answers = await Promise.all([...tables, ...segments].map(({ ask }) => ask()));
    const refused = answers.flatMap((answer) => ("code" in answer ? [answer.message] : []));
    assert.equal(refused.length, 2, refused.join("\n"));
    assert.ok(refused.some((message) => message.includes(relative(lakeDir, file))));
    assert.ok(refused.some((message) => message.includes(`${basename(segment)} is missing`)));
    const reason = await waitFor(
      "missing files on /readyz",
      async () => {
        const { parts } = await getJson<ReadyBody>(`${url}/readyz`);
        return parts.find(({ name }) => name === "stored_data")?.reason;
      },
      waitMs,
    );
    assert.match(reason, /^a query met a file that is missing|^missing files \(\d\) of/);
    for (const place of places) renameSync(`${place}-away`, place);
    await untilSound();
    await allRight(tables);
    await allRight(segments);
  },
);

test("[LK50, LK51, MS10, MU8] bits flip in tables and segments before a start", limit, async () => {
  await worker.stop();
  await coordinator.stop();
  await requireUnverified();
  const flipped = [flipTables(), flipSegments()] as const;
  await start("1KB");
  await look("before a start", ...flipped);
  const { stored_files: files } = await getJson<StatusBody>(`${url}/api/v1/status`);
  assert.deepEqual(files, { damaged: 0, unverified: 0 });
  assert.deepEqual(await unverified(), { code: 0, unverified: 0 }, "upkeep gave it a checksum");
});

test("[MS10] bits flip in segments whose columns were evicted", limit, async () => {
  await allRight(segments); // Each made room for the next, in memory.
  const evicted = join(dataDir, "workers", "worker-1", "columns");
  const files = await waitFor("columns to be evicted to the disk", () => {
    const found = filesIn(evicted);
    return found.length > 0 ? found : undefined;
  });
  // From there as well, every other one; a copy that is left is damaged too.
  for (const [at, file] of files.entries()) {
    if (at % 2 === 0) rmSync(file);
    else flipBit(prng, [file]);
  }
  await look("after an eviction", [], flipSegments());
});

/**
 * The newest file, as an earlier version or another writer leaves one: the check says so, and it is
 * no fault.
 */
async function requireUnverified(): Promise<void> {
  const database = new DatabaseSync(join(dataDir, "store.sqlite"));
  database.exec(
    "DELETE FROM lake_file_checksums WHERE file_id = (SELECT max(file_id) FROM lake_file_checksums)",
  );
  database.close();
  assert.deepEqual(await unverified(), { code: 0, unverified: 1 });
}

async function unverified(): Promise<{ code: number | null; unverified: number }> {
  const { code, stdout } = await runCli(["lake", "check", "--json", "--data-dir", dataDir]);
  return { code, unverified: (JSON.parse(stdout) as { unverified: number }).unverified };
}

/** Samples of the log, and how many of them were acknowledged. */
let acknowledged = 0;
let lastMs = 0;

async function write(): Promise<void> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const series = { startMs: lastMs, stepMs: 1, count: 1 };
  const body = remoteWriteBody([dataSeries({ __name__: "rot_log" }, series, () => 1)]);
  const send = async (): Promise<true | undefined> =>
    (await remoteWrite(url, body)) === 204 ? true : undefined;
  await waitFor("a write", send, waitMs, () => coordinator.output.slice(-2_000));
  acknowledged += 1;
}

const logQuestion = (): Question => ({
  ask: () => promql("sum(count_over_time(rot_log[6h]))", lastMs + 1),
  right: JSON.stringify([String(acknowledged)]),
});

/**
 * Of the list that counts: which files there are, and how many bytes of each; `null`: all that
 * there are.
 */
function readList(): { readonly path: string; readonly files: ReadonlyMap<string, number | null> } {
  const walDir = join(lakeDir, "wal");
  const terms = readdirSync(walDir).flatMap((name) => /^term-(\d+)$/.exec(name)?.[1] ?? []);
  const path = join(walDir, `term-${Math.max(...terms.map(Number))}`);
  const [line = ""] = readFileSync(path, "utf8").split("\n");
  const { files } = JSON.parse(line) as { files: readonly [string, number | null, number][] };
  return { path, files: new Map(files.map(([name, bytes]) => [join(walDir, name), bytes])) };
}

/**
 * In a file of the log, in its list or in its name. What is behind the listed end of a file is no
 * part of the log.
 */
function flipLog(withList = true): BitFlip {
  const { path, files } = readList();
  const bytesOf = (file: string): number => files.get(file) ?? statSync(file).size;
  const lineage = join(dirname(path), "lineage");
  const all = [...files.keys(), lineage, ...(withList ? [path] : [])];
  return flipBit(
    prng,
    all.filter((file) => bytesOf(file) > 0),
    bytesOf,
  );
}

/**
 * Whoever reads the log next refuses it by name; or has lost nothing, and names it in what it
 * prints.
 */
async function lookAtLog({ path, bit, mend }: BitFlip, isAsked: boolean): Promise<boolean> {
  const name = basename(path);
  const what = `seed ${seed}: ${name} byte ${bit >> 3}: ${coordinator.output.slice(-2_000)}`;
  const owns = "this process owns the metrics head";
  const outcome = /the metrics head did not start: (?!.*lock)|this process owns the metrics head/;
  const opened = async (): Promise<string | undefined> => outcome.exec(coordinator.output)?.[0];
  const isRefused =
    (await waitFor("the log to be read", opened, waitMs, () => coordinator.output)) !== owns;
  if (!isRefused) {
    assert.ok(coordinator.output.includes(name), `nobody names ${what}`);
    mend();
  } else {
    const { parts } = (await (await fetch(`${url}/readyz`)).json()) as ReadyBody;
    const part = parts.find((each) => each.name === "metrics_log");
    assert.equal(part?.state, "failed", what);
    const [, from, bytes] =
      new RegExp(`damaged: ${name} at byte (\\d+), (\\d+) byte`).exec(part?.reason ?? "") ?? [];
    const isInside = bit >> 3 >= Number(from) && bit >> 3 < Number(from) + Number(bytes);
    assert.ok(isInside, `${part?.reason} is not ${what}`);
    if (isAsked) {
      await untilAnswering();
      const answer = await logQuestion().ask();
      assert.ok("message" in answer && /damaged/.test(answer.message), JSON.stringify(answer));
    }
    mend();
    const isMended = (): true | undefined => (coordinator.output.includes(owns) ? true : undefined);
    await waitFor("the mended log", isMended, waitMs, () => coordinator.output.slice(-2_000));
  }
  if (isAsked || !isRefused) {
    await untilAnswering();
    await allRight([logQuestion()]);
  }
  return isRefused;
}

/** `flip` flips a bit, and has somebody read the log anew. */
async function rotLog(cell: string, flip: (at: number) => Promise<BitFlip>): Promise<void> {
  let [right, refused] = [0, 0];
  for (let at = 0; at < logFlips; at += 1) {
    await write();
    const isRefused = await lookAtLog(await flip(at), at % 20 === 0);
    if (isRefused) refused += 1;
    else right += 1;
  }
  report("log", cell, { right, refused });
}

test(
  "[MH10, MH11] bits flip in the log while it runs, and are found at the next start",
  limit,
  async () => {
    await rotLog("while it runs", async () => {
      const flip = flipLog();
      await untilAnswering();
      await allRight([logQuestion()]); // Of memory.
      coordinator.kill("SIGKILL");
      await coordinator.exited;
      await startCoordinator();
      return flip;
    });
  },
);

test("[MH10, MH11] bits flip in the log before a start", limit, async () => {
  await rotLog("before a start", async () => {
    await coordinator.stop();
    const flip = flipLog();
    await startCoordinator();
    return flip;
  });
});

test(
  "[MH10, MH11] bits flip in the log, and its owner is evicted by a standby",
  limit,
  async () => {
    await rotLog("after an eviction", async (at) => {
      const leader = coordinator;
      await startCoordinator(`standby-${at}`);
      const flip = flipLog(false); // An owner that ends writes its list anew.
      await leader.stop();
      return flip;
    });
  },
);
