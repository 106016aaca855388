import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan, PlanOp } from "../plan.ts";
import { examplePlan } from "../testing.ts";

function opsOf<K extends PlanOp["kind"]>(
  plan: Plan,
  kind: K,
): readonly Extract<PlanOp, { readonly kind: K }>[] {
  return plan.nodes.flatMap(({ op }) =>
    op.kind === kind ? [op as Extract<PlanOp, { readonly kind: K }>] : [],
  );
}

/** The kinds from the sink's input down, along the first inputs. */
function chain(plan: Plan): string {
  const kinds: string[] = [];
  let node = plan.nodes.at(-1);
  while (node !== undefined) {
    const { op, inputs } = node;
    const shift = inputs[0]?.shiftMs ?? 0;
    kinds.push(shift === 0 ? op.kind : `${op.kind} shift ${shift}`);
    node = inputs[0] === undefined ? undefined : plan.nodes[inputs[0].node];
  }
  return kinds.filter((kind) => kind !== "project").join(" < ");
}

test("[SY30] one node for each physical source, and a union", () => {
  const plan = examplePlan("SELECT ts, v FROM twice INTO Void()");
  assert.deepEqual(
    opsOf(plan, "source").map(({ config }) => config.FILE_PATH),
    ["a.csv", "b.csv"],
  );
  assert.equal(chain(plan), "sink < union < source");
});

test("[SY30] what is written twice is computed once", () => {
  const counts =
    "SELECT auction, COUNT(*) AS n, start FROM bids GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 SEC)";
  const plan = examplePlan(
    `SELECT n, top FROM (SELECT n, start AS s1 FROM (${counts})) JOIN (SELECT MAX(n) AS top, start AS s2 FROM (${counts}) WINDOW TUMBLING(start, SIZE 1 SEC)) ON n = top WINDOW TUMBLING(s1, s2, SIZE 1 SEC) INTO Void()`,
  );
  assert.equal(opsOf(plan, "source").length, 1);
  assert.equal(opsOf(plan, "eventTime").length, 1);
  assert.equal(opsOf(plan, "windowAggregate").length, 2);
});

const window = "WINDOW TUMBLING(t, SIZE 1 SEC)";
const times = [
  [
    "a plain column",
    "SELECT COUNT(*) AS c FROM bids WINDOW TUMBLING(ts, SIZE 1 SEC)",
    "sink < windowAggregate < eventTime < source",
  ],
  [
    "through a filter and a projection",
    `SELECT COUNT(*) AS c FROM (SELECT ts AS t FROM bids WHERE price > 1) ${window}`,
    "sink < windowAggregate < filter < eventTime < source",
  ],
  [
    "through a union",
    "SELECT COUNT(*) AS c FROM twice WINDOW TUMBLING(ts, SIZE 1 SEC)",
    "sink < windowAggregate < union < eventTime < source",
  ],
  [
    "a time that is computed",
    `SELECT COUNT(*) AS c FROM (SELECT ts * 1000 AS t FROM bids WHERE price > 1) ${window}`,
    "sink < windowAggregate < eventTime < filter < source",
  ],
  [
    "start of a window",
    "SELECT COUNT(*) AS c FROM (SELECT start FROM bids WINDOW TUMBLING(ts, SIZE 7 SEC)) WINDOW TUMBLING(start, SIZE 1 SEC)",
    "sink < windowAggregate shift 7000 < windowAggregate < eventTime < source",
  ],
  [
    "end of a window",
    "SELECT COUNT(*) AS c FROM (SELECT end FROM bids WINDOW TUMBLING(ts, SIZE 7 SEC)) WINDOW TUMBLING(end, SIZE 1 SEC)",
    "sink < windowAggregate < windowAggregate < eventTime < source",
  ],
  [
    "the time of a joined row",
    "SELECT COUNT(*) AS c FROM (SELECT ts AS t FROM bids JOIN asks ON auction = item WINDOW SLIDING(ts, at, SIZE 4 SEC, ADVANCE BY 1 SEC)) WINDOW TUMBLING(t, SIZE 1 SEC)",
    "sink < windowAggregate shift 4000 < windowJoin < eventTime < source",
  ],
  [
    "start of a session lies anywhere",
    "SELECT COUNT(*) AS c FROM (SELECT start FROM bids WINDOW SESSION(ts, GAP 7 SEC)) WINDOW TUMBLING(start, SIZE 1 SEC)",
    "sink < windowAggregate < eventTime < windowAggregate < eventTime < source",
  ],
] as const;
for (const [name, text, want] of times) {
  test(`[SY31] ${name}`, () => assert.equal(chain(examplePlan(`${text} INTO Void()`)), want));
}

test("[SY31] the bound is that of the source's or the query's WATERMARK", () => {
  const bounds = (text: string): readonly number[] =>
    opsOf(examplePlan(`${text} INTO Void()`), "eventTime").map(({ boundMs }) => boundMs);
  const aggregate = "WINDOW TUMBLING(ts, SIZE 1 SEC)";
  assert.deepEqual(bounds(`SELECT COUNT(*) AS c FROM bids ${aggregate}`), [0]);
  assert.deepEqual(bounds(`SELECT COUNT(*) AS c FROM twice ${aggregate}`), [5000, 5000]);
  assert.deepEqual(
    bounds(`SELECT COUNT(*) AS c FROM bids WATERMARK(ts, 3 SEC) ${aggregate}`),
    [3000],
  );
  assert.deepEqual(
    bounds(`SELECT COUNT(*) AS c FROM twice WATERMARK(ts, 1 SEC) WHERE v > 1 ${aggregate}`),
    [1000, 1000],
  );
});

test("[SY32] a window without a time column goes by the time of reading", () => {
  const plan = examplePlan(
    "SELECT COUNT(*) AS c FROM (SELECT price AS p FROM bids WHERE auction > 1) WINDOW TUMBLING(size = 5s) INTO Void()",
  );
  assert.equal(opsOf(plan, "source")[0]?.ingestionTime, true);
  assert.equal(chain(plan), "sink < windowAggregate < filter < eventTime < source");
});

test("[SY33] equalities are keys, the rest is checked for each pair", () => {
  const plan = examplePlan(
    "SELECT ts FROM bids JOIN asks ON auction = item AND price = cost AND item + 1 <=> auction AND price < cost WINDOW TUMBLING(ts, at, SIZE 1 SEC) INTO Void()",
  );
  const [join] = opsOf(plan, "windowJoin");
  assert.deepEqual(
    join?.keys.map(({ nullSafe }) => nullSafe),
    [false, true],
  );
  assert.equal(join?.residual?.kind === "call" && join.residual.fn, "and");
});
