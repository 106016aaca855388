/**
 * What comes from a Generator source in memory, without files and parsers: whether the memory of
 * q5 grows with the length of a run, and what a window of many slices costs beside one of few.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { loadavg } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
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
}

/** The CPU time that a tenth of the events took. */
interface Tenth {
  readonly tenth: number;
  readonly cpuMs: number;
}

/** q5 in a process of its own, whose peak of memory nothing else has a part in. */
class LoneRun {
  readonly tenths: number[] = [];
  readonly ended: Promise<ProcessRun>;
  readonly #child: ChildProcess;
  readonly #waiting: (() => void)[] = [];

  constructor(events: number) {
    const self = fileURLToPath(import.meta.url);
    const child = spawn(process.execPath, [self, `${events}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.ended = this.#read(child, events);
    this.ended.catch(() => undefined); // Whoever waits for it is told.
  }

  /** Resolves when so many tenths are done. */
  async reached(tenths: number): Promise<void> {
    while (this.tenths.length < tenths) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      const early = this.ended.then(() => {
        throw new Error(`a run ended before ${tenths} tenths of it were done`);
      });
      await Promise.race([promise, early]);
    }
  }

  send(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    this.#child.kill(signal);
  }

  async #read(child: ChildProcess, events: number): Promise<ProcessRun> {
    let last: ProcessRun | undefined;
    for await (const line of createInterface({ input: child.stdout as Readable })) {
      const told = JSON.parse(line) as Tenth | ProcessRun;
      if ("tenth" in told) this.tenths.push(told.cpuMs);
      else last = told;
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
    if (last === undefined) throw new Error(`a run of ${events} events failed`);
    return last;
  }
}

/**
 * `events` is the length of the longer run. The machine is not the same in its last tenth as it was
 * in its second, so its last tenth stands beside the second tenth of another such run, at the same
 * time: the longer run waits before its last tenth until the other has done its first.
 */
export async function benchMemory(events: number, report: Report): Promise<void> {
  const short = await new LoneRun(shortEvents).ended;
  const old = new LoneRun(events);
  await old.reached(9);
  old.send("SIGSTOP");
  const young = new LoneRun(events);
  await young.reached(1);
  old.send("SIGCONT");
  const [long] = await Promise.all([old.ended, young.reached(2)]);
  young.send("SIGKILL");
  await young.ended.catch(() => undefined);
  report.figure(
    "q5_memory",
    { ratio: { value: long.peakBytes / short.peakBytes, atMost: memoryRatioGoal } },
    {
      events: [shortEvents, events],
      peak_mb: [short.peakBytes / 1e6, long.peakBytes / 1e6],
      million_per_cpu_s: [shortEvents / short.cpuMs / 1_000, events / long.cpuMs / 1_000],
      load: loadavg()[0],
    },
  );
  const { tenths } = old;
  const [second = Number.NaN, last = Number.NaN] = [tenths[1], tenths.at(-1)];
  const youngSecond = young.tenths[1] ?? Number.NaN;
  report.figure(
    "q5_last_tenth",
    { ratio: { value: last / youngSecond, atMost: lastTenthGoal } },
    {
      events,
      cpu_ms_last: last,
      cpu_ms_second_at_the_same_time: youngSecond,
      ratio_within_one_run: last / second,
      tenths_cpu_ms: tenths,
      load: loadavg()[0],
    },
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

if (process.argv[1] === fileURLToPath(import.meta.url)) await runWatched(Number(process.argv[2]));

/** Tells each tenth when it is done, and at the end what the whole took. */
async function runWatched(events: number): Promise<void> {
  const tell = (told: Tenth | ProcessRun): void => {
    process.stdout.write(`${JSON.stringify(told)}\n`);
  };
  const query = openQuery(hotItems(events));
  await query.open();
  const usage = process.cpuUsage();
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage(usage);
    return (user + system) / 1_000;
  };
  let tenth = 0;
  let toldMs = 0;
  let before = { rows: 0, cpuMs: 0 };
  const look = async (): Promise<void> => {
    const { sources } = await query.progress();
    const now = { rows: sources.reduce((sum, { rows }) => sum + rows, 0), cpuMs: cpuMs() };
    for (; tenth < 10; tenth += 1) {
      const rows = (events / 10) * (tenth + 1);
      if (now.rows < rows) break;
      const share = (rows - before.rows) / (now.rows - before.rows);
      const doneMs = before.cpuMs + share * (now.cpuMs - before.cpuMs);
      tell({ tenth: tenth + 1, cpuMs: doneMs - toldMs });
      toldMs = doneMs;
    }
    before = now;
  };
  const timer = setInterval(() => void look(), lookMs);
  await query.run();
  clearInterval(timer);
  await look();
  tell({ peakBytes: process.resourceUsage().maxRSS * 1_024, cpuMs: cpuMs() });
}
