/** `capstan stream run FILE`: the queries of a file, in this process, to their end. */
import { dirname, join, resolve } from "node:path";
import { formatBytes, formatCount, processTerminal } from "../../../../ground/command/index.ts";
import { type Clock, repeat } from "../../../../ground/kernel/clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { MemoryBudget, machine } from "../../../../ground/process/index.ts";
import { defaultDialect, type Plan, translateDialectError } from "../../language/core/index.ts";
import type { QueryProgress } from "../core/progress.ts";
import { usesLake } from "../core/uses-lake.ts";
import { StreamPool } from "../host/stream-pool.ts";
import { fragmentLake } from "../lake/answer-calls.ts";
import type { FragmentLake } from "../lake/fragment-lake.ts";
import {
  type OpenedStreamLake,
  openStreamLake,
  type StreamLakeOptions,
} from "../lake/open-stream-lake.ts";
import { checkpointPlace } from "../local/checkpoint-place.ts";
import { createLocalConnectors, type LocalPlaces } from "../local/local-connectors.ts";
import { LocalQuery } from "../local/local-query.ts";
import { planFile } from "../local/plan-file.ts";
import { readStatements } from "./read-statements.ts";

export interface StreamRunOptions extends StreamLakeOptions {
  readonly checkpoint?: string;
  readonly parallelism?: number;
  readonly json?: boolean;
}

interface RunningQuery {
  readonly name: string;
  readonly query: LocalQuery;
}

const progressMs = 1_000;

/** Returns whether the queries ran to their end by themselves. */
export async function runStreams(
  file: string,
  options: StreamRunOptions,
  clock: Clock,
  interrupted: AbortSignal,
): Promise<boolean> {
  const terminal = processTerminal();
  const text = await readStatements(file);
  const running: RunningQuery[] = [];
  const startMs = clock.nowMs();
  let pool: StreamPool | undefined;
  let opened: OpenedStreamLake | undefined;
  try {
    if (usesLake(text)) opened = await openStreamLake(options, clock);
    const lake = opened?.lake;
    const own = lake === undefined ? undefined : fragmentLake(lake);
    const folder = file === "-" ? process.cwd() : dirname(resolve(file));
    const places = {
      sourceDir: folder,
      sinkDir: folder,
      print: (_sink: string, rows: string) => written(rows),
      tell: (text: string) => terminal.err(`${text}\n`),
    };
    const connectors = createLocalConnectors({ ...places, ...(own && { lake: own }) });
    if (options.checkpoint !== undefined) opened?.refuseInside(options.checkpoint);
    await opened?.claim();
    const tables = await opened?.tables();
    const explained = (answer: string): void => terminal.out(`${answer}\n`);
    const planned = planFile(text, defaultDialect, { explained, tables }).map(({ name, plan }) => ({
      name,
      plan: withParallelism(plan, options.parallelism),
    }));
    const most = Math.max(0, ...planned.map(({ plan }) => plan.settings.parallelism));
    if (most > 1) pool = openPool(most, places, own, clock);
    for (const { name, plan } of planned) {
      const root = options.checkpoint;
      const directory = root === undefined ? undefined : join(root, name);
      const place = { name, plan, directory, files: realFiles, lake };
      const isPooled = plan.settings.parallelism > 1;
      const query = new LocalQuery({
        plan,
        connectors,
        clock,
        ...(pool !== undefined && isPooled && { host: { host: pool, name } }),
        ...(await checkpointPlace(place)),
      });
      running.push({ name, query });
      await query.open();
      const from = query.checkpoint;
      if (from !== undefined) terminal.err(`${name}: goes on from checkpoint ${from}\n`);
    }
    if (running.length === 0) terminal.err("nothing to run: there is no SELECT … INTO\n");
    const drain = (): void => {
      for (const { query } of running) query.drain();
    };
    interrupted.addEventListener("abort", drain, { once: true });
    const ticking = repeat(clock, progressMs, () => {
      void report(running, clock.nowMs() - startMs, options);
    });
    try {
      await Promise.all(running.map(({ query }) => query.run()));
    } finally {
      ticking.cancel();
      interrupted.removeEventListener("abort", drain);
    }
  } catch (thrown) {
    await Promise.allSettled(running.map(({ query }) => query.close()));
    await pool?.close();
    throw translateDialectError(thrown);
  } finally {
    await opened?.close();
  }
  await report(running, clock.nowMs() - startMs, options);
  await pool?.close();
  for (const { name, query } of running) {
    const { malformedTexts } = await query.progress();
    for (const each of malformedTexts) terminal.err(`${name}: malformed record: ${each}\n`);
  }
  return !interrupted.aborted;
}

function withParallelism(plan: Plan, parallelism: number | undefined): Plan {
  return parallelism === undefined
    ? plan
    : { ...plan, settings: { ...plan.settings, parallelism } };
}

/** Threads for queries whose stages have several instances, at most one for each core. */
function openPool(
  instances: number,
  { sourceDir, sinkDir, print, tell = () => undefined }: LocalPlaces,
  lake: FragmentLake | undefined,
  clock: Clock,
): StreamPool {
  const budget = new MemoryBudget(Number.MAX_SAFE_INTEGER);
  return new StreamPool({
    threads: Math.min(instances, machine().cores),
    clock,
    places: { sourceDir, sinkDir },
    print,
    tell,
    memory: { budget, bytesMax: budget.bytesMax },
    ...(lake && { lake }),
  });
}

/** Waits for a reader of standard output that is slower than the query. */
function written(text: string): Promise<void> | undefined {
  if (process.stdout.write(text)) return undefined;
  return new Promise((resolve) => process.stdout.once("drain", () => resolve()));
}

async function report(
  running: readonly RunningQuery[],
  elapsedMs: number,
  { json }: StreamRunOptions,
): Promise<void> {
  const terminal = processTerminal();
  for (const { name, query } of running) {
    const progress = await query.progress();
    if (json === true) {
      terminal.err(
        `${JSON.stringify({ query: name, elapsed_ms: Math.round(elapsedMs), ...shown(progress) })}\n`,
      );
    } else terminal.err(`${name}: ${sentence(progress, elapsedMs)}\n`);
  }
}

function shown(progress: QueryProgress): object {
  const { sources, rowsOut, lateRows, stateBytes, watermark } = progress;
  const sum = (pick: (source: (typeof sources)[number]) => number): number =>
    sources.reduce((total, source) => total + pick(source), 0);
  return {
    rows_in: sum(({ rows }) => rows),
    bytes_in: sum(({ bytes }) => bytes),
    rows_out: rowsOut,
    late: lateRows,
    malformed: sum(({ malformed }) => malformed),
    state_bytes: stateBytes,
    // In milliseconds; a text, since a 64-bit integer may be no number of JSON.
    ...(watermark === undefined ? {} : { watermark: `${watermark}` }),
  };
}

function sentence(progress: QueryProgress, elapsedMs: number): string {
  const rows = progress.sources.reduce((sum, source) => sum + source.rows, 0);
  const malformed = progress.sources.reduce((sum, source) => sum + source.malformed, 0);
  const rate = elapsedMs === 0 ? 0 : Math.round((rows / elapsedMs) * 1_000);
  return [
    `${formatCount(rows, "row")} in (${rate.toLocaleString("en-US")}/s)`,
    `${formatCount(progress.rowsOut, "row")} out`,
    `state ${formatBytes(progress.stateBytes)}`,
    ...(progress.watermark === undefined ? [] : [`time ${timeText(progress.watermark)}`]),
    ...(progress.lateRows > 0 ? [`${formatCount(progress.lateRows, "row")} late`] : []),
    ...(malformed > 0 ? [`${formatCount(malformed, "record")} malformed`] : []),
  ].join(", ");
}

/** An event time as a date, where it may be one: in this era and not at its very beginning. */
function timeText(ms: bigint): string {
  const isDate = ms >= 100_000_000_000n && ms < 253_402_300_800_000n;
  return isDate ? new Date(Number(ms)).toISOString() : `${ms} ms`;
}
