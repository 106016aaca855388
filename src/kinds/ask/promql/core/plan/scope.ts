/**
 * The steps at which a part of a query is evaluated. A subquery, and what `@` fixes, has its own.
 * `grid` is a run of consecutive steps of `whole`, which does not depend on how the query is cut
 * into spans.
 */
import { PromqlError } from "../engine-types.ts";
import { type Grid, instantGrid, stepCount } from "../model.ts";

export interface Scope {
  /** All steps of the whole query. */
  readonly whole: Grid;
  /** The steps that this plan computes. */
  readonly grid: Grid;
  /** Whether this is the one step at which step-invariant parts are evaluated. */
  readonly once: boolean;
}

export function rootScope(whole: Grid, span: Grid | undefined): Scope {
  return { whole, grid: trimEnd(span ?? whole), once: false };
}

/** The first step of the whole query, at which step-invariant parts are evaluated. */
export function firstStepScope({ whole }: Scope): Scope {
  const first = { startMs: whole.startMs, endMs: whole.startMs, stepMs: whole.stepMs };
  return { whole: first, grid: first, once: true };
}

/** The step at which `@` has a subquery evaluated. */
export function fixedScope(atMs: number): Scope {
  const grid = instantGrid(atMs);
  return { whole: grid, grid, once: false };
}

/** The order of a result matters only if there is one step. */
export function isSingleStep({ whole }: Scope): boolean {
  return whole.startMs === whole.endMs;
}

export interface SubqueryTimes {
  readonly rangeMs: number;
  readonly offsetMs: number;
  readonly stepMs: number;
}

/** A subquery's steps are multiples of its step, so that they are the same for every query. */
export function subqueryScope(parent: Scope, times: SubqueryTimes): Scope {
  return {
    whole: subqueryGrid(parent.whole, times),
    grid: trimEnd(subqueryGrid(parent.grid, times)),
    once: false,
  };
}

function subqueryGrid(parent: Grid, { rangeMs, offsetMs, stepMs }: SubqueryTimes): Grid {
  const afterMs = parent.startMs - offsetMs - rangeMs;
  const startMs = Math.floor(afterMs / stepMs) * stepMs + stepMs;
  const grid = { startMs, endMs: trimEnd(parent).endMs - offsetMs, stepMs };
  const steps = stepCount(grid);
  if (steps > stepsMax) throw tooManySteps(steps);
  return grid;
}

/** Limit of the elements of a column. A year in steps of 4 s has fewer. */
const stepsMax = 10_000_000;

function tooManySteps(steps: number): PromqlError {
  const message = `a subquery has ${steps} steps; at most ${stepsMax} are evaluated`;
  return new PromqlError("execution", message);
}

/** The same steps, with the end moved to the last of them. */
export function trimEnd(grid: Grid): Grid {
  const count = stepCount(grid);
  if (count === 0) return grid;
  const endMs = grid.startMs + (count - 1) * grid.stepMs;
  return endMs === grid.endMs ? grid : { ...grid, endMs };
}
