import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthBoard } from "../kernel/health.ts";
import { VirtualClock } from "../kernel/testing/virtual-clock.ts";
import { DataCondition } from "./data-condition.ts";

function setUp(verifiesHere = true) {
  const clock = new VirtualClock();
  const board = new HealthBoard({ clock });
  const condition = new DataCondition(board.part("stored_data"), { clock, verifiesHere });
  const state = (): string => {
    const [part] = board.parts();
    return `${part?.state}${part?.reason === undefined ? "" : `: ${part.reason}`}`;
  };
  return { clock, condition, state };
}

const sound = { damaged: [], unverified: 0, suspected: 0 };
const notes = (...names: string[]) =>
  names.map((name) => ({ name, damage: "its checksum is 1, it was 2" }));

test("[LK52] a query that met damage degrades the part at once, until both scrubs have looked", () => {
  const { condition, state } = setUp();
  const told: string[] = [];
  const unfollow = condition.onCorrupt((message) => told.push(message));
  condition.met("damaged", "main/orders/a.parquet is damaged");
  unfollow();
  condition.met("damaged", "again");
  assert.deepEqual(told, ["main/orders/a.parquet is damaged"]);
  assert.match(state(), /^degraded: a query met damaged data/);
  condition.found("metrics", sound);
  assert.match(state(), /^degraded/, "the tables' scrub has not looked yet");
  condition.found("tables", { ...sound, suspected: 1 });
  assert.match(state(), /^degraded/, "the tables' scrub could not read it");
  condition.found("tables", sound);
  assert.equal(state(), "ok");
});

test("[LK52] what is damaged is named by table and segment until it is sound again", () => {
  const { condition, state } = setUp();
  condition.found("tables", { ...sound, damaged: notes("orders", "orders"), unverified: 3 });
  condition.found("metrics", { ...sound, damaged: notes("s1", "s2", "s3") });
  assert.equal(
    state(),
    "degraded: damaged files (5) of table orders, segment s1, segment s2 and 1 more; capstan lake check names them",
  );
  condition.found("metrics", sound);
  assert.match(state(), /^degraded: damaged files \(2\) of table orders;/);
  condition.found("tables", sound);
  assert.equal(state(), "ok");
});

test("[LK52] a query that missed a file degrades the part at once; missing files are named as such", () => {
  const { condition, state } = setUp();
  const told: string[] = [];
  condition.onCorrupt((message) => told.push(message));
  condition.met("missing", "segment s1 is missing");
  assert.deepEqual(told, ["segment s1 is missing"]);
  assert.match(state(), /^degraded: a query met a file that is missing/);
  condition.found("tables", { ...sound, damaged: [{ name: "orders", damage: "it is missing" }] });
  const lost = { name: "s1", damage: "samples.parquet is missing" };
  condition.found("metrics", { ...sound, damaged: [...notes("s2"), lost] });
  assert.equal(
    state(),
    "degraded: damaged files (1) of segment s2; missing files (2) of table orders, segment s1; capstan lake check names them",
  );
  assert.deepEqual(condition.counts(), { damaged: 3, unverified: 0 });
  condition.found("metrics", sound);
  condition.found("tables", sound);
  assert.equal(state(), "ok");
});

for (const [what, words] of [
  ["damaged", /^degraded: a query met damaged data; this process checks no files/],
  ["missing", /^degraded: a query met a file that is missing; this process checks no files/],
] as const) {
  test(`[LK52] a query-api that met ${what} data says who looks at it, and for ten minutes`, async () => {
    const { clock, condition, state } = setUp(false);
    condition.met(what, "segment s1");
    assert.match(state(), words);
    assert.match(state(), /the coordinator's scrub does/);
    assert.doesNotMatch(state(), /being read/);
    await clock.advance(9 * 60_000);
    condition.met(what, "segment s1");
    await clock.advance(9 * 60_000);
    assert.match(state(), /^degraded/);
    await clock.advance(60_000);
    assert.equal(state(), "ok");
  });
}

test("[LK52] damaged and unverified files are counted once both scrubs had a round", () => {
  const { condition } = setUp();
  assert.equal(condition.counts(), undefined);
  condition.found("tables", { ...sound, damaged: notes("orders"), unverified: 3 });
  assert.equal(condition.counts(), undefined, "of segments nobody knows");
  condition.found("metrics", { ...sound, unverified: 2 });
  assert.deepEqual(condition.counts(), { damaged: 1, unverified: 5 });
});
