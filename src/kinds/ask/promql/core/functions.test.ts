import assert from "node:assert/strict";
import { test } from "node:test";
import { functionSignatures } from "./functions.ts";

test("[PQ14] there are as many functions as Prometheus 3.14 has", () => {
  const all = [...functionSignatures.values()];
  assert.equal(all.length, 90);
  assert.equal(all.filter(({ experimental }) => experimental).length, 17);
  for (const [name, signature] of functionSignatures) assert.equal(signature.name, name);
});

const cases = [
  ["abs", ["vector"], 0, "vector", false],
  ["time", [], 0, "scalar", false],
  ["scalar", ["vector"], 0, "scalar", false],
  ["vector", ["scalar"], 0, "vector", false],
  ["hour", ["vector"], 1, "vector", false],
  ["round", ["vector", "scalar"], 1, "vector", false],
  ["rate", ["matrix"], 0, "vector", false],
  ["quantile_over_time", ["scalar", "matrix"], 0, "vector", false],
  ["predict_linear", ["matrix", "scalar"], 0, "vector", false],
  ["label_join", ["vector", "string", "string", "string"], -1, "vector", false],
  ["label_replace", ["vector", "string", "string", "string", "string"], 0, "vector", false],
  ["histogram_fraction", ["scalar", "scalar", "vector"], 0, "vector", false],
  ["histogram_quantiles", ["vector", "string", "scalar", "scalar"], 9, "vector", true],
  ["info", ["vector", "vector"], 1, "vector", true],
  ["sort_by_label", ["vector", "string"], -1, "vector", true],
  ["max_of", ["scalar", "scalar"], 0, "scalar", true],
  ["step", [], 0, "scalar", true],
] as const;
for (const [name, argTypes, variadic, returnType, experimental] of cases) {
  test(`[PQ14] the signature of ${name}`, () => {
    const wanted = { name, argTypes, variadic, returnType, experimental };
    assert.deepEqual(functionSignatures.get(name), wanted);
  });
}
