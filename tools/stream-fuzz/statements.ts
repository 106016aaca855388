/**
 * Fuzzed statements: each is parsed, and what can be is bound, optimized, explained and cut into
 * stages; some plans are compiled and run over a few records. Whatever is thrown must be a
 * DialectError; nothing may take long; no name and no literal may become code.
 */
import { readFileSync } from "node:fs";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import {
  cutPlan,
  DialectError,
  defaultDialect,
  explainPlan,
  formatExplanation,
  insertExchanges,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../src/kinds/stream/language/core/index.ts";
import { type BlockAnswer, type BlockRequest, Counts, cpuMs, type Failure } from "./block.ts";
import { compiledCount, takeFoundTexts } from "./compiled-texts.ts";
import { mutate, tokensOf } from "./mutate.ts";
import { lookupTables, preparation, StatementMaker } from "./random-statement.ts";
import { runPlanBriefly } from "./run-briefly.ts";

/** CPU time that no statement of the fuzzer may take. */
const slowMs = 500;
const fromGrammar = 60;

let documented: readonly (readonly string[])[] | undefined;

/** The statements of the documentation's examples. */
function documentedStatements(): readonly (readonly string[])[] {
  if (documented !== undefined) return documented;
  const page = readFileSync(new URL("../../docs/stream-sql.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? "");
  documented = blocks.flatMap((text) => [
    tokensOf(text),
    ...text.split(";").map((statement) => tokensOf(statement)),
  ]);
  return documented;
}

export function fuzzStatements({ seed, block, cases }: BlockRequest): BlockAnswer {
  const prng = createPrng(`${seed}/statements/${block}`);
  const maker = new StatementMaker(prng);
  const made = Array.from({ length: fromGrammar }, () => tokensOf(maker.statement()));
  const documents = documentedStatements();
  const others = [...made, ...documents].flat();
  const counts = new Counts();
  const failures: Failure[] = [];
  const base = new LocalCatalog(defaultDialect, lookupTables);
  for (const statement of parseStatements(preparation)) base.apply(statement);
  let catalog = base;
  let slowest = "";
  let slowestMs = 0;
  for (let index = 0; index < cases; index += 1) {
    if (index % 250 === 0) {
      catalog = new LocalCatalog(defaultDialect, lookupTables);
      for (const statement of parseStatements(preparation)) catalog.apply(statement);
    }
    const from = prng.below(4) === 0 ? documents : made;
    const text = mutate(from[prng.below(from.length)] ?? [], others, prng);
    const started = performance.now();
    const startedCpu = cpuMs();
    const failure = runStatement(text, catalog, prng, counts);
    let tookMs = performance.now() - started;
    if (tookMs > slowestMs) {
      tookMs = cpuMs() - startedCpu;
      if (tookMs > slowestMs) [slowestMs, slowest] = [tookMs, text];
      if (tookMs > slowMs) {
        failures.push({ text: `block ${block}, case ${index}: ${tookMs.toFixed(0)} ms\n${text}` });
      }
    }
    if (failure !== undefined) {
      failures.push({ text: `block ${block}, case ${index}: ${failure}\n${text}` });
    }
  }
  for (const text of takeFoundTexts()) {
    failures.push({ text: `block ${block}: a name or a literal became code: ${text}` });
  }
  counts.add("texts compiled", compiledCount());
  return { cases, failures, counts: counts.all, slowestMs, slowest };
}

/** What is wrong with how the statement was taken; `undefined` where nothing is. */
function runStatement(
  text: string,
  catalog: LocalCatalog,
  prng: Prng,
  counts: Counts,
): string | undefined {
  try {
    for (const statement of parseStatements(text)) {
      counts.add("parsed");
      if (catalog.apply(statement)) counts.add("applied");
      else if (statement.kind === "query" || statement.kind === "createQuery") {
        takePlan(planQuery(statement.query, catalog, defaultDialect), prng, counts);
      }
    }
    return undefined;
  } catch (thrown) {
    if (thrown instanceof DialectError) {
      counts.add(`error ${thrown.number}`);
      return undefined;
    }
    return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
}

function takePlan(plan: Plan, prng: Prng, counts: Counts): void {
  counts.add("planned");
  // An explanation has the plan's hash.
  formatExplanation(explainPlan(plan));
  cutPlan(insertExchanges(plan));
  // Compiling takes a hundred times as long as planning.
  if (prng.below(24) !== 0) return;
  counts.add("run");
  runPlanBriefly(plan, prng);
}
