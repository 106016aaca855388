/**
 * Random expressions over the series of `random-series.ts`: mostly well typed, so that most of them
 * have results.
 */
import type { Prng } from "../../src/ground/kernel/prng.ts";

const metrics = [
  "requests_total",
  "requests_total",
  "memory",
  "memory",
  "odd",
  "limits",
  "latency",
  "size",
  "mixed",
  "wait_bucket",
];
const matchers = [
  "",
  "",
  '{job="a"}',
  '{job=~"a|b"}',
  '{job!="c",instance="0"}',
  '{instance=~".*"}',
  '{job!~"b.*"}',
  '{job="nobody"}',
];
const ranges = ["30s", "1m", "95s", "5m", "10m"];
const rangeFunctions = [
  ...["rate", "increase", "delta", "irate", "idelta", "resets", "changes", "deriv"],
  ...["sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "count_over_time"],
  ...["last_over_time", "first_over_time", "present_over_time", "stddev_over_time"],
  ...["stdvar_over_time", "absent_over_time", "mad_over_time", "ts_of_max_over_time"],
  ...["ts_of_min_over_time", "ts_of_last_over_time", "ts_of_first_over_time"],
];
const instantFunctions = [
  ...["abs", "ceil", "floor", "exp", "ln", "sqrt", "sgn", "round", "sin", "atan", "deg"],
  ...["sort", "timestamp", "absent", "hour", "day_of_week", "histogram_count"],
  ...["histogram_sum", "histogram_avg", "histogram_stddev", "histogram_stdvar", "log10"],
];
const aggregations = ["sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"];
const groupings = ["", "", " by (job)", " by (instance)", " without (instance)", " by (nothing)"];
const arithmetic = ["+", "-", "*", "/", "%", "^", "atan2"];
const comparisons = ["==", "!=", ">", "<", ">=", "<="];
const matchings = [
  "",
  "",
  " on(job)",
  " ignoring(instance)",
  " on(job) group_left",
  " on(job) group_right",
  " on(job) group_left(version)",
];

export function randomQuery(prng: Prng): string {
  return prng.below(12) === 0 ? scalar(prng, 3) : vector(prng, 3);
}

function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[prng.below(items.length)] as T;
}

function times(prng: Prng): string {
  const at = ["", "", "", "", " @ 1700000600", " @ start()", " @ end()"];
  const offset = ["", "", "", " offset 1m", " offset -45s", " offset 10m"];
  return `${pick(prng, offset)}${pick(prng, at)}`;
}

function selector(prng: Prng): string {
  return `${pick(prng, metrics)}${pick(prng, matchers)}`;
}

function matrix(prng: Prng, depth: number): string {
  if (depth > 0 && prng.below(5) === 0) {
    const step = pick(prng, ["", "15s", "30s", "1m"]);
    const inner = vector(prng, depth - 1);
    return `(${inner})[${pick(prng, ranges)}:${step}]${times(prng)}`;
  }
  return `${selector(prng)}[${pick(prng, ranges)}]${times(prng)}`;
}

function rangeCall(prng: Prng, depth: number): string {
  switch (prng.below(12)) {
    case 0:
      return `quantile_over_time(${number(prng)}, ${matrix(prng, depth)})`;
    case 1:
      return `predict_linear(${matrix(prng, 0)}, ${scalar(prng, depth - 1)})`;
    case 2:
      return `double_exponential_smoothing(${matrix(prng, depth)}, 0.3, 0.6)`;
    case 3: {
      const name = pick(prng, ["rate", "increase", "delta"]);
      const bounds = pick(prng, ["anchored", "smoothed"]);
      return `${name}(${selector(prng)}[${pick(prng, ranges)}] ${bounds})`;
    }
    default:
      return `${pick(prng, rangeFunctions)}(${matrix(prng, depth)})`;
  }
}

function vector(prng: Prng, depth: number): string {
  if (depth <= 0) {
    return prng.below(3) === 0 ? rangeCall(prng, 0) : `${selector(prng)}${times(prng)}`;
  }
  const inner = () => vector(prng, depth - 1);
  switch (prng.below(14)) {
    case 0:
      return `${selector(prng)}${times(prng)}`;
    case 1:
    case 2:
      return rangeCall(prng, depth);
    case 3:
    case 4:
    case 5:
      return `${pick(prng, aggregations)}${pick(prng, groupings)} (${inner()})`;
    case 6:
      return parametricAggregation(prng, inner());
    case 7:
      return `${pick(prng, instantFunctions)}(${inner()})`;
    case 8:
      return otherCall(prng, inner());
    case 9:
      return `(${inner()}) ${pick(prng, arithmetic)}${pick(prng, matchings)} (${inner()})`;
    case 10: {
      const bool = pick(prng, ["", " bool"]);
      return `(${inner()}) ${pick(prng, comparisons)}${bool}${pick(prng, matchings)} (${inner()})`;
    }
    case 11: {
      const on = pick(prng, ["", " on(job)", " ignoring(instance)"]);
      return `(${inner()}) ${pick(prng, ["and", "or", "unless"])}${on} (${inner()})`;
    }
    case 12: {
      const op = pick(prng, [...arithmetic, ...comparisons]);
      const [left, right] = [inner(), scalar(prng, depth - 1)];
      return prng.below(2) === 0 ? `(${left}) ${op} (${right})` : `(${right}) ${op} (${left})`;
    }
    default:
      return `-(${inner()})`;
  }
}

function parametricAggregation(prng: Prng, inner: string): string {
  const grouping = pick(prng, groupings);
  switch (prng.below(4)) {
    case 0:
      return `quantile${grouping} (${number(prng)}, ${inner})`;
    case 1:
      return `count_values${grouping} ("value", ${inner})`;
    case 2:
      return `limit_ratio${grouping} (${pick(prng, ["0.5", "-0.5", "1"])}, ${inner})`;
    default:
      return `count(topk${grouping} (${1 + prng.below(3)}, ${inner}))`;
  }
}

function otherCall(prng: Prng, inner: string): string {
  const calls = [
    `clamp(${inner}, -3, ${number(prng)})`,
    `clamp_min(${inner}, ${number(prng)})`,
    `round(${inner}, 0.5)`,
    `label_replace(${inner}, "copy", "$1-x", "job", "(.).*")`,
    `label_join(${inner}, "both", "/", "job", "instance")`,
    `histogram_quantile(${number(prng)}, ${inner})`,
    `histogram_fraction(0, ${number(prng)}, ${inner})`,
    `vector(scalar(${inner}))`,
    `histogram_quantile(0.9, sum by (le) (rate(wait_bucket[5m])))`,
    `sort_by_label(${inner}, "job")`,
  ];
  return pick(prng, calls);
}

function scalar(prng: Prng, depth: number): string {
  switch (prng.below(depth > 0 ? 5 : 3)) {
    case 0:
    case 1:
      return number(prng);
    case 2:
      return "time()";
    case 3:
      return `scalar(${vector(prng, depth - 1)})`;
    default:
      return `(${scalar(prng, depth - 1)}) ${pick(prng, arithmetic)} (${scalar(prng, depth - 1)})`;
  }
}

function number(prng: Prng): string {
  return pick(prng, ["0", "1", "0.5", "0.9", "2", "-1", "1.5", "100", "NaN", "+Inf", "-Inf"]);
}
