import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeShare } from "./time-share.ts";

test("[SU100] time that several waits share counts once, and what lasts counts until now", () => {
  const share = new TimeShare();
  assert.equal(share.totalMs(50), 0);
  share.begin(100);
  share.begin(110);
  assert.equal(share.totalMs(120), 20);
  share.end(130);
  assert.equal(share.totalMs(140), 40);
  share.end(150);
  assert.equal(share.totalMs(1_000), 50);
  share.begin(1_000);
  share.end(1_005);
  assert.equal(share.totalMs(2_000), 55);
});
