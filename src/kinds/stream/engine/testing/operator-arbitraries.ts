/** What the property test of the operators draws: types, values, rows, events. */
import fc from "fast-check";
import {
  type DataType,
  type FixedType,
  type Schema,
  type TypeName,
  widthOf,
} from "../../language/core/index.ts";
import { endOfTime } from "../core/index.ts";
import type { OperatorEvent } from "./drive-operator.ts";
import type { Row, Value } from "./rows.ts";

const fixedTypes: readonly FixedType[] = [
  "INT8",
  "INT16",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT32",
  "UINT64",
  "FLOAT32",
  "FLOAT64",
  "CHAR",
];
export const numericTypes: readonly FixedType[] = fixedTypes.filter((type) => type !== "CHAR");
export const allTypes: readonly TypeName[] = [...fixedTypes, "VARSIZED"];

export function typeArb(names: readonly TypeName[]): fc.Arbitrary<DataType> {
  return fc.record({ name: fc.constantFrom(...names), nullable: fc.boolean() });
}

const texts = [
  "",
  "a",
  "b",
  "ab",
  "abcde",
  "äöü",
  "a longer text of more than 32 bytes, for copies",
];

/** A few values of each type, its limits among them, so that keys meet. */
export function valueFor({ name, nullable }: DataType, code: number): Value {
  if (nullable && code === 0) return null;
  if (name === "VARSIZED") return texts[code % texts.length] ?? "";
  if (name === "FLOAT32" || name === "FLOAT64") return ((code % 9) - 4) / 4;
  if (name === "BOOLEAN") return BigInt(code % 2);
  if (name === "CHAR") return BigInt(97 + (code % 5));
  const bits = BigInt(widthOf(name) * 8);
  const signed = name.startsWith("INT");
  const greatest = signed ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
  const least = signed ? -greatest - 1n : 0n;
  if (code === 9) return greatest;
  if (code === 8) return least;
  return signed ? BigInt(code - 3) : BigInt(code);
}

export interface DrawnEvent {
  readonly input: number;
  /** How far the time of the source moves before the rows. */
  readonly step: number;
  readonly rows: readonly { readonly behind: number; readonly codes: readonly number[] }[];
  readonly hidden: boolean;
  readonly marks: boolean;
  readonly restarts: boolean;
}

/** Rows are at most so far behind those before them, counted without jumps. */
export const disorderMs = 300;

const row = fc.record({
  behind: fc.nat(disorderMs),
  codes: fc.array(fc.nat(9), { minLength: 6, maxLength: 6 }),
});

export function eventsArb(inputCount: number): fc.Arbitrary<DrawnEvent[]> {
  const event = fc.record({
    input: fc.nat(inputCount - 1),
    step: fc.oneof(
      { weight: 12, arbitrary: fc.nat(200) },
      { weight: 1, arbitrary: fc.constantFrom(5_000, 86_400_000, 31_556_952_000_000) },
    ),
    rows: fc.array(row, { maxLength: 12 }),
    hidden: fc.boolean(),
    marks: fc.boolean(),
    restarts: fc.nat(9).map((dice) => dice === 0),
  });
  return fc.array(event, { maxLength: 25 });
}

export const timeTypeArb: fc.Arbitrary<"UINT64" | "INT64"> = fc.constantFrom("UINT64", "INT64");

/** Where time begins: the ordinary, and the limits of both types. */
export function originArb(type: "UINT64" | "INT64"): fc.Arbitrary<bigint> {
  return type === "UINT64"
    ? fc.constantFrom(300n, 1_000_000n, 2n ** 53n - 300n, 2n ** 63n - 500n, 2n ** 64n - 2_000n)
    : fc.constantFrom(300n, -1_500n, -(2n ** 53n) - 700n, -(2n ** 63n) + 300n, 2n ** 63n - 2_000n);
}

export interface Drawn {
  readonly origin: bigint;
  readonly timeType: "UINT64" | "INT64";
  readonly boundMs: number;
  readonly events: readonly DrawnEvent[];
}

/**
 * The events for an operator. Each input's time is column `times[input]`; watermarks are made as
 * an event-time operator makes them, the least over the inputs.
 */
export function toEvents(
  { origin, timeType, boundMs, events }: Drawn,
  schemas: readonly Schema[],
  times: readonly number[],
): OperatorEvent[] {
  const greatestTime = timeType === "UINT64" ? 2n ** 64n - 1n : 2n ** 63n - 1n;
  const seen: (bigint | undefined)[] = schemas.map(() => undefined);
  const found: OperatorEvent[] = [];
  let now = origin;
  let told: bigint | undefined;
  for (const { input, step, rows, hidden, marks, restarts } of events) {
    now += BigInt(step);
    if (now > greatestTime) now = greatestTime;
    const schema = schemas[input] ?? [];
    const made = rows.map(({ behind, codes }): Row => {
      return schema.map(({ type }, i) =>
        i === times[input] ? now - BigInt(behind) : valueFor(type, codes[i % codes.length] ?? 0),
      );
    });
    found.push({ kind: "push", input, rows: made, hidden });
    for (const each of made) {
      const time = each[times[input] ?? 0] as bigint;
      const before = seen[input];
      if (before === undefined || time > before) seen[input] = time;
    }
    if (restarts) found.push({ kind: "restart" });
    if (!marks) continue;
    let least: bigint | undefined;
    for (const time of seen) {
      if (time === undefined) {
        least = undefined;
        break;
      }
      if (least === undefined || time < least) least = time;
    }
    if (least === undefined) continue;
    const watermark = least - BigInt(boundMs);
    if (told !== undefined && watermark <= told) continue;
    told = watermark;
    found.push({ kind: "advance", watermark });
  }
  found.push({ kind: "advance", watermark: endOfTime });
  return found;
}

/** The same rows in the same order, in batches of `size`, with a mark behind each. */
export function recut(drawn: Drawn, size: number): Drawn {
  const events = drawn.events.flatMap((event): DrawnEvent[] => {
    const cuts: DrawnEvent[] = [];
    for (let from = 0; from < event.rows.length; from += size) {
      const rows = event.rows.slice(from, from + size);
      cuts.push({ ...event, rows, step: from === 0 ? event.step : 0, marks: true });
    }
    return cuts.length > 0 ? cuts : [event];
  });
  return { ...drawn, events };
}
