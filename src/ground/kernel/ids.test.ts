import assert from "node:assert/strict";
import { test } from "node:test";
import {
  parseControllerId,
  parseIncarnation,
  parseLeafId,
  parseLeaseEpoch,
  parseQueryId,
  parseRevision,
  parseSessionEpoch,
  parseWorkerId,
  parseWorkId,
} from "./ids.ts";

const badTexts = ["", " ", "a b", "a/b", "a\n", "-a", "ä", "a\u0000", "../a"];

test("a worker's name is a DNS label in lower case", () => {
  for (const good of ["a", "0", "worker-1", "a".repeat(63)])
    assert.equal(parseWorkerId(good), good);
  for (const bad of [...badTexts, "A", "a_b", "a.b", "a".repeat(64)]) {
    assert.equal(parseWorkerId(bad), undefined, JSON.stringify(bad));
  }
});

const tokenParsers = {
  parseIncarnation,
  parseControllerId,
  parseQueryId,
  parseLeafId,
  parseWorkId,
};
for (const [name, parse] of Object.entries(tokenParsers)) {
  test(`${name} takes a token that is safe in paths, logs and keys`, () => {
    for (const good of ["a", "A.b_c:d-1", "0".repeat(128)]) assert.equal(parse(good), good);
    for (const bad of [...badTexts, "_a", ".", "a".repeat(129)]) {
      assert.equal(parse(bad), undefined, JSON.stringify(bad));
    }
  });
}

const notIntegers = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];

test("epochs and revisions are safe integers; only a session's starts at 1", () => {
  for (const parse of [parseSessionEpoch, parseLeaseEpoch, parseRevision]) {
    for (const bad of notIntegers) assert.equal(parse(bad), undefined, String(bad));
    assert.equal(parse(1), 1);
    assert.equal(parse(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  }
  assert.equal(parseSessionEpoch(0), undefined);
  assert.equal(parseLeaseEpoch(0), 0);
  assert.equal(parseRevision(0), 0);
});
