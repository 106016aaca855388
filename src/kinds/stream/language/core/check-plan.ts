/**
 * Plans as JSON: what is stored and sent. A plan of another version, or one that does not hang
 * together, is refused with error 2002 before anything runs.
 */
import { columnsOf } from "./bind/exprs.ts";
import type { Schema } from "./data-type.ts";
import { DialectError } from "./dialect-error.ts";
import type { Expr } from "./expr.ts";
import { type Plan, type PlanNode, type PlanOp, planVersion } from "./plan.ts";

export function planToJson(plan: Plan): string {
  return JSON.stringify(plan);
}

export function planFromJson(text: string): Plan {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`it is no JSON: ${(error as Error).message}`);
  }
  checkPlan(value as Plan);
  return value as Plan;
}

/** Throws unless every input, column and schema of the plan fits. */
export function checkPlan(plan: Plan): void {
  if (typeof plan !== "object" || plan === null || !Array.isArray(plan.nodes)) {
    throw invalid("it has no nodes");
  }
  if (plan.version !== planVersion) {
    throw invalid(`it has version ${plan.version}, this is ${planVersion}`);
  }
  for (const [index, node] of plan.nodes.entries()) checkNode(plan, node, index);
}

function checkNode(plan: Plan, node: PlanNode, index: number): void {
  if (node.id !== index) throw invalid(`node ${index} says it is ${node.id}`);
  const inputs = node.inputs.map(({ node: id, shiftMs, isLate }) => {
    if (!Number.isInteger(id) || id < 0 || id >= index) {
      throw invalid(`an input of node ${index} is ${id}`);
    }
    if (!Number.isSafeInteger(shiftMs)) throw invalid(`a shift of node ${index} is ${shiftMs}`);
    return isLate ? node.schema : (plan.nodes[id] as PlanNode).schema;
  });
  const problem = problemOf(node.op, inputs, node.schema);
  if (problem !== undefined) throw invalid(`node ${index} (${node.op.kind}): ${problem}`);
}

/** What is wrong with an operator; `undefined` where nothing is. */
function problemOf(op: PlanOp, inputs: readonly Schema[], schema: Schema): string | undefined {
  const [first = [], second = []] = inputs;
  const columns = (indexes: readonly number[], width: number, what: string): string | undefined =>
    indexes.every((one) => Number.isInteger(one) && one >= 0 && one < width)
      ? undefined
      : `${what} names a column that its input does not have`;
  const expr = (one: Expr, width: number): string | undefined =>
    columns([...columnsOf(one)], width, "an expression");
  const width = (expected: number): string | undefined =>
    schema.length === expected ? undefined : `it has ${schema.length} columns, not ${expected}`;
  const both = first.length + second.length;
  switch (op.kind) {
    case "source":
      return (
        columns(op.columns, op.record.length, "the source") ??
        width(op.columns.length + (op.ingestionTime ? 1 : 0))
      );
    case "eventTime":
      return columns([op.column], first.length, "the time") ?? width(first.length);
    case "filter":
      return expr(op.predicate, first.length) ?? width(first.length);
    case "project":
      return op.exprs.map((one) => expr(one, first.length)).find(Boolean) ?? width(op.exprs.length);
    case "union": {
      const isFitting = inputs.every((input) => isSameSchema(input, schema));
      return isFitting ? undefined : "its inputs have different columns";
    }
    case "windowAggregate":
    case "partialAggregate": {
      const args = op.aggregates.flatMap(({ arg, filter }) => [arg ?? 0, filter ?? 0]);
      return (
        columns([op.time, ...op.keys, ...args], first.length, "the window") ??
        width(2 + op.keys.length + op.aggregates.length)
      );
    }
    case "windowJoin":
    case "intervalJoin":
      return (
        columns([op.leftTime, ...op.keys.map(({ left }) => left)], first.length, "the join") ??
        columns([op.rightTime, ...op.keys.map(({ right }) => right)], second.length, "the join") ??
        (op.residual && expr(op.residual, both)) ??
        width(both + (op.kind === "windowJoin" ? 2 : 0))
      );
    case "lookupJoin":
      return (
        columns(
          op.keys.map(({ left }) => left),
          first.length,
          "the join",
        ) ??
        columns(
          op.keys.map(({ right }) => right),
          op.columns.length,
          "the join",
        ) ??
        (op.residual && expr(op.residual, first.length + op.columns.length)) ??
        width(first.length + op.columns.length)
      );
    case "topN": {
      const order = op.order.map((key) => key.column);
      const all = [op.start, op.end, ...op.partition, ...order];
      return columns(all, first.length, "QUALIFY") ?? width(first.length);
    }
    case "keyed": {
      const arg = op.fn.kind === "deduplicate" ? [] : [op.fn.arg];
      return (
        columns([op.time, ...op.keys, ...arg], first.length, "OVER") ??
        width(first.length + arg.length)
      );
    }
    case "exchange":
      return columns(op.keys, first.length, "the exchange") ?? width(first.length);
    case "sink":
      return inputs.length === 0 || isSameSchema(first, schema)
        ? undefined
        : "its input has other columns";
  }
}

/** Names may differ, and what is never NULL may stand where NULL is allowed. */
function isSameSchema(input: Schema, schema: Schema): boolean {
  if (input.length !== schema.length) return false;
  return input.every(({ type }, index) => type.name === schema[index]?.type.name);
}

function invalid(reason: string): DialectError {
  return new DialectError(2002, `the plan cannot be read: ${reason}`);
}

/**
 * A number that is the same for plans that keep the same state, in hexadecimal: what a snapshot
 * carries, so that no other plan takes it. Settings that state does not depend on do not count.
 */
export function hashPlan(plan: Plan): string {
  const text = JSON.stringify({ version: plan.version, nodes: plan.nodes });
  return fnv64(new TextEncoder().encode(text));
}

/** FNV-1a with 64 bits, in two halves: its prime is 2^40 + 435. */
export function fnv64(bytes: Uint8Array): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of bytes) {
    const mixed = (low ^ byte) >>> 0;
    const product = mixed * 435;
    low = product >>> 0;
    const carry = (product - low) / 4_294_967_296;
    high = (Math.imul(high, 435) + carry + (mixed << 8)) >>> 0;
  }
  const hexadecimal = (half: number): string => half.toString(16).padStart(8, "0");
  return hexadecimal(high) + hexadecimal(low);
}
