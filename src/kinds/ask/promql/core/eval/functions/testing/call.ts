/** Calls functions in tests. */
import { assert } from "../../../../../../../ground/kernel/errors.ts";
import { AnnotationSet } from "../../../annotations.ts";
import { defaultEngineOptions } from "../../../engine-types.ts";
import type { FloatHistogram } from "../../../histogram/float-histogram.ts";
import { Labels } from "../../../labels.ts";
import { type StepSeries, stepAbsent, stepFloat, stepHistogram } from "../../../model.ts";
import { instantFunctions } from "../instant-functions.ts";
import type { InstantArg, InstantResult } from "../types.ts";

/** A float, a histogram, or nothing. */
export type Sample = number | FloatHistogram | undefined;

export function series(labels: Readonly<Record<string, string>>, ...samples: Sample[]): StepSeries {
  const histograms = samples.map((sample) => (typeof sample === "object" ? sample : undefined));
  return {
    labels: Labels.of(labels),
    dropName: false,
    kinds: Uint8Array.from(samples, (sample) =>
      sample === undefined ? stepAbsent : typeof sample === "number" ? stepFloat : stepHistogram,
    ),
    values: Float64Array.from(samples, (sample) => (typeof sample === "number" ? sample : 0)),
    histograms: histograms.some((histogram) => histogram !== undefined) ? histograms : undefined,
  };
}

export interface Called {
  readonly result: InstantResult;
  /** `name{label="value"}` with its samples; a `-` in front marks a name to be dropped. */
  readonly lines: readonly string[];
  /** Each as `level@place: message`. */
  readonly notes: readonly string[];
}

export interface CallOptions {
  readonly steps?: number;
  readonly delayedNameRemoval?: boolean;
  readonly startMs?: number;
  readonly make?: (labels: Labels) => Labels;
}

/** A vector is an array of series, a scalar a number or one per step. Steps are 1 minute apart. */
export function call(
  name: string,
  args: readonly (StepSeries[] | number | Float64Array | string)[],
  {
    steps = 1,
    delayedNameRemoval = true,
    startMs = 0,
    make = (labels) => labels,
  }: CallOptions = {},
): Called {
  const evaluate = instantFunctions.get(name);
  assert(evaluate !== undefined, `${name} exists`);
  const annotations = new AnnotationSet();
  const result = evaluate(
    args.map((arg) => toArg(arg, steps)),
    {
      grid: { startMs, endMs: startMs + (steps - 1) * 60_000, stepMs: 60_000 },
      instant: steps === 1,
      annotations,
      options: { ...defaultEngineOptions, delayedNameRemoval },
      make,
    },
  );
  return {
    result,
    lines: result.type === "scalar" ? [[...result.values].join(" ")] : result.series.map(toLine),
    notes: annotations
      .entries()
      .map(({ level, message, place }) => `${level}@${place}: ${message}`),
  };
}

function toArg(arg: StepSeries[] | number | Float64Array | string, steps: number): InstantArg {
  if (typeof arg === "string") return { type: "string", text: arg };
  if (typeof arg === "number") {
    return { type: "scalar", values: new Float64Array(steps).fill(arg) };
  }
  if (arg instanceof Float64Array) return { type: "scalar", values: arg };
  return { type: "vector", series: arg };
}

function toLine({ labels, dropName, kinds, values }: StepSeries): string {
  const pairs = [...labels.withoutName().entries()].map(([name, value]) => `${name}="${value}"`);
  const samples = [...kinds].map((kind, step) =>
    kind === stepAbsent ? "_" : kind === stepFloat ? toText(values[step] as number) : "H",
  );
  return `${dropName ? "-" : ""}${labels.name}{${pairs.join(",")}} ${samples.join(" ")}`;
}

/** Rounds the last digits. */
function toText(value: number): string {
  return String(Number(value.toPrecision(14)));
}
