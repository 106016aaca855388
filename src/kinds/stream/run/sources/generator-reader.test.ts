import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { notNull } from "../../language/core/index.ts";
import { openGeneratorReader } from "./generator-reader.ts";

/** The rows that a reader at this rate gives in ten seconds, and how often it is called. */
async function tenSeconds(
  rate: number,
): Promise<{ readonly rows: number; readonly turns: number }> {
  const clock = new VirtualClock();
  const reader = openGeneratorReader({
    record: [{ name: "n", type: notNull("UINT64") }],
    columns: [0],
    generators: [{ kind: "sequence", from: "0", to: "1000000000", step: "1" }],
    seed: 0,
    stop: "NONE",
    rate,
    from: undefined,
    clock,
  });
  let rows = 0;
  let turns = 0;
  const reading = (async () => {
    for (;;) {
      const read = await reader.read();
      if (read.kind === "end") return;
      turns += 1;
      if (read.kind === "rows") rows += read.batch.rowCount;
    }
  })();
  await clock.advance(10_000);
  const seen = { rows, turns };
  await reader.close();
  await clock.advance(1_000);
  await reading;
  return seen;
}

test("[SU110] a generator with a rate makes the rows that are due, and wakes for them", async () => {
  // Every row takes two calls: one makes it, the next one waits until the next row is due.
  const slow = await tenSeconds(20);
  assert.equal(slow.rows, 200);
  assert.ok(slow.turns <= 401, `${slow.turns} turns`);
  const none = await tenSeconds(0.01);
  assert.equal(none.rows, 0);
  assert.ok(none.turns <= 100, `${none.turns} turns`);
  const fast = await tenSeconds(1_000_000);
  assert.ok(fast.rows >= 9_900_000, `${fast.rows} rows`);
  assert.ok(fast.rows <= 10_000_000, `${fast.rows} rows`);
});
