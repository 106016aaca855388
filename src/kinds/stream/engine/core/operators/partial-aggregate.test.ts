import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  defaultDialect,
  insertExchanges,
  LocalCatalog,
  type Plan,
  type PlanNode,
  parseStatements,
  planQuery,
} from "../../../language/core/index.ts";
import { driveOperator, type OperatorEvent } from "../../testing/drive-operator.ts";
import { asMultiset, type Row, toBatch, toRows } from "../../testing/rows.ts";
import { createOperator } from "../create-operator.ts";
import { endOfTime, type Operator, type OperatorContext, startOfTime } from "../operator.ts";

const statements = `
CREATE LOGICAL SOURCE s(ts UINT64 NOT NULL, k INT32, v INT16, b BOOLEAN NOT NULL, t VARSIZED, f FLOAT64);
CREATE PHYSICAL SOURCE FOR s TYPE File SET('a.csv' AS "SOURCE".FILE_PATH);`;

function planOf(query: string): Plan {
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(statements + query)) {
    if (statement.kind === "query") return planQuery(statement.query, catalog, defaultDialect);
    catalog.apply(statement);
  }
  throw new Error("there is a query");
}

const columns = "ts, k, v, b, t";
const aggregates =
  "COUNT(*) AS a, COUNT(v) AS c, SUM(v) AS d, AVG(v) AS e, MIN(t) AS g, MAX(v) AS h, SUM(v) FILTER (WHERE b) AS i, COUNT(*) FILTER (WHERE b) AS j, MIN(DISTINCT v) AS m";

/** The operators of the query from the aggregation on, whole and in halves. */
function operatorsOf(keys: string, window: string) {
  const list = keys === "" ? "" : `${keys}, `;
  const group = keys === "" ? "" : ` GROUP BY ${keys}`;
  const query = `SELECT start, end, ${list}${aggregates} FROM (SELECT ${columns} FROM s)${group} WINDOW ${window} INTO Void();`;
  const plan = planOf(query);
  const halves = insertExchanges(plan);
  const find = ({ nodes }: Plan, kind: string): PlanNode => {
    const found = nodes.find(({ op }) => op.kind === kind);
    assert.ok(found !== undefined, kind);
    return found;
  };
  const whole = find(plan, "windowAggregate");
  const input = plan.nodes[whole.inputs[0]?.node ?? 0] as PlanNode;
  const final = find(halves, "windowAggregate");
  const behind = halves.nodes.find(({ inputs }) => inputs[0]?.node === final.id) as PlanNode;
  return { whole, input, partial: find(halves, "partialAggregate"), final, behind };
}

/** What one sender does: rows with times behind its clock by at most the bound, and its clock. */
interface Turn {
  readonly sender: number;
  readonly step: number;
  readonly rows: readonly { readonly behind: number; readonly code: number }[];
  readonly does: "nothing" | "advance" | "restart" | "idle";
}

const boundMs = 40;
const turns = fc.array(
  fc.record({
    sender: fc.integer({ min: 0, max: 1 }),
    step: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constant(500)),
    rows: fc.array(
      fc.record({
        behind: fc.integer({ min: 0, max: boundMs - 1 }),
        code: fc.integer({ min: 0, max: 23 }),
      }),
      { maxLength: 6 },
    ),
    does: fc.constantFrom("nothing", "advance", "advance", "restart", "idle"),
  }),
  { maxLength: 30 },
);

function rowOf(time: number, code: number): Row {
  return [
    BigInt(time),
    code % 4 === 0 ? null : BigInt(code % 4),
    code % 5 === 0 ? null : BigInt(32_767 - (code % 3) * 30_000),
    BigInt(code % 2),
    code % 7 === 0 ? null : `t${code % 6}`,
  ];
}

function contextOf(emit: OperatorContext["emit"]): OperatorContext {
  const late = {
    add: () => {
      throw new Error("nothing is late within the bound");
    },
  };
  return { emit, late, memory: { set: (bytes) => assert.ok(bytes >= 0) } };
}

/** Two senders and a receiver whose time is the least of theirs. */
function runHalves(keys: string, window: string, drawn: readonly Turn[]): [Row[], Row[]] {
  const { whole, input, partial, final, behind } = operatorsOf(keys, window);
  const results: [Row[], Row[]] = [[], []];
  const project = createOperator(
    behind,
    [final.schema],
    contextOf((batch) => results[1].push(...toRows(batch))),
  );
  const direct = createOperator(
    whole,
    [input.schema],
    contextOf((batch) => results[0].push(...toRows(batch))),
  );
  const receiver = createOperator(
    final,
    [partial.schema],
    contextOf((batch) => project.push(0, batch)),
  );
  const create = (): Operator =>
    createOperator(
      partial,
      [input.schema],
      contextOf((batch) => receiver.push(0, batch)),
    );
  const senders = [0, 1].map(() => ({ operator: create(), clock: boundMs, isIdle: false }));
  const sent = [startOfTime, startOfTime];
  let time = startOfTime;
  const tell = (): void => {
    const active = sent.filter((_, at) => senders[at]?.isIdle !== true);
    let least = endOfTime;
    for (const each of active) if (each < least) least = each;
    if (active.length === 0 || least <= time) return;
    time = least;
    receiver.advance?.(time);
    direct.advance?.(time);
  };
  for (const { sender, step, rows, does } of drawn) {
    const one = senders[sender] as (typeof senders)[number];
    // What comes behind an idle time is never older than what the receiver has fired.
    const floor = time === startOfTime ? 0 : Number(time) + boundMs;
    one.clock = Math.max(one.clock + step, floor);
    one.isIdle = false;
    if (rows.length > 0) {
      const made = rows.map(({ behind: ms, code }) => rowOf(one.clock - ms, code));
      one.operator.push(0, toBatch(input.schema, made));
      direct.push(0, toBatch(input.schema, made));
    }
    if (does === "advance") {
      const watermark = BigInt(one.clock - boundMs);
      if (watermark > (sent[sender] as bigint)) {
        one.operator.advance?.(watermark);
        sent[sender] = watermark;
        tell();
      }
    } else if (does === "idle") {
      one.operator.idle?.(true);
      one.isIdle = true;
      tell();
    } else if (does === "restart") {
      const sections = (one.operator.snapshot?.() ?? []).map(({ key, encode }) => ({
        key,
        bytes: encode(),
      }));
      one.operator = create();
      one.operator.restore?.(sections);
    }
  }
  for (const [at, one] of senders.entries()) {
    one.isIdle = false;
    one.operator.advance?.(endOfTime);
    sent[at] = endOfTime;
  }
  tell();
  return results;
}

/** Rows as sorted texts, with all digits. */
function exactly(rows: readonly Row[]): string[] {
  return rows.map((row) => row.map((value) => `${value}`).join(" | ")).sort();
}

const windows = [
  "TUMBLING(ts, SIZE 50 MS)",
  "SLIDING(ts, SIZE 100 MS, ADVANCE BY 20 MS)",
  "SLIDING(ts, SIZE 70 MS, ADVANCE BY 30 MS)",
  "SLIDING(ts, SIZE 20 MS, ADVANCE BY 50 MS)",
] as const;
for (const window of windows) {
  for (const keys of ["k", "k, t", ""]) {
    test(`[SX58] in halves over ${window} by ${keys || "nothing"}: the results of one`, () => {
      fc.assert(
        fc.property(turns, (drawn) => {
          const [direct, halves] = runHalves(keys, window, drawn);
          assert.deepEqual(exactly(halves), exactly(direct));
        }),
        { numRuns: 25 },
      );
    });
  }
}

function partialRun(window: string, events: readonly OperatorEvent[]) {
  const { input, partial } = operatorsOf("k", window);
  return driveOperator(
    (context) => createOperator(partial, [input.schema], context),
    [input.schema],
    events,
  );
}

const push = (...times: readonly number[]): OperatorEvent => ({
  ...{ kind: "push", input: 0, rows: times.map((time) => rowOf(time, 1)), hidden: false },
});

test("[SX59] rows of a slice and key are sent as one, before the end of their first window", () => {
  const held = [push(10), push(20, 30), { kind: "advance", watermark: 49n } as const];
  assert.equal(partialRun("TUMBLING(ts, SIZE 50 MS)", held).emitted.length, 0);
  const { emitted, late, bytes } = partialRun("TUMBLING(ts, SIZE 50 MS)", [
    ...held,
    { kind: "advance", watermark: 50n },
    push(40, 60),
  ]);
  assert.deepEqual(
    emitted.map((row) => row.slice(0, 4)),
    [[0n, 50n, 1n, 3n]],
  );
  assert.equal(late.length, 1);
  assert.ok(bytes > 0);
});

test("[SX59] a row that some of its windows were fired for is sent for the others", () => {
  const { emitted, late } = partialRun("SLIDING(ts, SIZE 100 MS, ADVANCE BY 50 MS)", [
    { kind: "advance", watermark: 110n },
    push(70, 20),
    { kind: "advance", watermark: 111n },
  ]);
  assert.deepEqual(
    emitted.map((row) => row.slice(0, 4)),
    [[50n, 100n, 1n, 1n]],
  );
  assert.deepEqual(asMultiset(late.map((row) => row.slice(0, 1))), ["20"]);
});

test("[SX59] what is kept has a bound: more groups than that are sent at once", () => {
  const { input, partial } = operatorsOf("k", "TUMBLING(ts, SIZE 50 MS)");
  const rows = Array.from({ length: 140_000 }, (_, k): Row => [1n, BigInt(k), 1n, 1n, "t"]);
  const { emitted, bytes } = driveOperator(
    (context) => createOperator(partial, [input.schema], context),
    [input.schema],
    [{ kind: "push", input: 0, rows, hidden: false }],
  );
  assert.equal(emitted.length, rows.length);
  assert.equal(bytes, 0);
});

test("[SX58] what would depend on the order of rows, or needs its values, stays whole", () => {
  for (const call of [
    ...["SUM(f)", "AVG(f)", "AVG(ts)", "MEDIAN(v)", "STDDEV(v)", "VAR(v)", "FIRST(v)", "LAST(t)"],
    ...["COUNT(DISTINCT v)", "SUM(DISTINCT v)"],
  ]) {
    const query = `SELECT k, ${call} AS x FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC) INTO Void();`;
    const kinds = insertExchanges(planOf(query)).nodes.map(({ op }) => op.kind);
    assert.ok(!kinds.includes("partialAggregate"), call);
    assert.ok(kinds.includes("exchange"), call);
  }
});
