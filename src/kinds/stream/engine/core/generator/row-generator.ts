/**
 * Makes rows. A value depends on the seed, the column and the number of the row only, so that a
 * generator can go on at any row (SG10).
 */
import {
  type IntegerType,
  isFloat,
  isInteger,
  isSigned,
  type Schema,
  widthOf,
} from "../../../language/core/index.ts";
import { type Batch, type Column, createValues, type FixedArray } from "../batch.ts";
import type { ColumnGenerator } from "./generator-schema.ts";

/** When the sequences of its columns end the generator: all of them, the first, or never. */
export type GeneratorStop = "ALL" | "ONE" | "NONE";

export interface RowGeneratorOptions {
  readonly record: Schema;
  /** Which fields are made, in this order. */
  readonly columns: readonly number[];
  readonly generators: readonly ColumnGenerator[];
  readonly seed: number;
  readonly stop: GeneratorStop;
}

type Fill = (values: FixedArray, firstRow: number, count: number) => void;

export class RowGenerator {
  readonly #columns: readonly { readonly column: Column; readonly fill: Fill }[];
  readonly #rowsMax: number;
  readonly #batchRows: number;

  constructor(options: RowGeneratorOptions, batchRows: number) {
    this.#batchRows = batchRows;
    this.#rowsMax = rowsOf(options);
    this.#columns = options.columns.map((index) => columnOf(options, index, batchRows));
  }

  /** How many rows there are; infinity for a generator without an end. */
  get rowsMax(): number {
    return this.#rowsMax;
  }

  /** The rows from `firstRow` on, at most so many; `undefined` when there are none left. */
  make(firstRow: number, rowsMax: number): Batch | undefined {
    const rowCount = Math.min(this.#batchRows, rowsMax, this.#rowsMax - firstRow);
    if (rowCount <= 0) return undefined;
    for (const { column, fill } of this.#columns) {
      if (column.kind === "fixed") fill(column.values, firstRow, rowCount);
    }
    return { rowCount, columns: this.#columns.map(({ column }) => column), selection: undefined };
  }
}

/** A sequence has made its last value in front of the row with the number of its steps. */
function rowsOf({ generators, stop }: RowGeneratorOptions): number {
  const lengths = generators.flatMap((generator) =>
    generator.kind === "sequence" ? [stepsOf(generator)] : [],
  );
  if (stop === "NONE" || lengths.length === 0) return Number.POSITIVE_INFINITY;
  return stop === "ONE" ? Math.min(...lengths) : Math.max(...lengths);
}

function stepsOf({ from, to, step }: Extract<ColumnGenerator, { kind: "sequence" }>): number {
  if (/[.e]/i.test(from + to + step)) {
    return Math.max(0, Math.ceil((Number(to) - Number(from)) / Number(step)));
  }
  const span = BigInt(to) - BigInt(from);
  const steps = (span + BigInt(step) - 1n) / BigInt(step);
  return steps > 0n ? Number(steps) : 0;
}

function columnOf(
  { record, generators, seed }: RowGeneratorOptions,
  index: number,
  batchRows: number,
): { readonly column: Column; readonly fill: Fill } {
  const type = record[index]?.type.name ?? "FLOAT64";
  const generator = generators[index];
  if (generator === undefined || !(isInteger(type) || isFloat(type))) {
    throw new RangeError("a generator's columns are numbers");
  }
  const values = createValues(type, batchRows);
  const column: Column = { kind: "fixed", type, values, validity: undefined };
  if (generator.kind === "sequence") {
    const fill = isWide(type) ? wideSequence(generator, type) : narrowSequence(generator);
    return { column, fill };
  }
  const streamOf = (row: number): number => uniform(seed, index, row);
  const draw =
    generator.kind === "random"
      ? (row: number) => generator.from + streamOf(row) * (generator.to - generator.from)
      : (row: number) => generator.mean + generator.deviation * gaussian(seed, index, row);
  return { column, fill: isWide(type) ? wideDraw(draw) : narrowDraw(draw) };
}

function isWide(type: string): type is IntegerType {
  return isInteger(type as IntegerType) && widthOf(type as IntegerType) === 8;
}

function narrowSequence({ from, to, step }: Extract<ColumnGenerator, { kind: "sequence" }>): Fill {
  const [first, last, by] = [Number(from), Number(to), Number(step)];
  const steps = Math.max(0, Math.ceil((last - first) / by));
  return (values, firstRow, count) => {
    for (let row = 0; row < count; row += 1) {
      values[row] = first + Math.min(firstRow + row, steps) * by;
    }
  };
}

function wideSequence(
  sequence: Extract<ColumnGenerator, { kind: "sequence" }>,
  type: IntegerType,
): Fill {
  const steps = stepsOf(sequence);
  const first = BigInt(sequence.from);
  const by = BigInt(sequence.step);
  const wrap = isSigned(type) ? BigInt.asIntN : BigInt.asUintN;
  return (values, firstRow, count) => {
    const out = values as BigInt64Array;
    let value = wrap(64, first + BigInt(Math.min(firstRow, steps)) * by);
    for (let row = 0; row < count; row += 1) {
      out[row] = value;
      if (firstRow + row < steps) value = wrap(64, value + by);
    }
  };
}

function narrowDraw(draw: (row: number) => number): Fill {
  return (values, firstRow, count) => {
    for (let row = 0; row < count; row += 1) values[row] = draw(firstRow + row);
  };
}

function wideDraw(draw: (row: number) => number): Fill {
  return (values, firstRow, count) => {
    const out = values as BigInt64Array;
    for (let row = 0; row < count; row += 1) out[row] = BigInt(Math.floor(draw(firstRow + row)));
  };
}

/** A number in [0, 1) that looks random, by a mix of the seed, the column and the row. */
function uniform(seed: number, column: number, row: number): number {
  let hash = (seed ^ Math.imul(column + 1, 0x9e3779b1)) | 0;
  hash = mix(hash ^ (row >>> 0));
  hash = mix(hash ^ Math.floor(row / 2 ** 32));
  const high = mix(hash ^ 0x5bd1e995) >>> 5;
  return (high * 2 ** 26 + (mix(hash ^ 0x27d4eb2f) >>> 6)) / 2 ** 53;
}

function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function gaussian(seed: number, column: number, row: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - uniform(seed, column, row)));
  return radius * Math.cos(2 * Math.PI * uniform(seed ^ 0x2545f491, column, row));
}
