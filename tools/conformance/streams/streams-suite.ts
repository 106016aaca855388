/** The whole streams suite: every script, and what failed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realClock } from "../../../src/ground/kernel/node/real-clock.ts";
import { MemoryBudget } from "../../../src/ground/process/core/index.ts";
import type { Plan } from "../../../src/kinds/stream/language/core/index.ts";
import {
  createLocalConnectors,
  LocalQuery,
  StreamPool,
} from "../../../src/kinds/stream/run/index.ts";
import type { Script } from "../promql-suite.ts";
import { runClusterSuite } from "./cluster/cluster-suite.ts";
import { parseStreamScript } from "./parse-script.ts";
import { type RunPlan, runScript } from "./run-script.ts";
import { startTwoProcesses } from "./two-processes.ts";

export interface StreamsSuiteOptions {
  readonly suiteDir: string;
  readonly line: number | undefined;
  readonly failuresMax: number;
  readonly verbose: boolean;
  /** Whether every case also runs in several fragments on two threads. */
  readonly threads: boolean;
  /** Whether cases run through a coordinator and two workers, and in no other way. */
  readonly cluster: boolean;
  readonly print: (text: string) => void;
}

export interface SuiteTotals {
  readonly passed: number;
  readonly total: number;
}

/**
 * Every case in one fragment, and every case split over two processes; or every case through a
 * cluster.
 */
export async function runStreamsSuite(
  scripts: readonly Script[],
  options: StreamsSuiteOptions,
): Promise<SuiteTotals> {
  const { print } = options;
  if (options.cluster) return await runClusterSuite(scripts, options);
  const one = await runWith("one fragment", scripts, options, runHere);
  print(`one fragment: ${one.passed}/${one.total} passed`);
  const threads = options.threads ? await runThreads(scripts, options) : { passed: 0, total: 0 };
  const processes = await startTwoProcesses();
  try {
    const two = await runWith("two processes", scripts, options, processes.run);
    const { rowsCrossed, keyed, spreadOverAll } = processes.totals;
    print(
      `two processes: ${two.passed}/${two.total} passed; ${rowsCrossed} rows crossed; ` +
        `of ${keyed} plans with keys, both sides held keys in ${spreadOverAll}`,
    );
    return {
      passed: one.passed + threads.passed + two.passed,
      total: one.total + threads.total + two.total,
    };
  } finally {
    await processes.stop();
  }
}

async function runWith(
  way: string,
  scripts: readonly Script[],
  options: StreamsSuiteOptions,
  run: RunPlan,
): Promise<SuiteTotals> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-streams-"));
  let passed = 0;
  let total = 0;
  let shown = 0;
  try {
    for (const [index, { name, text }] of scripts.entries()) {
      const script = parseStreamScript(name, text);
      const results = await runScript(script, options.suiteDir, join(dir, `${index}`), run);
      for (const { line, settings, failure } of results) {
        if (options.line !== undefined && options.line !== line) continue;
        total += 1;
        if (failure === undefined) passed += 1;
        const place = `${way}, ${name}:${line}${settings === "" ? "" : ` [${settings}]`}`;
        if (failure === undefined) {
          if (options.verbose) options.print(`passed ${place}`);
        } else if (shown < options.failuresMax) {
          options.print(`FAILED ${place}: ${failure.slice(0, 600)}`);
          shown += 1;
        }
      }
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return { passed, total };
}

/** Stages with keys in two instances, on two threads of this process. */
async function runThreads(
  scripts: readonly Script[],
  options: StreamsSuiteOptions,
): Promise<SuiteTotals> {
  const budget = new MemoryBudget(Number.MAX_SAFE_INTEGER);
  const testdata = join(options.suiteDir, "testdata");
  const pool = new StreamPool({
    threads: 2,
    clock: realClock,
    places: { sourceDir: testdata, sinkDir: testdata },
    print: () => undefined,
    memory: { budget, bytesMax: budget.bytesMax },
  });
  let queries = 0;
  try {
    const totals = await runWith("two threads", scripts, options, async (plan) => {
      queries += 1;
      const places = { sourceDir: testdata, sinkDir: testdata, print: () => undefined };
      const query = new LocalQuery({
        plan: { ...plan, settings: { ...plan.settings, parallelism: 2 } },
        clock: realClock,
        checkpoints: undefined,
        connectors: createLocalConnectors(places),
        host: { host: pool, name: `q${queries}` },
      });
      await query.open();
      await query.run();
    });
    options.print(`two threads: ${totals.passed}/${totals.total} passed`);
    return totals;
  } finally {
    await pool.close();
  }
}

/** One fragment in this process. */
async function runHere(plan: Plan, testdata: string): Promise<void> {
  const query = new LocalQuery({
    plan,
    clock: realClock,
    checkpoints: undefined,
    connectors: createLocalConnectors({
      sourceDir: testdata,
      sinkDir: testdata,
      print: () => undefined,
    }),
  });
  await query.open();
  await query.run();
}
