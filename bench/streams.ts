/**
 * Continuous queries: Nexmark's from CSV files, each beside DuckDB's answer of the same question
 * over the same files in one batch with one thread. Rates are per CPU second of all threads, the
 * best of three runs; the rows of both are compared. Parts, for `--only`:
 *
 *   q0, q1, …    one query
 *   memory       q5 from a Generator source: the peak of memory of a long run beside a short one
 *   slices       a window of 300 advances beside one of 5, over the same keys
 *   processes    q5 over two processes with a file each, beside one process
 *   keyed        grouping and the hash join alone, in memory, beside a Map and DuckDB
 *   latency      from a row read to its result written, at 50,000 events a second
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchOptions, checkPart, type Report } from "./report.ts";
import { DuckdbAnswers } from "./streams/duckdb-answers.ts";
import { FlinkAnswers } from "./streams/flink/flink-answers.ts";
import { benchMemory, benchSlices } from "./streams/generated-runs.ts";
import { benchKeyedLoops } from "./streams/keyed-loops.ts";
import { benchLatency } from "./streams/latency.ts";
import { MemoryEvents } from "./streams/memory-events.ts";
import { countOf, writeNexmarkFiles } from "./streams/nexmark-events.ts";
import { type NexmarkQuery, nexmarkQueries, streamTables } from "./streams/nexmark-queries.ts";
import { openSideTable, type SideTable } from "./streams/side-table.ts";
import { runStream, type StreamRun } from "./streams/stream-run.ts";
import { benchTwoProcesses } from "./streams/two-processes.ts";
import type { Spent } from "./tables/lake-world.ts";

const repetitions = 3;
const otherParts: readonly string[] = ["memory", "slices", "processes", "keyed", "latency"];
/** The least share of DuckDB's rate. */
const ratioGoal = 0.7;

export async function benchStreams(options: BenchOptions, report: Report): Promise<void> {
  checkPart(options, [...nexmarkQueries.map(({ name }) => name), ...otherParts]);
  const { only, longEvents } = options;
  report.say(`streams: load average ${loadavg()[0]?.toFixed(1)}`);
  if (only === undefined || !otherParts.includes(only)) await benchQueries(options, report);
  if (only === undefined || only === "memory") await benchMemory(longEvents, report);
  if (only === undefined || only === "slices") await benchSlices(report);
  if (only === undefined || only === "processes") {
    await inDirectory(options, (dir) => benchTwoProcesses(dir, options.events, report));
  }
  if (only === undefined || only === "keyed") {
    await inDirectory(options, (dir) => benchKeyedLoops(dir, report));
  }
  if (only === undefined || only === "latency") await benchLatency(report);
}

/** The directory that the user named, or one for this run alone. */
async function inDirectory(
  { dir }: BenchOptions,
  use: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = dir ?? mkdtempSync(join(tmpdir(), "capstan-streams-"));
  mkdirSync(directory, { recursive: true });
  try {
    await use(directory);
  } finally {
    if (dir === undefined) rmSync(directory, { recursive: true, force: true });
  }
}

function benchQueries(options: BenchOptions, report: Report): Promise<void> {
  const { events, only } = options;
  return inDirectory(options, async (directory) => {
    report.say(`streams: ${events} events of Nexmark`);
    const files = writeNexmarkFiles(directory, events);
    const duckdb = await DuckdbAnswers.open(files);
    const flink = FlinkAnswers.open(files);
    if (flink === undefined) report.say("streams: no Flink ($CAPSTAN_FLINK); DuckDB alone");
    const statements = streamTables(files);
    const resultPath = join(directory, "result.csv");
    try {
      for (const query of nexmarkQueries) {
        if (only !== undefined && only !== query.name) continue;
        // One query's events at a time, so that those of all are not in memory.
        const memory = new MemoryEvents();
        const side = query.joinsLake === true ? await openSideTable() : undefined;
        try {
          await compare({
            ...{ query, statements, resultPath, duckdb, flink, memory, side, events, report },
          });
        } finally {
          await side?.close();
        }
      }
    } finally {
      duckdb.close();
      flink?.close();
      rmSync(resultPath, { force: true });
    }
  });
}

interface Comparison {
  readonly query: NexmarkQuery;
  readonly statements: string;
  readonly resultPath: string;
  readonly duckdb: DuckdbAnswers;
  readonly flink: FlinkAnswers | undefined;
  readonly memory: MemoryEvents;
  readonly side: SideTable | undefined;
  readonly events: number;
  readonly report: Report;
}

async function compare(comparison: Comparison): Promise<void> {
  const { query, statements, resultPath, duckdb, memory, side, events, report } = comparison;
  const { name, stream, reads, goal } = query;
  const file = `File('${resultPath}' AS "SINK".FILE_PATH, 'CSV' AS "SINK".OUTPUT_FORMAT)`;
  const checked = query.virtualClock === true ? { memory, side } : { side };
  const written = await runStream(`${statements}\n${stream} INTO ${file};`, checked);
  report.check(`${name}_rows`, await duckdb.differences(query, resultPath));
  const flink = await checkedFlink(comparison);
  const ours: Spent[] = [];
  const theirs: Spent[] = [];
  const flinks: Pick<Spent, "cpuMs">[] = [];
  const fromMemory: StreamRun[] = [];
  for (let round = 0; round < repetitions; round += 1) {
    ours.push(await runStream(`${statements}\n${stream} INTO Void();`, { side }));
    theirs.push(await duckdb.run(query));
    if (flink !== undefined) flinks.push(await flink.run(query));
    fromMemory.push(await runStream(`${statements}\n${stream} INTO Void();`, { memory, side }));
  }
  const differing = fromMemory.find(({ rowsOut }) => rowsOut !== written.rowsOut);
  report.check(
    `${name}_rows_from_memory`,
    differing && `${differing.rowsOut} rows from memory, ${written.rowsOut} from the files`,
  );
  const count = reads.reduce((sum, source) => sum + countOf(source, events), 0);
  const rate = (runs: readonly Pick<Spent, "cpuMs">[]): number =>
    count / 1_000 / Math.min(...runs.map(({ cpuMs }) => cpuMs));
  const [rateOfOurs, rateOfTheirs] = [rate(ours), rate(theirs)];
  report.figure(
    name,
    {
      ...(goal === undefined ? {} : { million_per_cpu_s: { value: rateOfOurs, atLeast: goal } }),
      ratio: { value: rateOfOurs / rateOfTheirs, atLeast: ratioGoal },
    },
    {
      events: count,
      rows_out: written.rowsOut,
      ...(goal === undefined ? { million_per_cpu_s: rateOfOurs } : {}),
      cpu_ms: ours.map(({ cpuMs }) => cpuMs),
      memory_million_per_cpu_s: rate(fromMemory),
      duckdb_million_per_cpu_s: rateOfTheirs,
      duckdb_cpu_ms: theirs.map(({ cpuMs }) => cpuMs),
      ...(flink === undefined ? {} : { flink_million_per_cpu_s: rate(flinks) }),
      load: loadavg()[0],
    },
  );
}

/** Flink, if it is there and knows the query, after its rows were compared with DuckDB's. */
async function checkedFlink({
  query,
  resultPath,
  duckdb,
  flink,
  report,
}: Comparison): Promise<FlinkAnswers | undefined> {
  if (flink?.knows(query) !== true) return undefined;
  const directory = `${resultPath}.flink`;
  try {
    await flink.write(query, directory);
    report.check(`${query.name}_rows_of_flink`, await duckdb.differences(query, `${directory}/*`));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return flink;
}
