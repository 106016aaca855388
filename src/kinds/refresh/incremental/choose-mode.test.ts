import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import type { RefreshCost } from "../core/index.ts";
import { chooseMode } from "./choose-mode.ts";

const full = (durationMs: number, totalRows = 1000): RefreshCost => ({
  action: "FULL",
  durationMs,
  changedRows: totalRows,
  totalRows,
});
const incremental = (durationMs: number, changedRows: number): RefreshCost => ({
  action: "INCREMENTAL",
  durationMs,
  changedRows,
  totalRows: 1000,
});

const cases = [
  { name: "small changes are tried", history: [full(100)], changed: 10, want: "INCREMENTAL" },
  { name: "large changes are not", history: [full(100)], changed: 860, want: "FULL" },
  {
    name: "cheaper, as seen",
    history: [full(100), incremental(20, 300)],
    changed: 300,
    want: "INCREMENTAL",
  },
  {
    name: "dearer, as seen",
    history: [full(100), incremental(150, 40)],
    changed: 40,
    want: "FULL",
  },
  {
    name: "more changes than ever seen, and large",
    history: [full(100), incremental(5, 10)],
    changed: 500,
    want: "FULL",
  },
] as const;
for (const { name, history, changed, want } of cases) {
  test(`[TI8] AUTO: ${name}`, () => {
    const choice = chooseMode(history, changed, 1000);
    assert.equal(choice.action, want, choice.reason);
  });
}

test("[TI9] AUTO takes at most 1.1 times what full refreshes take, whatever things cost", () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const prng = createPrng(`mode-${seed}`);
    const fullByRow = 0.1;
    const fixed = prng.next() * 60;
    const byRow = prng.next() * (seed % 2 === 0 ? 3 : 0.5);
    const usualShare = prng.next() ** 3;
    const history: RefreshCost[] = [];
    let spent = 0;
    let asFull = 0;
    for (let step = 0; step < 400; step += 1) {
      const totalRows = 1000 + step;
      const share = Math.min(1, usualShare * (0.5 + prng.next()));
      const changedRows = step === 0 ? totalRows : Math.max(1, Math.round(totalRows * share));
      const noise = 0.9 + prng.next() * 0.2;
      const fullMs = totalRows * fullByRow * noise;
      const { action } =
        step === 0 ? { action: "FULL" as const } : chooseMode(history, changedRows, totalRows);
      const durationMs = action === "FULL" ? fullMs : (fixed + changedRows * byRow) * noise;
      history.push({ action, durationMs, changedRows, totalRows });
      spent += durationMs;
      asFull += fullMs;
    }
    assert.ok(spent <= 1.1 * asFull, `seed ${seed}: ${spent} ms instead of ${asFull} ms`);
  }
});

test("[TI9] AUTO finds incremental refreshes where they are cheaper", () => {
  const history: RefreshCost[] = [full(2400, 10_000_000)];
  for (let step = 0; step < 50; step += 1) {
    const { action } = chooseMode(history, 10_000, 10_000_000);
    assert.equal(action, "INCREMENTAL");
    history.push({ action, durationMs: 40, changedRows: 10_000, totalRows: 10_000_000 });
  }
});
