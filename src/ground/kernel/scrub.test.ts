import assert from "node:assert/strict";
import { test } from "node:test";
import { decideScrub, type ScrubFile } from "./scrub.ts";

const limits = { periodMs: 1_000, everyMs: 10, roundBytes: 100 };
const file = (
  name: string,
  checkedAtMs: number | undefined,
  sizeBytes = 40,
  isSuspected = false,
  isDamaged = false,
) => ({
  name,
  checkedAtMs,
  sizeBytes,
  isSuspected,
  isDamaged,
});

const cases: readonly [
  name: string,
  files: readonly (ScrubFile & { readonly name: string })[],
  nowMs: number,
  want: string,
][] = [
  ["nothing is due", [file("a", 0), file("b", 500)], 999, ""],
  ["the longest unread first", [file("b", 500), file("a", 0), file("c", 900)], 1_600, "a b"],
  ["files without a checksum before those", [file("a", 0), file("n", undefined)], 2_000, "n a"],
  [
    "suspects before all, however many",
    [file("n", undefined), file("s", 999, 90, true), file("t", 999, 90, true)],
    1_000,
    "s t",
  ],
  [
    "what was damaged in every round, before the others and within the bytes of a round",
    [file("n", undefined, 20), ...["d", "e", "f"].map((name) => file(name, 999, 40, false, true))],
    1_000,
    "d e n",
  ],
  ["one in any case", [file("a", 0, 5_000)], 1_000, "a"],
  ["no more than a round may read", [file("a", 0), file("b", 1), file("c", 2)], 2_000, "a b"],
  [
    "more where the period asks for it",
    Array.from({ length: 9 }, (_, at) => file(`f${at}`, at, 1_000)),
    2_000,
    "f0",
  ],
];
for (const [name, files, nowMs, want] of cases) {
  test(`[LK51] scrub: ${name}`, () => {
    assert.equal(
      decideScrub(files, nowMs, limits)
        .map((each) => each.name)
        .join(" "),
      want,
    );
  });
}

test("[LK51] scrub: every file has its turn in a period and a little", () => {
  const known = new Map(Array.from({ length: 500 }, (_, at) => [`f${at}`, { atMs: 0 }]));
  for (let nowMs = limits.periodMs; nowMs <= limits.periodMs * 2; nowMs += limits.everyMs) {
    const files = [...known].map(([name, { atMs }]) => file(name, atMs));
    for (const { name } of decideScrub(files, nowMs, limits)) known.set(name, { atMs: nowMs });
  }
  assert.ok([...known.values()].every(({ atMs }) => atMs >= limits.periodMs));
});
