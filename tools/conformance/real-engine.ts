/** Scripts against the whole path, and a tally of how their leaves were computed. */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import {
  type Expr,
  formatAnnotation,
  Labels,
  PromqlError,
  parseExpr,
  type QueryParams,
  type QueryResult,
} from "../../src/kinds/ask/promql/core/index.ts";
import type {
  ScriptAnswer,
  ScriptEngine,
} from "../../src/kinds/ask/promql/testing/script-engine.ts";
import type { QuerySummary } from "../../src/kinds/ask/run/promql-service.ts";
import { isAggregatedRate } from "./aggregated-rate.ts";
import type { RealCluster } from "./real-cluster.ts";
import type { Placement, ScriptStore, StoreLayout } from "./script-store.ts";

/** Queries that are asked at the same time. */
const concurrency = 12;

export interface LeafTally {
  queries: number;
  /** Leaves that workers computed, by what they gave. */
  partials: number;
  steps: number;
  raw: number;
  /** Leaves that nothing was stored for. */
  empty: number;
  /** Of each database when it was last loaded. */
  readonly layouts: StoreLayout[];
  /** Queries whose aggregated rates shipped raw samples: there must be none. */
  readonly rawRates: string[];
}

export interface RealEngine extends ScriptEngine {
  readonly tally: LeafTally;
}

export function createRealEngine(cluster: RealCluster, placement: Placement): RealEngine {
  const tally: LeafTally = {
    queries: 0,
    partials: 0,
    steps: 0,
    raw: 0,
    empty: 0,
    layouts: [],
    rawRates: [],
  };
  let layoutAt = -1;
  const gate = new Gate(concurrency);
  let store: ScriptStore | undefined;
  return {
    concurrency,
    tally,
    clear: async (lastMs) => {
      store = await cluster.openStore({ placement, lastMs });
      layoutAt = tally.layouts.length;
    },
    load: async (series) => {
      if (store === undefined) throw new Error("a script begins with an empty database");
      await store.append(series);
      tally.layouts[layoutAt] = await store.layout();
    },
    query: async (text, params) =>
      await gate.through(async () => await ask(cluster, text, params, tally)),
  };
}

async function ask(
  { service }: RealCluster,
  text: string,
  { instant, grid }: QueryParams,
  tally: LeafTally,
): Promise<ScriptAnswer> {
  const at = instant ? { timeMs: grid.startMs } : grid;
  try {
    const { ran, summary } = await service.evaluate(
      { query: text, at },
      new AbortController().signal,
    );
    const [result] = ran.results ?? [];
    if (result === undefined || ran.results?.length !== 1)
      throw new Error("one span has one result");
    count(text, summary, tally);
    const annotations = result.annotations.map((annotation) => ({
      level: annotation.level,
      text: formatAnnotation(text, annotation),
      bareText: `PromQL ${annotation.level}: ${annotation.message}`,
    }));
    return { kind: "result", result: withLabels(result), annotations };
  } catch (error) {
    if (error instanceof PromqlError) return { kind: "error", error: error.message };
    if (!(error instanceof OperatingError)) throw error;
    return { kind: "error", error: error.message.replace(/^\[\w+\] /, "") };
  }
}

function count(text: string, { leaves }: QuerySummary, tally: LeafTally): void {
  tally.queries += 1;
  let raw = 0;
  for (const { output, works } of leaves) {
    if (works.length === 0) tally.empty += 1;
    else tally[output] += 1;
    if (output === "raw") raw += 1;
  }
  if (raw > 0 && isAggregatedRate(parseExpr(text) as Expr)) tally.rawRates.push(text);
}

/** Labels lose their class between threads. */
function withLabels(result: QueryResult): QueryResult {
  const restored = <T extends { readonly labels: Labels }>(series: readonly T[]): T[] =>
    series.map((each) => ({ ...each, labels: new Labels(each.labels.pairs) }));
  switch (result.type) {
    case "vector":
      return { ...result, series: restored(result.series) };
    case "matrix":
      return { ...result, series: restored(result.series) };
    default:
      return result;
  }
}

/** Lets so many in at a time. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async through<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
