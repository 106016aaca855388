import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "../core/histogram.ts";
import { SilenceWatch } from "./silence-watch.ts";

function silencesOf(watch: SilenceWatch, nowMs: number): readonly number[] {
  const histogram = Histogram.decode(watch.answering(nowMs).silences);
  return [...(histogram?.buckets() ?? [])].flatMap(({ lowUs, count }) =>
    new Array<number>(count).fill(Math.round(lowUs / 10_000) * 10),
  );
}

const near = (found: readonly number[], wanted: readonly number[]): void => {
  assert.equal(found.length, wanted.length, `${found} for ${wanted}`);
  for (const [at, each] of wanted.entries()) {
    assert.ok(Math.abs((found[at] ?? 0) / each - 1) < 0.01, `${found} for ${wanted}`);
  }
};

test("[SI1] from the last success to the next; what is idle is no silence", () => {
  const watch = new SilenceWatch(0, true);
  watch.want(100);
  watch.answered(150, true);
  watch.answered(2_150, false); // Two seconds, while something was wanted.
  watch.want(60_000); // Nothing was, for a minute.
  watch.answered(60_300, false);
  near(silencesOf(watch, 100_000), [300, 2_000]);
  assert.equal(watch.answering(100_000).measured_ms, 100_000);
});

test("[SI2] failures do not end it, whether they come at once or after a pause", () => {
  const refused = new SilenceWatch(0, true);
  for (let ms = 0; ms <= 7_000; ms += 500) {
    refused.want(ms);
    refused.failed(ms, false);
  }
  refused.want(7_500);
  refused.answered(7_520, false);
  near(silencesOf(refused, 8_000), [7_020]); // The pause before the success is nobody's.
  const rare = new SilenceWatch(0, true);
  rare.want(0);
  rare.failed(20, false);
  rare.want(60_000);
  rare.answered(60_020, false);
  assert.deepEqual(silencesOf(rare, 70_000), []);
});

test("[SI1] a phase cuts it: what came before is not counted, what lasts at its end is", () => {
  const watch = new SilenceWatch(0, false);
  watch.want(0);
  watch.enter(5_000, true);
  near(silencesOf(watch, 8_000), [3_000]);
  watch.enter(9_000, false);
  watch.answered(20_000, true);
  near(silencesOf(watch, 30_000), [4_000]);
  assert.equal(watch.answering(30_000).measured_ms, 4_000);
});

test("[SI4] a silence in which a connection was refused is an outage; the next one is not", () => {
  const watch = new SilenceWatch(0, true);
  const outages = (nowMs: number): number =>
    Histogram.decode(watch.answering(nowMs).outages ?? "")?.count ?? 0;
  watch.want(0);
  watch.answered(400, true);
  assert.equal(outages(400), 0);
  watch.refused();
  assert.equal(outages(500), 1, "while it lasts");
  watch.answered(700, true);
  watch.answered(1_500, true);
  assert.equal(outages(1_500), 1);
  near(silencesOf(watch, 1_500), [300, 400, 800]);
});

test("[SI3] a generator that slept says nothing of the target", () => {
  const watch = new SilenceWatch(0, true);
  watch.want(0);
  watch.slept(50, 10_050);
  watch.answered(10_200, false);
  near(silencesOf(watch, 11_000), [200]);
  // Nor do arrivals that were due while it slept, and that it lines up afterwards.
  const idle = new SilenceWatch(0, true);
  idle.slept(50, 10_050);
  idle.want(60);
  idle.answered(10_250, false);
  near(silencesOf(idle, 11_000), [200]);
});

test("[SI7] a silence that the phase's end cut is an outage if nothing is heard any more", () => {
  const outagesOf = (isHeard: boolean): number => {
    const watch = new SilenceWatch(0, true);
    watch.want(0);
    watch.answered(600, true);
    watch.enter(1_000, false);
    if (isHeard) watch.answered(1_050, false);
    else watch.failed(1_050, false);
    watch.drained();
    watch.drained();
    return Histogram.decode(watch.answering(2_000).outages ?? "")?.sumUs ?? 0;
  };
  assert.deepEqual([outagesOf(true), outagesOf(false)], [0, 400_000]);
});
