/** The signatures of Prometheus 3.14's functions, including experimental ones. */
import type { ValueType } from "./ast.ts";

export interface FunctionSignature {
  readonly name: string;
  readonly argTypes: readonly ValueType[];
  /** 0: exactly `argTypes`. Positive: the last type 0 to this many times. Negative: any number. */
  readonly variadic: number;
  readonly returnType: ValueType;
  readonly experimental: boolean;
}

const typeByLetter: Readonly<Record<string, ValueType>> = {
  m: "matrix",
  s: "scalar",
  t: "string",
  v: "vector",
};

/** One letter per argument: m(atrix), s(calar), t(ext), v(ector). The result is a vector. */
const stable: readonly (readonly [args: string, variadic: number, names: string])[] = [
  ["v", 0, "abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor"],
  ["v", 0, "histogram_avg histogram_count histogram_stddev histogram_stdvar histogram_sum"],
  ["v", 0, "ln log10 log2 rad sgn sin sinh sort sort_desc sqrt tan tanh timestamp"],
  ["v", 1, "day_of_month day_of_week day_of_year days_in_month hour minute month year"],
  ["vs", 0, "clamp_max clamp_min"],
  ["vs", 1, "round"],
  ["vss", 0, "clamp"],
  ["sv", 0, "histogram_quantile"],
  ["ssv", 0, "histogram_fraction"],
  ["s", 0, "vector"],
  ["vtttt", 0, "label_replace"],
  ["vttt", -1, "label_join"],
  ["m", 0, "absent_over_time avg_over_time changes count_over_time delta deriv first_over_time"],
  ["m", 0, "idelta increase irate last_over_time max_over_time min_over_time present_over_time"],
  ["m", 0, "rate resets stddev_over_time stdvar_over_time sum_over_time"],
  ["ms", 0, "predict_linear"],
  ["sm", 0, "quantile_over_time"],
];
const experimental: typeof stable = [
  ["v", 0, "start_timestamp"],
  ["vv", 1, "info"],
  ["vt", -1, "sort_by_label sort_by_label_desc"],
  ["vtss", 9, "histogram_quantiles"],
  ["m", 0, "mad_over_time ts_of_first_over_time ts_of_last_over_time"],
  ["m", 0, "ts_of_max_over_time ts_of_min_over_time"],
  ["mss", 0, "double_exponential_smoothing"],
];
const stableScalars: typeof stable = [
  ["", 0, "pi time"],
  ["v", 0, "scalar"],
];
const experimentalScalars: typeof stable = [
  ["", 0, "end range start step"],
  ["ss", 0, "max_of min_of"],
];

export const functionSignatures: ReadonlyMap<string, FunctionSignature> = new Map([
  ...signatures(stable, "vector", false),
  ...signatures(experimental, "vector", true),
  ...signatures(stableScalars, "scalar", false),
  ...signatures(experimentalScalars, "scalar", true),
]);

function signatures(
  rows: typeof stable,
  returnType: ValueType,
  isExperimental: boolean,
): (readonly [name: string, signature: FunctionSignature])[] {
  return rows.flatMap(([args, variadic, names]) => {
    const argTypes = [...args].map((letter) => typeByLetter[letter] as ValueType);
    return names
      .split(" ")
      .map(
        (name) =>
          [name, { name, argTypes, variadic, returnType, experimental: isExperimental }] as const,
      );
  });
}
