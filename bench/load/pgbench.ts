/**
 * pgbench as a peer: its two built-in scripts on Capstan's tables, closed loop or at a rate, and
 * what it spends in CPU time.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { percentile } from "../report.ts";

export interface Cell {
  readonly workload: "select" | "tpcb";
  readonly connections: number;
  /** Executions in flight on a connection; pgbench has `\startpipeline` for it. */
  readonly depth: number;
}

export interface RateFigures {
  readonly perSecond: number;
  /** The client's CPU time for one operation. */
  readonly cpuMicroseconds: number;
}

export interface LatencyFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface PgbenchOptions {
  readonly url: string;
  readonly scale: number;
  /** The prefix of the tables' names. */
  readonly tables: "pgbench" | "tpcb";
  readonly seconds: number;
  readonly seed: number;
}

const program = process.env.PGBENCH_BIN ?? "pgbench";
/** The same number as Capstan's workers. */
const threads = 2;

/** Undefined when pgbench is not on the PATH. */
export function pgbenchVersion(): string | undefined {
  const said = spawnSync(program, ["--version"], { encoding: "utf8" });
  return said.status === 0 ? said.stdout.trim() : undefined;
}

/** pgbench's own tables. */
export function makePgbenchTables(url: string, scale: number): void {
  const done = spawnSync(program, ["-i", "-q", "-s", `${scale}`, url], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`pgbench -i: ${done.stderr}`);
}

export async function pgbenchRate(cell: Cell, options: PgbenchOptions): Promise<RateFigures> {
  return await inDirectory(async (dir) => {
    const { said, cpuSeconds } = await run(dir, cell, options, []);
    const each = cell.workload === "select" ? cell.depth : 1;
    const count = Number(/actually processed: (\d+)/.exec(said)?.[1]) * each;
    const perSecond = Number(/^tps = ([\d.]+)/m.exec(said)?.[1]) * each;
    return { perSecond, cpuMicroseconds: (cpuSeconds * 1e6) / count };
  });
}

/** With `-R rate`: measured from the moment that each transaction was due. */
export async function pgbenchLatency(
  cell: Cell,
  rate: number,
  options: PgbenchOptions,
): Promise<LatencyFigures> {
  return await inDirectory(async (dir) => {
    await run(dir, cell, options, ["-R", `${rate}`, "-l", `--log-prefix=${join(dir, "log")}`]);
    const logs = readdirSync(dir).filter((name) => name.startsWith("log"));
    const milliseconds = logs
      .flatMap((name) => readFileSync(join(dir, name), "utf8").trimEnd().split("\n"))
      .map((line) => Number(line.split(" ")[2]) / 1000)
      .sort((left, right) => left - right);
    return { p50Ms: percentile(milliseconds, 0.5), p99Ms: percentile(milliseconds, 0.99) };
  });
}

async function run(
  dir: string,
  cell: Cell,
  { url, scale, tables, seconds, seed }: PgbenchOptions,
  more: readonly string[],
): Promise<{ readonly said: string; readonly cpuSeconds: number }> {
  const { hostname, port, username, pathname } = new URL(url);
  const script = join(dir, "script.sql");
  writeFileSync(script, scriptOf(cell, tables));
  const cpuFile = join(dir, "cpu");
  const child = spawn(
    "/usr/bin/time",
    [
      ...["-f", "%U %S", "-o", cpuFile, program],
      ...["-M", "prepared", "-n", "-D", `scale=${scale}`, `--random-seed=${seed}`],
      ...["-c", `${cell.connections}`, "-j", `${threads}`, "-T", `${seconds}`, "-f", script],
      ...more,
      ...["-h", hostname, "-p", port, "-U", username, pathname.slice(1)],
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`pgbench ended with ${code}: ${said}`);
  const [user = 0, system = 0] = readFileSync(cpuFile, "utf8").trim().split(" ").map(Number);
  return { said, cpuSeconds: user + system };
}

/** A pipeline of pgbench has one Sync at its end. */
function scriptOf({ workload, depth }: Cell, tables: PgbenchOptions["tables"]): string {
  const select = `\\set aid random(1, 100000 * :scale)
SELECT abalance FROM ${tables}_accounts WHERE aid = :aid;
`;
  const sets = `\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
`;
  const tpcb = `BEGIN;
UPDATE ${tables}_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM ${tables}_accounts WHERE aid = :aid;
UPDATE ${tables}_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE ${tables}_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO ${tables}_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
`;
  if (workload === "select") {
    return depth === 1 ? select : `\\startpipeline\n${select.repeat(depth)}\\endpipeline\n`;
  }
  return depth === 1 ? `${sets}${tpcb}` : `${sets}\\startpipeline\n${tpcb}\\endpipeline\n`;
}

async function inDirectory<T>(body: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-pgbench-"));
  try {
    return await body(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
