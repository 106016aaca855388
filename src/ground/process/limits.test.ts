import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { limitRules, parseLimits, usualLimits } from "./limits.ts";

test("[PR12] limits are given by name", () => {
  assert.deepEqual(parseLimits([]), usualLimits);
  const limits = parseLimits(["connections=100", "label_value_bytes=99", "connections=200"]);
  assert.deepEqual([limits.connections, limits.label_value_bytes], [200, 99]);
  for (const text of [
    ...["", "connections", "connections=", "connections=-1", "connections=1e3", "connections=0"],
    ...["nonsense=1", "constructor=1", "connections=99999999999999999999", "CONNECTIONS=100"],
  ]) {
    assert.throws(() => parseLimits([text]), { code: "bad_request" }, text);
  }
});

test("[PR12] the guide lists every limit with its default", () => {
  const guide = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  const rows = Array.from(guide.matchAll(/^\| `(\w+)` +\| ([\d,]+) +\| (.*?) *\|$/gm), (row) => [
    row[1],
    Number(row[2]?.replaceAll(",", "")),
    row[3],
  ]);
  const rules = Object.entries(limitRules).map(([name, { usual, text }]) => [name, usual, text]);
  assert.deepEqual(rows, rules);
});
