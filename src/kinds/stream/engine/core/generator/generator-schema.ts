/**
 * What a generator's columns are made of, from the text of GENERATOR_SCHEMA: one entry for each
 * field of the record, separated by commas.
 *
 *   SEQUENCE type from to step     from, from + step, …; at `to` it has finished and repeats itself
 *   RANDOM type from to            uniform in [from, to)
 *   NORMAL_DISTRIBUTION type mean deviation
 */
import {
  DialectError,
  isFloat,
  isNumeric,
  type Schema,
  type TypeName,
} from "../../../language/core/index.ts";

export type ColumnGenerator =
  | { readonly kind: "sequence"; readonly from: string; readonly to: string; readonly step: string }
  | { readonly kind: "random"; readonly from: number; readonly to: number }
  | { readonly kind: "normal"; readonly mean: number; readonly deviation: number };

const argumentCounts = { SEQUENCE: 3, RANDOM: 2, NORMAL_DISTRIBUTION: 2 } as const;

export function parseGeneratorSchema(text: string, record: Schema): readonly ColumnGenerator[] {
  const entries = text
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length !== record.length) {
    throw invalid(`has ${entries.length} columns, and the source has ${record.length}`);
  }
  return entries.map((entry, index) => parseEntry(entry, record[index]?.type.name ?? "VARSIZED"));
}

function parseEntry(entry: string, declared: TypeName): ColumnGenerator {
  const [kind = "", type = "", ...args] = entry.split(/\s+/);
  const name = kind.toUpperCase();
  if (!(name in argumentCounts)) {
    throw invalid(
      `has ${JSON.stringify(kind)}: there are ${Object.keys(argumentCounts).join(", ")}`,
    );
  }
  if (type.toUpperCase() !== declared || !isNumeric(declared)) {
    throw invalid(`makes ${type} in ${JSON.stringify(entry)}, and the field is ${declared}`);
  }
  const count = argumentCounts[name as keyof typeof argumentCounts];
  if (args.length !== count) {
    throw invalid(`wants ${count} numbers behind ${name} ${declared}, not ${args.length}`);
  }
  const numbers = args.map((arg) => parseNumber(arg, isFloat(declared) || name !== "SEQUENCE"));
  const [first = 0, second = 0, third = 0] = numbers;
  if (name === "SEQUENCE") {
    if (third <= 0) throw invalid(`wants a step greater than 0 in ${JSON.stringify(entry)}`);
    const [from = "", to = "", step = ""] = args;
    return { kind: "sequence", from, to, step };
  }
  if (name === "RANDOM") return { kind: "random", from: first, to: second };
  return { kind: "normal", mean: first, deviation: second };
}

function parseNumber(text: string, mayBeFraction: boolean): number {
  const pattern = mayBeFraction ? /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i : /^[+-]?\d+$/;
  if (!pattern.test(text)) throw invalid(`has ${JSON.stringify(text)} where a number belongs`);
  return Number(text);
}

function invalid(what: string): DialectError {
  return new DialectError(1000, `GENERATOR_SCHEMA ${what}`, {
    hint: "For example 'SEQUENCE UINT64 0 1000 1, RANDOM FLOAT64 0 100'.",
  });
}
