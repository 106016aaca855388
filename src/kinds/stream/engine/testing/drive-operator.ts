/** Runs an operator of the engine through a list of events, as a fragment would. */
import type { Schema } from "../../language/core/index.ts";
import type { Operator, OperatorContext } from "../core/index.ts";
import { type Row, toBatch, toRows } from "./rows.ts";

export type OperatorEvent =
  | {
      readonly kind: "push";
      readonly input: number;
      readonly rows: readonly Row[];
      /** Whether the batch has rows that are not selected. */
      readonly hidden: boolean;
    }
  | { readonly kind: "advance"; readonly watermark: bigint }
  /** Takes a snapshot and goes on with a new operator that restores it. */
  | { readonly kind: "restart" };

export interface Driven {
  readonly emitted: Row[];
  readonly late: Row[];
  /** What the operator said of its memory, at the end and at most. */
  readonly bytes: number;
  readonly bytesMax: number;
}

export function driveOperator(
  create: (context: OperatorContext) => Operator,
  inputs: readonly Schema[],
  events: readonly OperatorEvent[],
): Driven {
  const emitted: Row[] = [];
  const late: Row[] = [];
  let bytes = 0;
  let bytesMax = 0;
  const context: OperatorContext = {
    emit: (batch) => emitted.push(...toRows(batch)),
    late: { add: (batch, rows) => late.push(...toRows({ ...batch, selection: rows })) },
    memory: {
      set: (now) => {
        if (!(now >= 0)) throw new Error(`the operator's memory is ${now} bytes`);
        bytes = now;
        bytesMax = Math.max(bytesMax, now);
      },
    },
  };
  let operator = create(context);
  for (const event of events) {
    if (event.kind === "push") {
      if (event.rows.length === 0) continue;
      const schema = inputs[event.input] ?? [];
      operator.push(event.input, toBatch(schema, event.rows, event.hidden));
    } else if (event.kind === "advance") operator.advance?.(event.watermark);
    else {
      const sections = (operator.snapshot?.() ?? []).map((section) => {
        return { key: section.key, bytes: section.encode() };
      });
      operator = create(context);
      operator.restore?.(sections);
    }
  }
  return { emitted, late, bytes, bytesMax };
}
