/** The function of a leaf: chosen once per leaf, then run on every series. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { kernelKeepsName, rangeKernels } from "../kernels/range-kernels.ts";
import { selectInstant, selectSmoothed } from "../kernels/select-instant.ts";
import type { MutableSteps, WindowSpec } from "../kernels/types.ts";
import { reachedEdges } from "../kernels/windows.ts";
import type { Labels } from "../labels.ts";
import type { BaseExpr, LeafCall } from "../leaf.ts";
import { type AnnotationSink, type SampleColumns, stepAbsent } from "../model.ts";
import type { SampleBudget } from "./sample-budget.ts";

export interface LeafFunction {
  /** Whether the name is removed from the result. */
  readonly dropsName: boolean;
  /** Fills `out`, whose histograms are undefined before. */
  run(samples: SampleColumns, labels: Labels, out: MutableSteps, annotations: AnnotationSink): void;
  /** Throws when a window is too large. */
  checkWindows(samples: SampleColumns, budget: SampleBudget): void;
}

export function leafFunction(
  leaf: BaseExpr,
  call: LeafCall | undefined,
  checkStop?: () => void,
): LeafFunction {
  if (leaf.rangeMs === undefined) return instantFunction(leaf, call);
  assert(call !== undefined, "a range selector without a function has raw output");
  return rangeFunction(leaf, leaf.rangeMs, call, checkStop);
}

function rangeFunction(
  leaf: BaseExpr,
  rangeMs: number,
  call: LeafCall,
  checkStop: (() => void) | undefined,
): LeafFunction {
  const kernel = rangeKernels.get(call.name);
  assert(kernel !== undefined, `${call.name} is a function of a range vector`);
  const { grid, offsetMs, bounds, lookbackMs, useStartTs } = leaf;
  const windows: WindowSpec = {
    grid,
    rangeMs,
    offsetMs,
    bounds,
    lookbackMs,
    fixed: false,
    useStartTs,
    checkStop,
  };
  const args = call.args.map((arg) => Float64Array.of(arg));
  const edges = reachedEdges(windows);
  return {
    dropsName: !kernelKeepsName(call.name),
    run: (samples, labels, out, annotations) =>
      kernel(samples, windows, args, labels.name, out, annotations),
    checkWindows: (samples, budget) => budget.checkWindows(samples, edges),
  };
}

function instantFunction(leaf: BaseExpr, call: LeafCall | undefined): LeafFunction {
  const checkWindows = () => {};
  if (call === undefined && leaf.bounds === "smoothed") {
    return {
      dropsName: false,
      run: (samples, labels, out, annotations) =>
        selectSmoothed(samples, leaf, labels.name, out, annotations),
      checkWindows,
    };
  }
  const selected = call?.name ?? "value";
  assert(
    selected === "value" || selected === "timestamp" || selected === "start_timestamp",
    `${selected} is a function of an instant selector's samples`,
  );
  const nothing = selected === "start_timestamp" && !leaf.useStartTs;
  return {
    dropsName: call !== undefined,
    run: (samples, _labels, out) => {
      if (nothing) out.kinds.fill(stepAbsent);
      else selectInstant(samples, leaf, selected, out);
    },
    checkWindows,
  };
}
