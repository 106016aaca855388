/**
 * How much of pgbench's rate the Postgres client alone reaches: `node bench/load/postgres-client.ts`.
 *
 * Closed loops with seeded random keys, in as many processes as pgbench has threads, by turns with pgbench on the same
 * server. Each line is one JSON figure: the medians of both, the median of the pairs' ratios, and what either spends in
 * CPU time for a query. Only ratios mean something: whoever else uses the machine slows both.
 */
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "../../src/store/testing/embedded-postgres.ts";
import type { ClientOrder, ClientResult } from "./postgres-client-process.ts";

const processCount = 2;
const pgbench = process.env.PGBENCH_BIN ?? "pgbench";

interface Cell {
  readonly workload: "select" | "tpcb";
  readonly connections: number;
  readonly depth: number;
}

interface Figures {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
    scale: { type: "string", default: "16" },
    workload: { type: "string" },
    connections: { type: "string", default: "8,16" },
    depth: { type: "string", default: "1,8" },
    "exec-argv": { type: "string" },
  },
});
const seconds = Number(options.seconds);
const scale = Number(options.scale);

async function compare(url: string, cell: Cell): Promise<void> {
  const ours: Figures[] = [];
  const theirs: Figures[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    ours.push(await runClient(url, cell, round));
    theirs.push(await runPgbench(url, cell, round));
  }
  const ratios = ours.map(({ perSecond }, at) => perSecond / (theirs[at] as Figures).perSecond);
  print({
    bench: "postgres-client",
    ...cell,
    clientPerSecond: Math.round(median(ours.map(({ perSecond }) => perSecond))),
    pgbenchPerSecond: Math.round(median(theirs.map(({ perSecond }) => perSecond))),
    ratio: rounded(median(ratios)),
    ratios: ratios.map(rounded),
    clientCpuMicroseconds: rounded(median(ours.map(({ cpuMicroseconds }) => cpuMicroseconds))),
    pgbenchCpuMicroseconds: rounded(median(theirs.map(({ cpuMicroseconds }) => cpuMicroseconds))),
    load: loadavg().map(rounded),
  });
}

async function runClient(url: string, cell: Cell, round: number): Promise<Figures> {
  const script = join(import.meta.dirname, "postgres-client-process.ts");
  const execArgv = options["exec-argv"]?.split(" ") ?? [];
  const children: ChildProcess[] = [];
  for (let index = 0; index < processCount; index += 1) {
    const child = fork(script, { execArgv });
    const order: ClientOrder = {
      url,
      workload: cell.workload,
      connections: cell.connections / processCount,
      depth: cell.depth,
      seconds,
      warmupCount: cell.workload === "select" ? 30_000 : 3000,
      scale,
      seed: `${round}-${index}`,
    };
    child.send(order);
    children.push(child);
  }
  await Promise.all(children.map((child) => once(child, "message"))); // They are warm.
  const results = children.map(async (child) => {
    child.send("go");
    const [result] = (await once(child, "message")) as [ClientResult];
    await once(child, "exit");
    return result;
  });
  return summed(await Promise.all(results));
}

function summed(results: readonly ClientResult[]): Figures {
  const count = results.reduce((sum, result) => sum + result.count, 0);
  const cpu = results.reduce((sum, result) => sum + result.cpuMicroseconds, 0);
  const perSecond = results.reduce((sum, result) => sum + result.count / result.seconds, 0);
  return { perSecond, cpuMicroseconds: cpu / count };
}

const selectScript = `\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
`;
const tpcbSets = `\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
`;
const tpcbScript = `BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
`;

/** A pipeline of pgbench's has one Sync at its end, ours has one for each execution. */
function pgbenchScript({ workload, depth }: Cell): string {
  const one = workload === "select" ? selectScript : tpcbScript;
  const sets = workload === "select" ? "" : tpcbSets;
  if (depth === 1) return `${sets}${one}`;
  const body = workload === "select" ? one.repeat(depth) : one;
  return `${sets}\\startpipeline\n${body}\\endpipeline\n`;
}

async function runPgbench(url: string, cell: Cell, round: number): Promise<Figures> {
  const { hostname, port, username, pathname } = new URL(url);
  const script = join(scripts, "script.sql");
  writeFileSync(script, pgbenchScript(cell));
  const cpuFile = join(scripts, "cpu");
  const child = spawn(
    "/usr/bin/time",
    [
      ...["-f", "%U %S", "-o", cpuFile, pgbench],
      ...["-M", "prepared", "-n", "-D", `scale=${scale}`, `--random-seed=${round + 1}`],
      ...["-c", `${cell.connections}`, "-j", `${processCount}`, "-T", `${seconds}`, "-f", script],
      ...["-h", hostname, "-p", port, "-U", username, pathname.slice(1)],
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await once(child, "close");
  const tps = Number(/^tps = ([\d.]+)/m.exec(said)?.[1]);
  const count = Number(/actually processed: (\d+)/.exec(said)?.[1]);
  const each = cell.workload === "select" ? cell.depth : 1;
  const [user, system] = readFileSync(cpuFile, "utf8").trim().split(" ").map(Number);
  const cpu = ((user ?? 0) + (system ?? 0)) * 1e6;
  return { perSecond: tps * each, cpuMicroseconds: cpu / (count * each) };
}

function prepareData(url: string): void {
  const done = spawnSync(pgbench, ["-i", "-q", "-s", `${scale}`, url], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`pgbench -i: ${done.stderr}`);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const postgres = await startEmbeddedPostgres(["shared_buffers=512MB", "max_wal_size=4GB"]);
const scripts = mkdtempSync(join(tmpdir(), "capstan-pgbench-"));
try {
  const url = await postgres.createDatabase();
  prepareData(url);
  for (const workload of ["select", "tpcb"] as const) {
    if (options.workload !== undefined && options.workload !== workload) continue;
    for (const connections of options.connections.split(",").map(Number)) {
      for (const depth of options.depth.split(",").map(Number)) {
        await compare(url, { workload, connections, depth });
      }
    }
  }
} finally {
  rmSync(scripts, { recursive: true });
  await postgres.stop();
}
