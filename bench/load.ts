/**
 * Load tests beside pgbench, on one Postgres. Parts, for `--only`:
 *
 *   rates       whole runs (coordinator, two load workers, everything recorded) beside `pgbench -M
 *               prepared -j 2`, by turns
 *   fixed-rate  latency at one rate (`--rate`) beside `pgbench -R`
 *   api         how soon a run's page has its answer; what viewers cost
 *   memory      a run of ten minutes (`--minutes`): memory of its processes early and late. Only
 *               when it is asked for
 *   client      the Postgres client alone, in closed loops of its own. Only when it is asked for
 */
import { loadavg } from "node:os";
import { benchApi } from "./load/api.ts";
import { benchFixedRate } from "./load/fixed-rate.ts";
import { benchMemory } from "./load/memory.ts";
import { pgbenchVersion } from "./load/pgbench.ts";
import { benchClient } from "./load/postgres-client.ts";
import { benchRates } from "./load/rates.ts";
import { type BenchOptions, checkPart, type Report } from "./report.ts";

const parts: readonly {
  readonly name: string;
  readonly run: (options: BenchOptions, report: Report) => Promise<void>;
  readonly isLong?: boolean;
}[] = [
  { name: "rates", run: benchRates },
  { name: "fixed-rate", run: benchFixedRate },
  { name: "api", run: benchApi },
  { name: "memory", run: benchMemory, isLong: true },
  { name: "client", run: benchClient, isLong: true },
];

export async function benchLoad(options: BenchOptions, report: Report): Promise<void> {
  checkPart(
    options,
    parts.map(({ name }) => name),
  );
  report.say(`load: beside ${pgbenchVersion() ?? "nothing: pgbench is not on the PATH"}`);
  for (const { name, run, isLong } of parts) {
    if (options.only === undefined ? isLong === true : options.only !== name) {
      if (options.only === undefined) report.say(`load: ${name} is left out; --only ${name}`);
      continue;
    }
    report.say(`load: ${name}, load average ${loadavg()[0]?.toFixed(1)}`);
    await run(options, report);
  }
  report.say(`load: load average ${loadavg()[0]?.toFixed(1)}`);
}
