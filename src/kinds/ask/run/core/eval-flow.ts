/**
 * Turns the workers' results into the query's result: merges the shards of each leaf
 * (`MergeSorted`), and evaluates a span (`ExecNode.eval`, within `evaluate`) once, when all its
 * leaves are complete and every earlier span was evaluated. Shards are merged in the order of their
 * numbers, whatever their order of arrival, so the result has the same bytes each time.
 */
import { assert } from "../../../../ground/kernel/errors.ts";
import { type BaseExpr, type LeafResult, mergeLeafResults } from "../../promql/core/index.ts";

/** The results of one leaf's shards, until the last has arrived. */
export class MergeSorted {
  readonly leaf: BaseExpr;
  readonly #results: (LeafResult | undefined)[];
  #missing: number;

  /** `resultCount` 0 means that the leaf has no data and needs no work. */
  constructor(leaf: BaseExpr, resultCount: number) {
    this.leaf = leaf;
    this.#results = Array.from({ length: resultCount });
    this.#missing = resultCount;
  }

  get isWhole(): boolean {
    return this.#missing === 0;
  }

  add(index: number, result: LeafResult): void {
    assert(this.#results[index] === undefined, "each shard's result comes once");
    assert(index < this.#results.length, "only what was asked for comes");
    this.#results[index] = result;
    this.#missing -= 1;
  }

  /** Merges in shard order. Call it once. */
  merged(): LeafResult {
    assert(this.isWhole, "a leaf is merged when it is whole");
    const results = this.#results.splice(0).filter((result) => result !== undefined);
    if (results.length === 0) return emptyResult(this.leaf);
    const [only] = results;
    return results.length === 1 && only !== undefined && only.kind !== "partials"
      ? only
      : mergeLeafResults(this.leaf, results);
  }
}

export class EvalFlow<Result> {
  readonly #spans: readonly (readonly MergeSorted[])[];
  readonly #evaluate: (span: number, leaves: readonly LeafResult[]) => Result;
  readonly #onResult: (span: number, result: Result) => void;
  #next = 0;

  constructor(options: {
    /** The number of results of each leaf, by span. */
    readonly spans: readonly (readonly {
      readonly leaf: BaseExpr;
      readonly resultCount: number;
    }[])[];
    readonly evaluate: (span: number, leaves: readonly LeafResult[]) => Result;
    readonly onResult: (span: number, result: Result) => void;
  }) {
    this.#spans = options.spans.map((leaves) =>
      leaves.map(({ leaf, resultCount }) => new MergeSorted(leaf, resultCount)),
    );
    this.#evaluate = options.evaluate;
    this.#onResult = options.onResult;
  }

  get isDone(): boolean {
    return this.#next === this.#spans.length;
  }

  /** Evaluates the spans that need no result of a worker. Call it once, before everything else. */
  start(): void {
    this.#advance();
  }

  add(span: number, leaf: number, index: number, result: LeafResult): void {
    const merge = this.#spans[span]?.[leaf];
    assert(merge !== undefined, "a result belongs to a leaf");
    merge.add(index, result);
    this.#advance();
  }

  /** Evaluates the spans that are complete, in time order. */
  #advance(): void {
    for (;;) {
      const span = this.#spans[this.#next];
      if (span === undefined || !span.every((merge) => merge.isWhole)) return;
      const index = this.#next;
      this.#next += 1;
      const leaves = span.map((merge) => merge.merged()); // Releases the results.
      this.#onResult(index, this.#evaluate(index, leaves));
    }
  }
}

function emptyResult({ output }: BaseExpr): LeafResult {
  const nothing = { annotations: [], stats: { seriesCount: 0, sampleCount: 0 }, series: [] };
  if (output.kind === "partials") return { ...nothing, kind: "partials", groups: [] };
  return { ...nothing, kind: output.kind };
}
