import assert from "node:assert/strict";
import { test } from "node:test";
import {
  collectApiUrls,
  parseAge,
  parseCount,
  parsePort,
  parseSeconds,
  parseSize,
} from "./option-values.ts";

const good = [
  [parseCount, "0", 0],
  [parseCount, "12", 12],
  [parsePort, "0", 0],
  [parsePort, "65535", 65_535],
  [parseSeconds, "0.5", 0.5],
  [parseAge, "90s", 90_000],
  [parseAge, "7d", 604_800_000],
  [parseAge, "864000000s", 864_000_000_000],
  [parseSize, "2GB", 2 * 1024 ** 3],
] as const;

test("[CM13] options are read as they are meant", () => {
  for (const [parse, text, value] of good) assert.equal(parse(text), value, text);
  assert.deepEqual(collectApiUrls("https://b:1/", ["http://a"]), ["http://a", "https://b:1"]);
});

test("[CM13] what an option cannot be is refused at once", () => {
  for (const text of ["", "-1", "1.5", "x", "1e3"]) assert.throws(() => parseCount(text), text);
  for (const text of ["", "-1", "65536", "http"]) assert.throws(() => parsePort(text), text);
  for (const text of ["", "0", "-1", "x"]) assert.throws(() => parseSeconds(text), text);
  for (const text of ["", "0s", "x", "7", "-1d", "1.5h"]) assert.throws(() => parseAge(text), text);
  for (const text of ["", "0", "x", "-1GB"]) assert.throws(() => parseSize(text), text);
  for (const text of ["", "x", "ftp://a", "http://", "http://a/path", "http://a b"]) {
    assert.throws(() => collectApiUrls(text), text);
  }
});
