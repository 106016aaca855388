/**
 * Runs Prometheus's test scripts and lists what is not as they expect. A case is one evaluation of
 * a script; it passes when it does wherever the samples are.
 */
import { createDirectEngine } from "../../src/kinds/ask/promql/testing/direct-engine.ts";
import { type CaseOutcome, runScript } from "../../src/kinds/ask/promql/testing/run-script.ts";
import type { ScriptEngine } from "../../src/kinds/ask/promql/testing/script-engine.ts";
import { type RealCluster, shardCount, startRealCluster } from "./real-cluster.ts";
import { createRealEngine, type RealEngine } from "./real-engine.ts";
import { placements, type StoreLayout } from "./script-store.ts";

export interface Script {
  readonly name: string;
  readonly text: string;
}

export interface PromqlSuiteOptions {
  /** The language alone, in memory. */
  readonly direct: boolean;
  /** Where the samples are: of `placements`; everywhere unless given. */
  readonly modes: readonly string[] | undefined;
  /** Only the evaluation of this line. */
  readonly line: number | undefined;
  readonly failuresMax: number;
  readonly verbose: boolean;
  readonly print: (line: string) => void;
}

export interface SuiteTally {
  readonly passed: number;
  readonly total: number;
}

interface Mode {
  readonly name: string;
  readonly engine: ScriptEngine;
}

export async function runPromqlSuite(
  scripts: readonly Script[],
  options: PromqlSuiteOptions,
): Promise<SuiteTally> {
  if (options.direct) {
    const mode = { name: "direct", engine: createDirectEngine(shardCount) };
    return await runScripts(scripts, [mode], options);
  }
  const cluster = await startRealCluster();
  // Whoever has seen enough leaves no processes and no files behind.
  const stop = () => void cluster.close().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  try {
    const modes = realModes(cluster, options);
    const tally = await runScripts(scripts, modes, options);
    let rawRates = 0;
    for (const { name, engine } of modes) {
      const { queries, partials, steps, raw, empty, layouts, rawRates: offending } = engine.tally;
      options.print(`${name}: ${describeLayouts(layouts)}`);
      options.print(
        `${name}: ${queries} queries; leaves: ${partials} partials, ${steps} kernels, ${raw} raw, ${empty} read nothing`,
      );
      for (const query of new Set(offending)) {
        rawRates += 1;
        options.print(`${name}: an aggregated rate shipped raw samples: ${query}`);
      }
    }
    // A rate that ships raw samples is a failure of the suite, whatever its cases say.
    return rawRates === 0 ? tally : { ...tally, passed: Math.min(tally.passed, tally.total - 1) };
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
    await cluster.close();
  }
}

function describeLayouts(layouts: readonly StoreLayout[]): string {
  const sum = (pick: (layout: StoreLayout) => number) =>
    layouts.reduce((total, layout) => total + pick(layout), 0);
  const inBlocks = layouts.filter(({ blockCount }) => blockCount >= 2).length;
  return (
    `${layouts.length} databases, ${inBlocks} with two blocks or more; ` +
    `${sum(({ segmentCount }) => segmentCount)} segments, ${shardCount} shards; ` +
    `${sum(({ headSampleCount }) => headSampleCount)} samples in heads`
  );
}

function realModes(
  cluster: RealCluster,
  { modes }: PromqlSuiteOptions,
): { readonly name: string; readonly engine: RealEngine }[] {
  return placements
    .filter((placement) => modes === undefined || modes.includes(placement))
    .map((placement) => ({ name: placement, engine: createRealEngine(cluster, placement) }));
}

async function runScripts(
  scripts: readonly Script[],
  modes: readonly Mode[],
  options: PromqlSuiteOptions,
): Promise<SuiteTally> {
  const { print, verbose, failuresMax } = options;
  let passed = 0;
  let total = 0;
  let listed = 0;
  for (const script of scripts) {
    const failures = new Map<string, string[]>();
    let caseCount = 0;
    for (const { name, engine } of modes) {
      const outcomes = await runOne(script, engine, options);
      caseCount = outcomes.length;
      for (const { line, query, failure } of outcomes) {
        if (failure === undefined) continue;
        const key = `${script.name}:${line} ${query}`;
        failures.set(key, [...(failures.get(key) ?? []), `  ${name}: ${failure}`]);
      }
    }
    for (const [key, lines] of failures) {
      listed += 1;
      if (listed <= failuresMax) print([key, ...lines].join("\n"));
    }
    passed += caseCount - failures.size;
    total += caseCount;
    if (verbose || failures.size > 0) {
      print(`${script.name}: ${caseCount - failures.size}/${caseCount}`);
    }
  }
  if (listed > failuresMax) print(`… and ${listed - failuresMax} more failures`);
  return { passed, total };
}

async function runOne(
  { name, text }: Script,
  engine: ScriptEngine,
  { line }: PromqlSuiteOptions,
): Promise<readonly CaseOutcome[]> {
  return await runScript(name, text, engine, {
    selects: (command) => line === undefined || command.line === line,
  });
}
