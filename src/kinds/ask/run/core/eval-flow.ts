/**
 * From the workers' results to the query's: the shards of a leaf are merged (`MergeSorted`), and when every leaf of a span is
 * there, the span is evaluated (`ExecNode.eval`, within `evaluate`), spans in the order of time.
 *
 *   EF1  A span is evaluated once, when all its leaves are whole, and not before every earlier one was.
 *   EF2  Shards are merged in the order of their numbers, whatever the order of their arrival: the result is the same bytes.
 *   EF3  What was evaluated is let go of.
 */
import { assert } from "../../../../ground/kernel/errors.ts";
import { type BaseExpr, type LeafResult, mergeLeafResults } from "../../promql/core/index.ts";

/** The results of one leaf's shards, until the last is there. */
export class MergeSorted {
  readonly leaf: BaseExpr;
  readonly #results: (LeafResult | undefined)[];
  #missing: number;

  /** `resultCount` 0: nobody had to be asked, the leaf has no data. */
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

  /** EF2. Once. */
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
    /** For each span, its leaves and how many results each of them has. */
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

  /** Evaluates what needs no result of a worker. Call it once, first. */
  start(): void {
    this.#advance();
  }

  add(span: number, leaf: number, index: number, result: LeafResult): void {
    const merge = this.#spans[span]?.[leaf];
    assert(merge !== undefined, "a result belongs to a leaf");
    merge.add(index, result);
    this.#advance();
  }

  /** EF1. */
  #advance(): void {
    for (;;) {
      const span = this.#spans[this.#next];
      if (span === undefined || !span.every((merge) => merge.isWhole)) return;
      const index = this.#next;
      this.#next += 1;
      const leaves = span.map((merge) => merge.merged()); // EF3
      this.#onResult(index, this.#evaluate(index, leaves));
    }
  }
}

function emptyResult({ output }: BaseExpr): LeafResult {
  const nothing = { annotations: [], stats: { seriesCount: 0, sampleCount: 0 }, series: [] };
  if (output.kind === "partials") return { ...nothing, kind: "partials", groups: [] };
  return { ...nothing, kind: output.kind };
}
