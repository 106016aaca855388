/** Broken ways from leaves to an answer. */
import type { LeafResult, SampleColumns } from "../../src/kinds/ask/promql/core/index.ts";
import { EvalFlow } from "../../src/kinds/ask/run/core/eval-flow.ts";
import type { HeadScope } from "../../src/kinds/ask/run/core/work-body.ts";
import type { StoredSeries } from "../promql/data-set.ts";
import { SimLake } from "../promql/sim-lake.ts";
import { SimFetcher } from "../world/sim-fetcher.ts";

type FlowOptions<Result> = ConstructorParameters<typeof EvalFlow<Result>>[0];

/** The last shard's result is taken for empty. */
export class ForgetfulFlow<Result> extends EvalFlow<Result> {
  override add(span: number, leaf: number, index: number, result: LeafResult): void {
    super.add(span, leaf, index, index === 0 ? result : emptied(result));
  }
}

function emptied(result: LeafResult): LeafResult {
  return result.kind === "partials"
    ? { ...result, groups: [], series: [] }
    : { ...result, series: [] };
}

/** The first shard counts twice, as if a repeated execution had been taken for another one. */
export class DoublingFlow<Result> extends EvalFlow<Result> {
  override add(span: number, leaf: number, index: number, result: LeafResult): void {
    super.add(span, leaf, index, index === 0 ? doubled(result) : result);
  }
}

function doubled(result: LeafResult): LeafResult {
  if (result.kind !== "partials") return result;
  const { groups, series } = result;
  return { ...result, groups: [...groups, ...groups], series: [...series, ...series] };
}

/** Tells the first span after the second. */
export class HastyFlow<Result> extends EvalFlow<Result> {
  constructor(options: FlowOptions<Result>) {
    let first: (() => void) | undefined;
    super({
      ...options,
      onResult: (span, result) => {
        if (span === 0 && options.spans.length > 1) {
          first = () => options.onResult(span, result);
          return;
        }
        options.onResult(span, result);
        first?.();
        first = undefined;
      },
    });
  }
}

/** Tells every span but the first a second time. */
export class StammeringFlow<Result> extends EvalFlow<Result> {
  constructor(options: FlowOptions<Result>) {
    super({
      ...options,
      onResult: (span, result) => {
        options.onResult(span, result);
        if (span > 0) options.onResult(span, result);
      },
    });
  }
}

/** Reads the head as it is, not as it was when the query was asked. */
export class UnstableLake extends SimLake {
  protected override readHead(series: StoredSeries, scope: HeadScope): SampleColumns {
    const snapshot = { ...scope.snapshot, appendSeq: this.batches };
    return super.readHead(series, { ...scope, snapshot });
  }
}

/** Accepts everything that looks like Parquet. */
export class GullibleFetcher extends SimFetcher {
  protected override isIntact(...call: Parameters<SimFetcher["isIntact"]>): boolean {
    const [content] = call;
    const magic = Buffer.from(content.subarray(0, 4)).toString("latin1");
    return magic === "PAR1" || super.isIntact(...call);
  }
}
