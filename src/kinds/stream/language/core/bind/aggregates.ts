/** The aggregates: what they take, and what they give. */
import { type DataType, isFloat, isInteger, isNumeric, type TypeName } from "../data-type.ts";
import type { AggregateFunction } from "../plan.ts";

const names: ReadonlyMap<string, AggregateFunction> = new Map<string, AggregateFunction>([
  ["COUNT", "count"],
  ["SUM", "sum"],
  ["MIN", "min"],
  ["MAX", "max"],
  ["AVG", "avg"],
  ["MEDIAN", "median"],
  ["STDDEV", "stddev_samp"],
  ["STDDEV_SAMP", "stddev_samp"],
  ["STDDEV_POP", "stddev_pop"],
  ["VAR", "var_samp"],
  ["VARIANCE", "var_samp"],
  ["VAR_SAMP", "var_samp"],
  ["VAR_POP", "var_pop"],
  ["FIRST", "first"],
  ["LAST", "last"],
]);

export function aggregateOf(name: string): AggregateFunction | undefined {
  return names.get(name.toUpperCase());
}

export function aggregateNames(): Iterable<string> {
  return names.keys();
}

export function isAggregateName(name: string): boolean {
  return names.has(name.toUpperCase());
}

/** The type of the result; `undefined` where the aggregate does not take the argument. */
export function aggregateType(
  fn: AggregateFunction,
  arg: DataType | undefined,
  filtered: boolean,
): DataType | undefined {
  if (fn === "count" || fn === "count_all") return { name: "UINT64", nullable: false };
  if (arg === undefined) return undefined;
  const name = resultName(fn, arg.name);
  if (name === undefined) return undefined;
  const isSample = fn === "stddev_samp" || fn === "var_samp";
  return { name, nullable: arg.nullable || filtered || isSample };
}

function resultName(fn: AggregateFunction, arg: TypeName): TypeName | undefined {
  switch (fn) {
    case "min":
    case "max":
      return isNumeric(arg) || arg === "CHAR" || arg === "VARSIZED" ? arg : undefined;
    case "first":
    case "last":
      return arg;
    case "sum":
      if (isFloat(arg)) return arg;
      if (!isInteger(arg)) return undefined;
      return arg.startsWith("U") ? "UINT64" : "INT64";
    default:
      return isNumeric(arg) ? "FLOAT64" : undefined;
  }
}
