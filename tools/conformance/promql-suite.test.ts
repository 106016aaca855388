import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runPromqlSuite } from "./promql-suite.ts";

const name = "staleness.test";
const folder = join(import.meta.dirname, "..", "..", "src", "kinds", "ask", "promql", "testdata");
const script = { name, text: readFileSync(join(folder, name), "utf8") };
const options = { modes: undefined, line: undefined, failuresMax: 10, verbose: false };

test("a script of our own passes through two worker processes, from segments and from the head", async () => {
  const lines: string[] = [];
  const print = (line: string) => lines.push(line);
  const { passed, total } = await runPromqlSuite([script], { ...options, direct: false, print });
  assert.equal(passed, total, lines.join("\n"));
  for (const mode of ["sealed", "head", "straddle"]) {
    const tally = lines.find((line) => line.startsWith(`${mode}: `) && line.includes("partials"));
    const [, partials, kernels] = /(\d+) partials, (\d+) kernels/.exec(tally ?? "") ?? [];
    assert(Number(partials) > 0 && Number(kernels) > 0, tally);
  }
});

test("what is not as expected is listed and counted", async () => {
  const lines: string[] = [];
  const text = "load 1m\n  m 1\n\neval instant at 0 m\n  m 2\n\neval instant at 0 m\n  m 1\n";
  const { passed, total } = await runPromqlSuite([{ name: "wrong.test", text }], {
    ...options,
    direct: true,
    print: (line) => lines.push(line),
  });
  assert.deepEqual([passed, total], [1, 2]);
  assert.deepEqual(lines, ["wrong.test:4 m\n  direct: want m 2, got 1", "wrong.test: 1/2"]);
});

test("a load that cannot be read fails what follows it, until everything is cleared", async () => {
  const evaluation = "eval instant at 0 m\n  m 1\n";
  const text = `load 1m\n  m abc\n\n${evaluation}\nclear\nload 1m\n  m 1\n\n${evaluation}`;
  const lines: string[] = [];
  const { passed, total } = await runPromqlSuite([{ name: "bad.test", text }], {
    ...options,
    direct: true,
    print: (line) => lines.push(line),
  });
  assert.deepEqual([passed, total], [1, 2]);
  assert.match(lines[0] ?? "", /^bad\.test:4 m\n {2}direct: line 2: /);
});
