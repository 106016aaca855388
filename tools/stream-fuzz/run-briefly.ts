/** Compiles a plan and gives it a few records, to see that nothing but a DialectError is thrown. */
import type { Prng } from "../../src/ground/kernel/prng.ts";
import {
  type Batch,
  createOperator,
  createRecordParser,
  createRecordWriter,
  Fragment,
  type LookupTable,
  QueryMemory,
  withIngestionTime,
} from "../../src/kinds/stream/engine/core/index.ts";
import { toBatch } from "../../src/kinds/stream/engine/testing/rows.ts";
import type { Plan, Schema, SourceOp } from "../../src/kinds/stream/language/core/index.ts";

const encoder = new TextEncoder();

export function runPlanBriefly(plan: Plan, prng: Prng): void {
  const fragment = new Fragment({
    nodes: plan.nodes,
    settings: plan.settings,
    memory: new QueryMemory(plan.settings.memoryBytesMax),
    createOperator: (node, inputs, context) =>
      createOperator(node, inputs, { ...context, lookupTable: (_, columns) => tableOf(columns) }),
    edges: {
      inputCount: () => 1,
      createOutput: ({ op }, input) => {
        if (op.kind !== "sink") throw new Error("the plan is in one piece");
        const writer = op.formatter.TYPE === undefined ? undefined : createRecordWriter(op, input);
        return { push: (_, batch) => void writer?.write(batch) };
      },
    },
  });
  for (const { id, op } of plan.nodes) {
    if (op.kind !== "source") continue;
    const input = fragment.input(id);
    const emit = (batch: Batch): void =>
      input.push(op.ingestionTime ? withIngestionTime(batch, 1_000n) : batch);
    if (op.parser.TYPE === undefined) {
      emit(
        toBatch(
          op.columns.map((column) => op.record[column] as Schema[number]),
          [],
        ),
      );
    } else {
      const parser = createRecordParser(op, {
        emit,
        malformed: { skipped: () => undefined, nulled: () => undefined },
      });
      for (let row = 0; row < 12; row += 1) {
        parser.push(encoder.encode(recordOf(op, prng)));
        if (prng.below(3) === 0) {
          parser.flush();
          input.mark();
        }
      }
      parser.end();
    }
    input.mark();
    input.end();
  }
  fragment.snapshot();
}

const values: Readonly<Record<string, readonly string[]>> = {
  VARSIZED: ["a", "zqx", "äöü", "12", ""],
  BOOLEAN: ["true", "false"],
  CHAR: ["a", "b"],
  FLOAT64: ["0", "1.5", "-3", "1e300"],
  FLOAT32: ["0", "1.5", "-3"],
};

function recordOf({ record, parser }: SourceOp, prng: Prng): string {
  const cells = record.map(({ name, type }) => {
    if (type.nullable && prng.below(5) === 0) return [name, ""] as const;
    const known = values[type.name] ?? ["0", "1", "7", "100"];
    return [name, known[prng.below(known.length)] ?? "0"] as const;
  });
  if (String(parser.TYPE).toUpperCase() === "CSV") return `${cells.map(([, value]) => value)}\n`;
  const isText = (index: number): boolean =>
    ["VARSIZED", "CHAR"].includes(record[index]?.type.name ?? "");
  const pairs = cells.map(([name, value], index) => {
    const json = isText(index) ? JSON.stringify(value) : value === "" ? "null" : value;
    return `${JSON.stringify(name)}:${json}`;
  });
  return `{${pairs.join(",")}}\n`;
}

function tableOf(columns: Schema): LookupTable {
  const row = (key: bigint) => columns.map(({ type }) => (type.name === "VARSIZED" ? "a" : key));
  const batch = toBatch(columns, [row(1n), row(7n)]);
  return { version: { rowCount: batch.rowCount, columns: batch.columns } };
}
