/** Follows one PromQL query from its plan to its answer, and checks I16 and I17. */
import { fingerprint, shardOf } from "../../src/kinds/ask/metrics/index.ts";
import {
  defaultEngineOptions,
  type Grid,
  PromqlError,
  type QueryParams,
  type QueryResult,
  type RawSeries,
} from "../../src/kinds/ask/promql/core/index.ts";
import { evaluateInMemory } from "../../src/kinds/ask/promql/core/testing/evaluate-in-memory.ts";
import { findDifference } from "../promql/same-result.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./verdict.ts";

export interface FollowedQuery {
  readonly name: string;
  readonly text: string;
  readonly params: QueryParams;
  readonly spans: readonly Grid[];
  readonly shardCount: number;
  /** All samples at the time of the query. */
  readonly everything: readonly RawSeries[];
}

type Outcome = { readonly result: QueryResult } | { readonly error: string };

export class PromqlCheck {
  readonly #query: FollowedQuery;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #results: QueryResult[] = [];

  constructor(query: FollowedQuery, verdict: Verdict, counters: Counters) {
    this.#query = query;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** I17. */
  spanTold(span: number, result: QueryResult): void {
    const { name, spans } = this.#query;
    const next = this.#results.length;
    this.#verdict.require(span === next, "I17", () => {
      return `${name} was told span ${span} where span ${next} was next`;
    });
    const grid = spans[span];
    const isOfSpan =
      !("grid" in result) ||
      (result.grid.startMs === grid?.startMs && result.grid.endMs === grid.endMs);
    this.#verdict.require(isOfSpan, "I17", () => {
      return `${name} was told other steps than those of span ${span}`;
    });
    this.#results.push(result);
  }

  /** I16. The query succeeded. `attemptsMax`: attempts of its worst work; 0 without works. */
  done(attemptsMax: number): void {
    const { name, text, spans } = this.#query;
    const told = this.#results.length;
    this.#verdict.require(told === spans.length, "I17", () => {
      return `${name} is done after ${told} of ${spans.length} spans`;
    });
    const want = this.#faultFree();
    const difference =
      "error" in want
        ? `an answer instead of the error "${want.error}"`
        : findDifference(this.#results, want.result);
    this.#verdict.require(difference === undefined, "I16", () => {
      return `${name} (${text}) answered ${difference}`;
    });
    this.#count(want, attemptsMax);
  }

  /** I16. Merging or evaluating threw, which it must also do without faults. */
  refused(error: PromqlError): void {
    const { name, text } = this.#query;
    const want = this.#faultFree();
    const isSame = "error" in want && want.error === error.message;
    this.#verdict.require(isSame, "I16", () => {
      return `${name} (${text}) failed where nothing can: ${error.message}`;
    });
    this.#counters.add("promql: refused");
  }

  /** I16. */
  unreadable(workId: string, why: string): void {
    const { name } = this.#query;
    this.#verdict.fail("I16", `${name}: what arrived of ${workId} cannot be read: ${why}`);
  }

  /** Computed once, in one span but the same shards, so that averages are equal to the last bit. */
  #faultFree(): Outcome {
    const { text, params, everything, shardCount } = this.#query;
    try {
      const result = evaluateInMemory(
        ...([text, params, defaultEngineOptions, everything, shardCount] as const),
        (labels, count) => shardOf(fingerprint(labels), count),
      );
      return { result };
    } catch (thrown) {
      if (thrown instanceof PromqlError) return { error: thrown.message };
      throw thrown;
    }
  }

  #count(want: Outcome, attemptsMax: number): void {
    if (!("result" in want)) return;
    const { result } = want;
    this.#counters.add("promql: right result");
    if (attemptsMax === 0) this.#counters.add("promql: right result without work");
    if (attemptsMax > 1) this.#counters.add("promql: right result after a leaf moved");
    if (this.#query.spans.length > 1) this.#counters.add("promql: right result of several spans");
    if (result.annotations.length > 0) this.#counters.add("promql: right result with annotations");
    if (result.type === "matrix") this.#counters.add("promql: right samples");
    const hasHistograms =
      result.type === "vector" && result.series.some(({ histograms }) => histograms !== undefined);
    if (hasHistograms) this.#counters.add("promql: right result with histograms");
  }
}
