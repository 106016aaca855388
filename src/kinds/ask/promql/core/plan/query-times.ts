/** Resolves durations and times of a query, using its step and range. */
import type { AtModifier, DurationExpr, Subquery, VectorSelector } from "../ast.ts";
import { type DurationContext, resolveDuration } from "../durations.ts";
import type { EngineOptions, QueryParams } from "../engine-types.ts";

export class QueryTimes {
  readonly #params: QueryParams;
  readonly #subqueryStepMs: number;
  readonly #context: DurationContext;

  constructor(params: QueryParams, { subqueryStepMs }: EngineOptions) {
    const { instant, grid } = params;
    this.#params = params;
    this.#subqueryStepMs = subqueryStepMs;
    this.#context = { stepMs: instant ? 0 : grid.stepMs, rangeMs: grid.endMs - grid.startMs };
  }

  range(range: DurationExpr): number {
    return resolveDuration(range, this.#context, "positive");
  }

  offset({ offset }: VectorSelector | Subquery): number {
    return offset === undefined ? 0 : resolveDuration(offset, this.#context);
  }

  /** Relative to the whole query, whatever span is computed. */
  at(at: AtModifier): number {
    switch (at.kind) {
      case "at":
        return at.ms;
      case "start":
        return this.#params.grid.startMs;
      case "end":
        return this.#params.grid.endMs;
    }
  }

  subqueryStep({ step }: Subquery): number {
    const stepMs = step === undefined ? 0 : resolveDuration(step, this.#context, "positive");
    return stepMs === 0 ? this.#subqueryStepMs : stepMs;
  }
}
