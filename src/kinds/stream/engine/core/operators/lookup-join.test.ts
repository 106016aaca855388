import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DialectError,
  type LookupJoinOp,
  notNull,
  type Schema,
} from "../../../language/core/index.ts";
import { asMultiset, type Row, toBatch, toRows } from "../../testing/rows.ts";
import type { LookupVersion, OperatorContext } from "../operator.ts";
import { createLookupJoin } from "./lookup-join.ts";

const rows: Schema = [{ name: "k", type: notNull("INT32") }];
const columns: Schema = [
  { name: "k", type: notNull("INT32") },
  { name: "name", type: notNull("VARSIZED") },
];
const op: LookupJoinOp = {
  kind: "lookupJoin",
  join: "left",
  table: "customers",
  columns,
  keys: [{ left: 0, right: 0, nullSafe: false }],
  residual: undefined,
};

test("[SX55] each row meets the version that is there when it arrives", () => {
  let version: LookupVersion = toBatch(columns, [[1n, "old"]]);
  const emitted: Row[] = [];
  const context: OperatorContext = {
    emit: (batch) => emitted.push(...toRows(batch)),
    late: { add: () => {} },
    memory: { set: () => {} },
    lookupTable: () => ({
      get version() {
        return version;
      },
    }),
  };
  const join = createLookupJoin(op, [rows], [...rows, ...columns], context);
  join.push(0, toBatch(rows, [[1n], [2n]]));
  version = toBatch(columns, [
    [1n, "new"],
    [2n, "other"],
  ]);
  join.push(0, toBatch(rows, [[1n], [2n]]));
  assert.deepEqual(asMultiset(emitted), [
    '1 | 1 | "new"',
    '1 | 1 | "old"',
    '2 | 2 | "other"',
    "2 | null | null",
  ]);
});

test("[SX55] without a lake a lookup join is refused", () => {
  const context: OperatorContext = {
    emit: () => {},
    late: { add: () => {} },
    memory: { set: () => {} },
  };
  assert.throws(() => createLookupJoin(op, [rows], rows, context), DialectError);
});
