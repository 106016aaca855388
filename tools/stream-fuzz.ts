/**
 * Attacks the stream engine with what it does not expect, and compares it with a naive one.
 *
 *   node tools/stream-fuzz.ts statements [--cases 10000000] [--seed S] [--jobs N]
 *   node tools/stream-fuzz.ts records    [--cases 10000000] [--seed S] [--jobs N]
 *   node tools/stream-fuzz.ts plans      [--cases 5000]     [--seed S] [--jobs N] [--first]
 *   node tools/stream-fuzz.ts mutants    [--cases 5000]     [--seed S] [--jobs N] [--only NAME]
 *
 * Plans: random queries give what a naive evaluator gives, and every operator is met.
 * Statements and records: whatever is thrown is a DialectError, nothing hangs, and no name or
 * literal becomes code. Failures are printed with what it takes to repeat them; `--block N` runs
 * one block again, `--first` ends with the first failure and does not look for a smaller one. The
 * exit code is 1 if there was one. Ctrl-C ends with the figures so far. Mutants: each of some
 * planted operator bugs is found by plans.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { operators } from "../src/kinds/stream/run/testing/plans/run-cases.ts";
import { type BlockRequest, Counts, type FuzzKind } from "./stream-fuzz/block.ts";
import { plantMutants } from "./stream-fuzz/plant-mutants.ts";
import { runBlocks } from "./stream-fuzz/run-blocks.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    cases: { type: "string" },
    block: { type: "string" },
    only: { type: "string" },
    first: { type: "boolean", default: false },
    jobs: { type: "string", default: String(availableParallelism()) },
  },
});

interface Kind {
  readonly cases: number;
  readonly blockCases: number;
}

const kinds: Readonly<Record<FuzzKind, Kind>> = {
  statements: { cases: 10_000_000, blockCases: 5_000 },
  records: { cases: 10_000_000, blockCases: 20_000 },
  plans: { cases: 5_000, blockCases: 250 },
};

const hangMs = 300_000;
const failuresShown = 10;

process.exitCode = await main();

async function main(): Promise<number> {
  const [name] = positionals;
  if (name === "mutants") return await runMutants();
  if (name === undefined || !(name in kinds)) {
    process.stdout.write(
      `usage: node tools/stream-fuzz.ts ${[...Object.keys(kinds), "mutants"].join("|")}\n`,
    );
    return 2;
  }
  const kind = name as FuzzKind;
  const { blockCases } = kinds[kind];
  const cases = Number(options.cases ?? kinds[kind].cases);
  const started = performance.now();
  const counts = new Counts();
  let done = 0;
  let failed = 0;
  let slowestMs = 0;
  let slowest = "";
  let isInterrupted = false;
  process.once("SIGINT", () => {
    isInterrupted = true;
  });
  await runBlocks(requestsOf(kind, cases, blockCases), {
    jobs: Number(options.jobs),
    hangMs,
    isOver: () => isInterrupted || (options.first && failed > 0),
    onAnswer: (answer) => {
      done += answer.cases;
      counts.merge(answer.counts);
      if (answer.slowestMs > slowestMs) ({ slowestMs, slowest } = answer);
      for (const { text } of answer.failures) {
        failed += 1;
        if (failed <= failuresShown) process.stdout.write(`seed ${options.seed} ${text}\n`);
      }
    },
  });
  for (const [what, count] of Object.entries(counts.all).sort(byName)) {
    process.stdout.write(`  ${what}: ${count}\n`);
  }
  if (kind === "plans" && cases >= 1_000) {
    for (const name of operators.filter((operator) => counts.all[operator] === undefined)) {
      failed += 1;
      process.stdout.write(`no case has: ${name}\n`);
    }
  }
  const { user, system } = process.cpuUsage();
  process.stdout.write(
    `  slowest: ${slowestMs.toFixed(0)} ms of CPU time: ${slowest.slice(0, 500)}\n` +
      `  ${((performance.now() - started) / 1_000).toFixed(0)} s, ${((user + system) / 1e6).toFixed(0)} s of CPU time\n` +
      `stream-fuzz ${kind}: ${done} cases, ${failed} failures\n`,
  );
  return failed === 0 ? 0 : 1;
}

async function runMutants(): Promise<number> {
  const { planted, failures } = await plantMutants({
    seed: options.seed,
    cases: Number(options.cases ?? kinds.plans.cases),
    jobs: Number(options.jobs),
    only: options.only,
    print: (line) => process.stdout.write(`${line}\n`),
  });
  process.stdout.write(`stream-fuzz mutants: ${planted} planted, ${failures} failures\n`);
  return failures === 0 ? 0 : 1;
}

function requestsOf(kind: FuzzKind, cases: number, blockCases: number): readonly BlockRequest[] {
  const { seed, block, first } = options;
  if (block !== undefined) return [{ kind, seed, block: Number(block), cases: blockCases, first }];
  return Array.from({ length: Math.ceil(cases / blockCases) }, (_, index) => ({
    ...{ kind, seed, block: index, first },
    cases: Math.min(blockCases, cases - index * blockCases),
  }));
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}
