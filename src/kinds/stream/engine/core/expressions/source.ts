/**
 * The source text of one compiled function while it is being written. Only what this folder writes
 * gets into it: columns become numbered slots, and constants become numbered arguments, so that no
 * name and no literal of a person is ever part of the text, and expressions of one shape share it.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Expr, TypeName } from "../../../language/core/index.ts";
import { zeroOf } from "./representation.ts";

/** Which loop is written: over all rows, or over those of a selection. */
export interface Variant {
  readonly selected: boolean;
  /** Whether the column of the input has NULLs in this batch. */
  hasNulls(column: number): boolean;
}

/** A value while a row is computed: JavaScript expressions that are cheap to repeat. */
export type Operand = FixedOperand | TextOperand;

export interface FixedOperand {
  readonly kind: "fixed";
  readonly value: string;
  /** `"false"` where it is known that it is never NULL. */
  readonly isNull: string;
}

export interface TextOperand {
  readonly kind: "text";
  readonly bytes: string;
  readonly start: string;
  readonly end: string;
  readonly isNull: string;
}

export class Source {
  readonly variant: Variant;
  /** The input's column for each slot. */
  readonly slots: number[] = [];
  readonly constants: unknown[] = [];
  readonly helpers = new Set<string>();
  usesArena = false;
  /** Statements before the loop. */
  readonly head: string[] = [];
  /** Statements of the loop's body that read columns; they come first. */
  readonly reads: string[] = [];
  /** The other statements of the loop's body. */
  readonly lines: string[] = [];
  readonly #columns = new Map<number, Operand>();
  #names = 0;

  constructor(variant: Variant) {
    this.variant = variant;
  }

  line(text: string): void {
    this.lines.push(text);
  }

  name(): string {
    this.#names += 1;
    return `t${this.#names}`;
  }

  /** A local constant with this value. */
  local(value: string): string {
    const name = this.name();
    this.line(`const ${name} = ${value};`);
    return name;
  }

  /** An argument of the compiled function; `as` says how its type is made known. */
  constant(value: unknown, as: (argument: string) => string = (argument) => argument): string {
    const name = `k${this.constants.length}`;
    this.head.push(`const ${name} = ${as(`constants[${this.constants.length}]`)};`);
    this.constants.push(value);
    return name;
  }

  helper(name: string): string {
    this.helpers.add(name);
    return name;
  }

  /** The operand of a column, read once for each row. */
  column(index: number, read: (slot: number, isNull: string) => Operand): Operand {
    const known = this.#columns.get(index);
    if (known !== undefined) return known;
    const slot = this.slots.length;
    this.slots.push(index);
    let isNull = "false";
    if (this.variant.hasNulls(index)) {
      this.head.push(`const n${slot} = columns[${slot}].validity;`);
      this.reads.push(`const m${slot} = ((n${slot}[r >> 3] >> (r & 7)) & 1) === 0;`);
      isNull = `m${slot}`;
    }
    const operand = read(slot, isNull);
    this.#columns.set(index, operand);
    return operand;
  }
}

/** The condition that one of them is NULL. */
export function anyNull(...conditions: readonly string[]): string {
  if (conditions.includes("true")) return "true";
  const possible = [...new Set(conditions.filter((condition) => condition !== "false"))];
  return possible.length === 0 ? "false" : possible.join(" || ");
}

export function not(condition: string): string {
  if (condition === "false") return "true";
  return condition === "true" ? "false" : `!(${condition})`;
}

/** Writes the statements of an expression and returns its operand. */
export type Generate = (source: Source, expr: Expr) => Operand;

export function fixed(value: string, isNull = "false"): FixedOperand {
  return { kind: "fixed", value, isNull };
}

export function asFixed(operand: Operand): FixedOperand {
  assert(operand.kind === "fixed", "an operand of a fixed-width type");
  return operand;
}

export function asText(operand: Operand): TextOperand {
  assert(operand.kind === "text", "an operand of type VARSIZED");
  return operand;
}

/** The text as three arguments. */
export function spread({ bytes, start, end }: TextOperand): string {
  return `${bytes}, ${start}, ${end}`;
}

/** The text that the arena holds now, under names of its own. */
export function madeText(source: Source, isNull: string): TextOperand {
  source.usesArena = true;
  return {
    kind: "text",
    bytes: source.local("arena.bytes"),
    start: source.local("arena.start"),
    end: source.local("arena.end"),
    isNull,
  };
}

/** A variable for a result that is assigned in branches. */
export interface Result {
  readonly operand: Operand;
  assign(from: Operand): void;
}

/** Declares a variable for a value of the type; `canBeNull` whether it may become NULL. */
export function declareResult(source: Source, type: TypeName, canBeNull: boolean): Result {
  const name = source.name();
  const isNull = canBeNull ? `${name}n` : "false";
  if (canBeNull) source.line(`let ${name}n = false;`);
  const assignNull = (from: Operand): void => {
    if (canBeNull) source.line(`${name}n = ${from.isNull};`);
  };
  if (type === "VARSIZED") {
    source.line(`let ${name}b = noBytes, ${name}s = 0, ${name}e = 0;`);
    return {
      operand: {
        kind: "text",
        bytes: `${name}b`,
        start: `${name}s`,
        end: `${name}e`,
        isNull,
      },
      assign: (from) => {
        const text = asText(from);
        source.line(`${name}b = ${text.bytes};`);
        source.line(`${name}s = ${text.start};`);
        source.line(`${name}e = ${text.end};`);
        assignNull(from);
      },
    };
  }
  source.line(`let ${name} = ${zeroOf(type)};`);
  return {
    operand: fixed(name, isNull),
    assign: (from) => {
      source.line(`${name} = ${asFixed(from).value};`);
      assignNull(from);
    },
  };
}
