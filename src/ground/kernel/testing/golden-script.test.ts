import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseGoldenScript } from "./golden-script.ts";

const script = `# For people.
test in turn

SELECT 1
----
1

SELECT
  'two lines'
----
two
lines

cases each

nothing
----
`.split("\n");

test("a script has tests and cases; an answer ends at an empty line", () => {
  const found = parseGoldenScript(script);
  const brief = found.map(({ kind, name, steps }) => [
    kind,
    name,
    ...steps.map(({ text, want }) => `${text} -> ${want}`),
  ]);
  assert.deepEqual(brief, [
    ["test", "in turn", "SELECT 1 -> 1", "SELECT\n  'two lines' -> two\nlines"],
    ["cases", "each", "nothing -> "],
  ]);
});

for (const [what, text] of [
  ["a statement without an answer", "test a\n\nSELECT 1\n\n"],
  ["an answer without a statement", "test a\n\n----\n1\n"],
  ["a statement outside of a test", "SELECT 1\n----\n1\n"],
] as const) {
  test(`${what} is refused`, () => {
    assert.throws(() => parseGoldenScript(text.split("\n")), /line \d: /);
  });
}

test("a wrong answer fails at its line, and UPDATE_GOLDEN=1 writes it anew", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-golden-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "a.slt");
  const module = join(import.meta.dirname, "golden-script.ts");
  const text = "# Kept.\ncases upper case\n\nab\n----\nAB\n\nc\nd\n----\nwrong\n";
  writeFileSync(path, text);
  writeFileSync(
    join(dir, "a.test.mjs"),
    `import { testGoldenScript } from ${JSON.stringify(module)};
     testGoldenScript(${JSON.stringify(path)}, (text) => text.toUpperCase().split("\\n"));`,
  );
  const run = (env: Readonly<Record<string, string>>) => {
    const { NODE_TEST_CONTEXT: _, ...own } = process.env;
    return spawnSync(process.execPath, ["--test", join(dir, "a.test.mjs")], {
      env: { ...own, ...env },
      encoding: "utf8",
    });
  };
  const failed = run({});
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /a\.slt:11: c/);
  assert.match(failed.stdout, /pass 1/);
  assert.equal(run({ UPDATE_GOLDEN: "1" }).status, 0);
  assert.equal(readFileSync(path, "utf8"), text.replace("wrong", "C\nD"));
  assert.equal(run({}).status, 0);
});
