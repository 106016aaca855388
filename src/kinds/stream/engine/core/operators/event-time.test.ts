import assert from "node:assert/strict";
import { test } from "node:test";
import { notNull, nullable, type Schema } from "../../../language/core/index.ts";
import { toBatch, type Value } from "../../testing/rows.ts";
import { endOfTime, type Operator, startOfTime } from "../operator.ts";
import { createEventTime } from "./event-time.ts";

function create(type: "UINT64" | "INT64", boundMs: number): Operator {
  const schema: Schema = [{ name: "ts", type: notNull(type) }];
  return createEventTime({ kind: "eventTime", column: 0, boundMs }, [schema], schema, {
    emit: () => {},
    late: { add: () => {} },
    memory: { set: () => {} },
  });
}

function push(operator: Operator, type: "UINT64" | "INT64", ...times: readonly Value[]): void {
  const schema: Schema = [{ name: "ts", type: nullable(type) }];
  operator.push(
    0,
    toBatch(
      schema,
      times.map((time) => [time]),
    ),
  );
}

test("[SX48] watermarks grow at the ends of read buffers only, and never go back", () => {
  const operator = create("UINT64", 5);
  push(operator, "UINT64", 100n, null, 90n);
  assert.equal(operator.outputWatermark?.(startOfTime), startOfTime);
  operator.mark?.();
  assert.equal(operator.outputWatermark?.(startOfTime), 95n);
  push(operator, "UINT64", 50n);
  operator.mark?.();
  assert.equal(operator.outputWatermark?.(startOfTime), 95n);
  assert.equal(operator.outputWatermark?.(endOfTime), endOfTime);
});

test("[SX48] times of all of 64 bits are exact", () => {
  const unsigned = create("UINT64", 1);
  push(unsigned, "UINT64", 2n ** 64n - 1n, 3n);
  unsigned.mark?.();
  assert.equal(unsigned.outputWatermark?.(startOfTime), 2n ** 64n - 2n);
  const signed = create("INT64", 7);
  push(signed, "INT64", -(2n ** 63n), -(2n ** 62n) - 1n);
  signed.mark?.();
  assert.equal(signed.outputWatermark?.(startOfTime), -(2n ** 62n) - 8n);
});

test("[SX48] a watermark survives a snapshot", () => {
  const operator = create("UINT64", 5);
  push(operator, "UINT64", 100n);
  operator.mark?.();
  push(operator, "UINT64", 200n);
  const sections = (operator.snapshot?.() ?? []).map((section) => {
    return { key: section.key, bytes: section.encode() };
  });
  const restored = create("UINT64", 5);
  restored.restore?.(sections);
  assert.equal(restored.outputWatermark?.(startOfTime), 95n);
  restored.mark?.();
  assert.equal(restored.outputWatermark?.(startOfTime), 195n);
});
