import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../../../promql/core/index.ts";
import type { Exemplar } from "../model.ts";
import { ExemplarRing } from "./exemplar-ring.ts";

const exemplar = (series: string, ts: number): Exemplar => ({
  series: Labels.of({ __name__: "x", series }),
  labels: Labels.of({ trace_id: `${series}${ts}` }),
  value: ts,
  ts,
});
const shown = (ring: ExemplarRing): string[] =>
  Array.from(ring.all(), ({ labels }) => labels.toRecord().trace_id ?? "");

test("[MH5] one series may fill the whole budget while nobody else says anything", () => {
  const ring = new ExemplarRing(50);
  for (let ts = 1; ts <= 80; ts += 1) ring.add(exemplar("a", ts));
  const kept = shown(ring);
  assert.equal(kept.length, 50);
  assert.deepEqual([kept[0], kept.at(-1)], ["a31", "a80"]);
});

test("[MH5] the oldest of all go first, and a series of which nothing is left begins anew", () => {
  const ring = new ExemplarRing(3);
  for (const each of [exemplar("a", 5), exemplar("b", 6), exemplar("b", 7)]) ring.add(each);
  assert.equal(ring.add(exemplar("a", 4)), false, "older than what the series said last");
  assert.equal(ring.add(exemplar("b", 7)), false, "the same again");
  ring.add(exemplar("c", 1));
  assert.deepEqual(shown(ring), ["b6", "b7", "c1"]);
  assert.equal(ring.add(exemplar("a", 4)), true);
  assert.deepEqual(shown(ring), ["b7", "c1", "a4"]);
});
