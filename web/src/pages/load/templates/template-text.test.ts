import assert from "node:assert/strict";
import { test } from "node:test";
import {
  placeProblems,
  readText,
  settingsOf,
  withMode,
  withoutPools,
  withSetting,
  withUrl,
} from "./template-text.ts";

const text = `# what the shop does
name: checkout
target: postgres://load@localhost/shop # the copy
workload:
  concurrent_connections: 16
  operations:
    - name: pay
      weight: many
pools:
  cities: [ a, b ]
`;

test("[WEB53] the form reads the text, and changes nothing of it but what was set", () => {
  assert.deepEqual(settingsOf(text), {
    url: "postgres://load@localhost/shop",
    mode: "CONCURRENCY",
    connections: 16,
    qps: undefined,
    durationS: undefined,
    warmupS: undefined,
  });
  const longer = withSetting(text, "durationS", 30);
  assert.equal(
    longer,
    text.replace("      weight: many\n", "      weight: many\n  duration_seconds: 30\n"),
  );
  assert.equal(withSetting(longer, "durationS", undefined), text);
  const moved = withUrl(text, "sqlite:x.db");
  assert.match(moved, /^target: sqlite:x\.db # the copy$/m);
  assert.match(withUrl("target:\n  url: a\n  kind: mysql\n", "b"), /^target:\n {2}url: b\n$/);
  assert.ok(!withoutPools(text).includes("cities"));
});

test("[WEB53] a rate goes with QPS", () => {
  const rated = withMode(text, "QPS");
  assert.deepEqual([settingsOf(rated).mode, settingsOf(rated).qps], ["QPS", 100]);
  const back = withMode(rated, "FIND_MAX_CONCURRENCY");
  assert.deepEqual(
    [settingsOf(back).mode, settingsOf(back).qps],
    ["FIND_MAX_CONCURRENCY", undefined],
  );
  assert.equal(settingsOf("workload:\n  target_qps: 5\n").mode, "QPS");
});

test("[WEB53] what is wrong is shown where it is, or where it should be", () => {
  const at = (path: string): readonly [line: number, marked: string] => {
    const [place] = placeProblems(text, [{ path, message: "wrong" }]);
    assert.ok(place !== undefined);
    return [place.line, text.slice(place.from, place.to)];
  };
  assert.deepEqual(at("workload.operations[0].weight"), [8, "many"]);
  assert.deepEqual(at("workload.operations[0].statements"), [7, "n"]);
  assert.deepEqual(at("workload.target_qps"), [4, "workload"]);
  assert.deepEqual(at("target.url"), [3, "postgres://load@localhost/shop"]);
  assert.deepEqual(at(""), [1, "#"]);
});

test("[WEB53] text that is no YAML is told with its line, and is left as it is", () => {
  const broken = "name: a\nworkload: [1\n";
  const read = readText(broken);
  assert.equal(read.kind, "unreadable");
  assert.ok(read.kind === "unreadable" && read.problem.line >= 2);
  assert.equal(withSetting(broken, "qps", 1), broken);
  assert.deepEqual(readText("a: 1"), { kind: "document", value: { a: 1 } });
  assert.equal(settingsOf("workload: 3").connections, undefined);
  assert.equal(settingsOf("- a").url, undefined);
});
