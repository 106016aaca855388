import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../core/index.ts";
import { almostEqual } from "./almost-equal.ts";
import { type EvalCommand, type LoadCommand, parseScript } from "./script.ts";
import { ScriptData } from "./script-data.ts";

test("a script: commands, comments, everything that can be expected", () => {
  const commands = parseScript(`
# A comment.
load 5m
  m{a="1"} 1 2
  # One within a block ends it, as upstream.

clear
eval instant at 1m30s sum(m)
  expect warn msg: one (1:1)
  expect no_info
  {} 3
  {a="b"} {{count:1}}

eval range from 0 to 10m step 5m m offset 1m
  m{a="1"} _ 1

eval_fail instant at 0 m{
  expected_fail_message some text
eval instant at 0 1 + 1
  2
eval instant at 0 "x"
  expect string "x\\ty"

eval instant at 2m m[2m]
  expect range vector from 1m to 2m step 1m
  m 1 2

eval_ordered instant at 0 sort(m)
`);
  assert.deepEqual(
    commands.map(({ kind, line }) => `${kind} ${line}`),
    [
      "load 3",
      "clear 7",
      "eval 8",
      "eval 14",
      "eval 17",
      "eval 19",
      "eval 21",
      "eval 24",
      "eval 28",
    ],
  );
  const [load, , sum, range, fail, scalar, text, matrix, ordered] = commands as [
    LoadCommand,
    unknown,
    ...EvalCommand[],
  ];
  assert.equal(load.stepMs, 300_000);
  assert.equal(load.series.length, 1);
  assert.deepEqual(sum?.at, { kind: "instant", timeMs: 90_000 });
  assert.deepEqual(sum?.warnings, [{ kind: "message", text: "one (1:1)" }]);
  assert.equal(sum?.noInfos, true);
  assert(sum?.result.kind === "series" && sum.result.series.length === 2);
  assert.deepEqual(range?.at, {
    kind: "range",
    grid: { startMs: 0, endMs: 600_000, stepMs: 300_000 },
  });
  assert.equal(range?.query, "m offset 1m");
  assert.deepEqual(fail?.fail, { kind: "message", text: "some text" });
  assert.deepEqual(scalar?.result, { kind: "scalar", value: 2 });
  assert.deepEqual(text?.result, { kind: "string", text: "x\ty" });
  assert.deepEqual(matrix?.rangeVector, { startMs: 60_000, endMs: 120_000, stepMs: 60_000 });
  assert.equal(ordered?.ordered, true);
});

const wrong = [
  { name: "a word that is no command", script: "\nlaod 5m", line: 2 },
  { name: "a step that is no duration", script: "load x", line: 1 },
  { name: "a point that is no number", script: "load 1m\n m 1 abc", line: 2 },
  { name: "an expectation that is none", script: "eval instant at 0 m\n expect nothing", line: 2 },
  { name: "several values at one instant", script: "eval instant at 0 m\n m 1 2", line: 1 },
  { name: "a pattern that is none", script: "eval instant at 0 m\n expect fail regex: (", line: 2 },
  { name: "start times without samples", script: "load 1m\n m@st -1m", line: 2 },
];
for (const { name, script, line } of wrong) {
  test(`not understood: ${name}`, () => {
    const [command, next] = parseScript(`${script}\n\nclear`);
    assert(next?.kind === "clear");
    assert(command?.kind === "broken");
    assert.equal(command.error.line, line);
  });
}

test("almost equal: relative to a millionth, and NaN is NaN", () => {
  const cases: readonly [a: number, b: number, equal: boolean][] = [
    [1, 1 + 1e-7, true],
    [1, 1 + 1e-5, false],
    [1e300, 1e300 * (1 + 1e-7), true],
    [0, 1e-300, false],
    [0, -0, true],
    [NaN, NaN, true],
    [NaN, 1, false],
    [Infinity, Infinity, true],
    [Infinity, -Infinity, false],
    [Infinity, Number.MAX_VALUE, false],
  ];
  for (const [a, b, equal] of cases) assert.equal(almostEqual(a, b), equal, `${a} and ${b}`);
});

test("load_with_nhcb adds histograms with custom buckets", () => {
  const data = new ScriptData();
  const [load] = parseScript(`load_with_nhcb 1m
  x_bucket{a="1", le="1"} 1 2
  x_bucket{a="1", le="5"} 3 4
  x_bucket{a="1", le="+Inf"} 4 6
  x_sum{a="1"} 10 12
  x_count{a="1"} 4 6
`) as [LoadCommand];
  const added = data.load(load).find(({ labels }) => labels.name === "x");
  assert.equal(added?.labels.key, Labels.of({ __name__: "x", a: "1" }).key);
  const first = added?.samples.histograms?.[0];
  assert.deepEqual(first?.customValues, [1, 5]);
  assert.deepEqual(first?.positiveBuckets, [1, 2, 1]);
  assert.equal(first?.sum, 10);
});
