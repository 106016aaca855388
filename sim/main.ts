/** `npm run sim`: see README.md. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { invariants } from "./checks/verdict.ts";
import { runDiskSeed } from "./disk/run-disk-seed.ts";
import { loadFaultKinds } from "./load/plan-load.ts";
import { type DiskSuite, faultKinds, isDiskSuite, planIn, type Suite, suites } from "./plan.ts";
import { findPlant, type Plant, plants } from "./plants/plants.ts";
import { type RunResult, runPlan } from "./run-plan.ts";
import { runSeeds, type Totals } from "./run-seeds.ts";
import { productionSeams } from "./seams.ts";
import { shrinkPlan } from "./shrink-plan.ts";
import { streamFaultKinds } from "./streams/plan-streams.ts";
import { tableFaultKinds } from "./tables/plan-tables.ts";

const help = `Usage: npm run sim -- [options]

  --seeds N             run N seeds (default 100)
  --start S             the first of them (default 1)
  --jobs J              on so many threads (default: one for each core)
  --suite NAME          which worlds (default fleet):
                          fleet    clusters, some with dynamic tables or load tests
                          tables   those of them with dynamic tables
                          load     those of them with load tests
                          streams  clusters with continuous queries
                          log      the metrics' log, segments and compaction on a disk that fails
                          disk     the lake's files on a disk that fails
  --check-determinism   run each seed twice and compare the traces
  --plant NAME          with a named bug; \`--plant list\` shows them
  --seed N              run one seed, in this thread
  --trace               and print everything that happens in it
  --shrink              and, if it violates something, print the fewest steps that still do
`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    start: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    plant: { type: "string" },
    suite: { type: "string", default: "fleet" },
    "check-determinism": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A wrong option is reported in one line, without a stack. */
function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function parseSuite(text: string): Suite {
  const found = suites.find((name) => name === text);
  return found ?? refuse(`there is no suite "${text}"; there are ${suites.join(", ")}`);
}

function parseCount(name: string, text: string, min: number): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < min) {
    refuse(`--${name} takes a whole number of at least ${min}, not "${text}"`);
  }
  return count;
}

function sayViolation({ seed, violation }: RunResult, plant: string | undefined): void {
  if (violation === undefined) return;
  const { invariant, detail, atMs } = violation;
  const which = suite === "fleet" || plant !== undefined ? "" : ` --suite ${suite}`;
  const replay = `npm run sim --${which} --seed ${seed}${plant === undefined ? "" : ` --plant ${plant}`} --trace`;
  say(
    `seed ${seed}: ${invariant} (${invariants[invariant]}) violated at ${(atMs / 1_000).toFixed(3)} s`,
  );
  say(`  ${detail}`);
  say(`  replay: ${replay}`);
}

function sayTotals({ counters, virtualMs, events, faults, faultsMin, virtualMsMin }: Totals): void {
  say(
    `virtual time   ${(virtualMs / 3_600_000).toFixed(1)} h, at least ${Math.floor(virtualMsMin / 1_000)} s a seed`,
  );
  say(`events         ${events}`);
  say(`faults         ${faults}, at least ${faultsMin} a seed`);
  if (!isDiskSuite(suite)) {
    for (const kind of [
      ...faultKinds,
      ...tableFaultKinds,
      ...loadFaultKinds,
      ...streamFaultKinds,
    ]) {
      const count = counters.get(`fault: ${kind}`);
      if (count > 0 || suite === "fleet") say(`  ${kind.padEnd(28)} ${count}`);
    }
    say("queries");
    for (const [name, count] of Object.entries(counters.all())) {
      if (name.startsWith("outcome: ")) say(`  ${name.slice(9).padEnd(28)} ${count}`);
    }
  }
  say("coverage");
  for (const [name, count] of Object.entries(counters.all())) {
    if (name.startsWith("outcome: ") || name.startsWith("fault: ")) continue;
    say(`  ${name.padEnd(44)} ${count}`);
  }
}

async function runOne(seed: number, plant: string | undefined): Promise<number> {
  const found = plant === undefined ? undefined : findPlant(plant);
  const which = found?.suite ?? suite;
  if (isDiskSuite(which)) return runOneOfDisk(which, seed, found);
  const seams = found?.seams;
  const plan = planIn(which, seed);
  const { workers, coordinators, queryApis } = plan.topology;
  say(`seed ${seed}: ${workers} workers, ${coordinators} coordinators, ${queryApis} query-apis`);
  const result = await runPlan(plan, {
    ...(seams === undefined ? {} : { seams }),
    ...(values.trace ? { print: say } : {}),
  });
  sayViolation(result, plant);
  const { faultCount, eventCount, virtualMs, traceHash, violation } = result;
  say(
    `${faultCount} faults, ${eventCount} events, ${Math.round(virtualMs / 1_000)} s, trace ${traceHash}`,
  );
  const violations = violation === undefined ? 0 : 1;
  if (values.shrink) say(JSON.stringify(await shrinkPlan(plan, seams ?? productionSeams)) ?? "");
  say(`sim: 1 seeds, ${violations} violations`);
  return violations;
}

async function runOneOfDisk(
  which: DiskSuite,
  seed: number,
  found: Plant | undefined,
): Promise<number> {
  const result = await runDiskSeed(which, seed, {
    ...(found?.disk === undefined ? {} : { seams: found.disk }),
    ...(values.trace ? { print: say } : {}),
  });
  sayViolation(result, found?.name);
  say(`${result.faultCount} faults, ${result.eventCount} events, trace ${result.traceHash}`);
  const violations = result.violation === undefined ? 0 : 1;
  say(`sim: 1 seeds, ${violations} violations`);
  return violations;
}

async function runMany(plant: string | undefined): Promise<number> {
  const totals = await runSeeds({
    start: parseCount("start", values.start, 0),
    count: parseCount("seeds", values.seeds, 1),
    jobs: parseCount("jobs", values.jobs, 1),
    suite,
    checkDeterminism: values["check-determinism"],
    onFailed: (result) => sayViolation(result, plant),
    ...(plant === undefined ? {} : { plant }),
  });
  for (const seed of totals.undetermined) say(`seed ${seed}: its second run was another one`);
  sayTotals(totals);
  say(`sim: ${totals.seeds} seeds, ${totals.violations} violations`);
  return totals.violations;
}

const suite = parseSuite(values.suite);

async function main(): Promise<number> {
  if (values.help) {
    say(help);
    return 0;
  }
  const { plant, seed } = values;
  if (plant === "list") {
    for (const { name, what } of plants) say(`${name.padEnd(24)} ${what}`);
    return 0;
  }
  if (plant !== undefined && findPlant(plant) === undefined) {
    refuse(`there is no planted bug named "${plant}"; --plant list shows them`);
  }
  if (seed !== undefined) return runOne(parseCount("seed", seed, 0), plant);
  return runMany(plant);
}

process.exitCode = (await main()) > 0 ? 1 : 0;
