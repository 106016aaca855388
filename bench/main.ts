/**
 * `npm run bench -- NAME [options]`: runs one bench. A bench prints what it does as text and its
 * figures as one JSON line each (`{"bench":…,"metric":…}`); the last line is `bench NAME: ok` or
 * `bench NAME: N goals missed`.
 */
import { parseArgs } from "node:util";
import { benchAssign } from "./assign.ts";
import { benchCoordinator } from "./coordinator.ts";
import { benchFailover } from "./failover.ts";
import { benchLibraries } from "./libraries.ts";
import { benchLoad } from "./load.ts";
import { benchPromql } from "./promql.ts";
import { benchRemoteWrite } from "./remote-write.ts";
import { type BenchOptions, Report } from "./report.ts";
import { benchStreams } from "./streams.ts";
import { benchTables } from "./tables.ts";

const benches: Record<string, (options: BenchOptions, report: Report) => Promise<void>> = {
  assign: benchAssign,
  coordinator: benchCoordinator,
  failover: benchFailover,
  libraries: benchLibraries,
  load: benchLoad,
  promql: benchPromql,
  "remote-write": benchRemoteWrite,
  streams: benchStreams,
  tables: benchTables,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    trials: { type: "string", default: "30" },
    queries: { type: "string", default: "1000" },
    workers: { type: "string", default: "1000" },
    "busy-seconds": { type: "string", default: "60" },
    only: { type: "string" },
    samples: { type: "string", default: "10.08M" },
    repetitions: { type: "string", default: "7" },
    "cold-trials": { type: "string", default: "3" },
    "settle-seconds": { type: "string", default: "5" },
    "idle-seconds": { type: "string", default: "60" },
    dir: { type: "string" },
    rows: { type: "string", default: "10M" },
    groups: { type: "string", default: "1M" },
    events: { type: "string", default: "2M" },
    "long-events": { type: "string", default: "100M" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "2000" },
    "target-seconds": { type: "string", default: "10" },
    cell: { type: "string" },
  },
});
const name = positionals[0] ?? "";
const bench = benches[name];
if (bench === undefined) {
  process.stdout.write(`usage: npm run bench -- ${Object.keys(benches).join("|")} [--trials N]\n`);
  process.exitCode = 2;
} else {
  const report = new Report(name);
  await bench(
    {
      trials: Number(values.trials),
      queries: Number(values.queries),
      workers: Number(values.workers),
      busySeconds: Number(values["busy-seconds"]),
      only: values.only,
      samples: parseAmount(values.samples),
      repetitions: Number(values.repetitions),
      coldTrials: Number(values["cold-trials"]),
      idleMs: Number(values["idle-seconds"]) * 1000,
      settleMs: Number(values["settle-seconds"]) * 1000,
      dir: values.dir,
      rows: parseAmount(values.rows),
      groups: parseAmount(values.groups),
      events: parseAmount(values.events),
      longEvents: parseAmount(values["long-events"]),
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      minutes: Number(values.minutes),
      rate: Number(values.rate),
      targetMs: Number(values["target-seconds"]) * 1000,
      cell: values.cell,
    },
    report,
  );
  process.exitCode = report.close();
}

/** `100M` and the like. */
function parseAmount(text: string): number {
  const [, digits, unit] = /^([\d.]+)([kM]?)$/.exec(text) ?? [];
  return Math.round(Number(digits) * (unit === "M" ? 1e6 : unit === "k" ? 1e3 : 1));
}
