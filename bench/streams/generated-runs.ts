/**
 * What comes from a Generator source in memory, without files and parsers: whether the memory of
 * q5 grows with the length of a run, and what a window of many slices costs beside one of few.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Report } from "../report.ts";
import { openQuery, runStream } from "./stream-run.ts";

const shortEvents = 10_000_000;
const memoryRatioGoal = 1.1;
const lastTenthGoal = 1.1;
const slicesRatioGoal = 2;
const lookMs = 20;
const slicesEvents = 3_000_000;
const repetitions = 3;

/** One event a millisecond; ids are uniform. */
function generated(events: number, ids: number): string {
  const schema = `SEQUENCE UINT64 0 ${events} 1, RANDOM INT64 0 ${ids}`;
  return `CREATE LOGICAL SOURCE made(date_time UINT64 NOT NULL, auction INT64 NOT NULL);
CREATE PHYSICAL SOURCE FOR made TYPE Generator SET('${schema}' AS "SOURCE".GENERATOR_SCHEMA);`;
}

/** As many events in a window as Nexmark's q5 has. */
function hotItems(events: number): string {
  const counts = `SELECT auction, COUNT(*) AS num, start FROM made
    GROUP BY auction WINDOW SLIDING(date_time, SIZE 100 SEC, ADVANCE BY 20 SEC)`;
  return `${generated(events, 10_000)}
    SELECT auction, num, opened FROM (SELECT auction, num, start AS opened FROM (${counts}))
    INNER JOIN (SELECT most, start AS top_start FROM (
      SELECT MAX(num) AS most, start FROM (${counts}) WINDOW TUMBLING(start, SIZE 20 SEC)))
    ON num = most WINDOW TUMBLING(opened, top_start, SIZE 20 SEC) INTO Void();`;
}

interface ProcessRun {
  readonly peakBytes: number;
  readonly cpuMs: number;
  /** The CPU time that had passed when each tenth of the events was read. */
  readonly tenthsCpuMs: readonly number[];
}

/** Runs q5 in a process of its own, whose peak of memory nothing else has a part in. */
function runAlone(events: number): ProcessRun {
  const self = fileURLToPath(import.meta.url);
  const { stdout, stderr, status } = spawnSync(process.execPath, [self, `${events}`], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`a run of ${events} events failed: ${stderr}`);
  return JSON.parse(stdout) as ProcessRun;
}

/** `events` is the length of the longer run. */
export function benchMemory(events: number, report: Report): void {
  const short = runAlone(shortEvents);
  const long = runAlone(events);
  report.figure(
    "q5_memory",
    { ratio: { value: long.peakBytes / short.peakBytes, atMost: memoryRatioGoal } },
    {
      events: [shortEvents, events],
      peak_mb: [short.peakBytes / 1e6, long.peakBytes / 1e6],
      million_per_cpu_s: [shortEvents / short.cpuMs / 1_000, events / long.cpuMs / 1_000],
    },
  );
  const tenths = long.tenthsCpuMs.map((cpuMs, i) => cpuMs - (long.tenthsCpuMs[i - 1] ?? 0));
  const [second = Number.NaN, last = Number.NaN] = [tenths[1], tenths.at(-1)];
  report.figure(
    "q5_last_tenth",
    { ratio: { value: last / second, atMost: lastTenthGoal } },
    { events, tenths_cpu_ms: tenths },
  );
}

export async function benchSlices(report: Report): Promise<void> {
  const cpuMs = async (advances: number): Promise<number> => {
    const spent: number[] = [];
    for (let round = 0; round < repetitions; round += 1) {
      const run = await runStream(`${generated(slicesEvents, 1_000)}
        SELECT auction, COUNT(*) AS num, MAX(date_time) AS last FROM made GROUP BY auction
        WINDOW SLIDING(date_time, SIZE ${advances} SEC, ADVANCE BY 1 SEC) INTO Void();`);
      spent.push(run.cpuMs);
    }
    return Math.min(...spent);
  };
  const [few, many] = [await cpuMs(5), await cpuMs(300)];
  report.figure(
    "window_of_300_advances",
    { ratio: { value: many / few, atMost: slicesRatioGoal } },
    { events: slicesEvents, cpu_ms_5: few, cpu_ms_300: many },
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(JSON.stringify(await runWatched(Number(process.argv[2]))));
}

async function runWatched(events: number): Promise<ProcessRun> {
  const query = openQuery(hotItems(events));
  await query.open();
  const usage = process.cpuUsage();
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage(usage);
    return (user + system) / 1_000;
  };
  const tenthsCpuMs: number[] = [];
  let before = { rows: 0, cpuMs: 0 };
  const look = async (): Promise<void> => {
    const { sources } = await query.progress();
    const now = { rows: sources.reduce((sum, { rows }) => sum + rows, 0), cpuMs: cpuMs() };
    while (tenthsCpuMs.length < 10) {
      const rows = (events / 10) * (tenthsCpuMs.length + 1);
      if (now.rows < rows) break;
      const share = (rows - before.rows) / (now.rows - before.rows);
      tenthsCpuMs.push(before.cpuMs + share * (now.cpuMs - before.cpuMs));
    }
    before = now;
  };
  const timer = setInterval(() => void look(), lookMs);
  await query.run();
  clearInterval(timer);
  await look();
  const peakBytes = process.resourceUsage().maxRSS * 1_024;
  return { peakBytes, cpuMs: cpuMs(), tenthsCpuMs };
}
