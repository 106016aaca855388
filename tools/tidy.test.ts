import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { missingOptionals, platformOf } from "./complete-lock.js";
import {
  checkCalls,
  checkImports,
  checkRuleIds,
  checkRules,
  checkWords,
  readSources,
  readSpecs,
} from "./tidy.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = readSources(root);

test("imports go kernel <- core <- shell <- process, and across capabilities through index files", () => {
  assert.deepEqual(checkImports(sources), []);
});

test("only kernel/node reads clocks and random numbers; cores do not wait", () => {
  assert.deepEqual(checkCalls(sources), []);
});

test("no unfinished work, no export *", () => {
  assert.deepEqual(checkWords(sources), []);
});

test("every rule of a SPEC.md is cited by a test or marked as having none", () => {
  assert.deepEqual(checkRules(readSpecs(root), sources), []);
});

test("no two rules of any SPEC.md have the same id", () => {
  assert.deepEqual(checkRuleIds(readSpecs(root)), []);
});

test("the lock file records no download addresses", () => {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  assert.doesNotMatch(lock, /"resolved"|https?:\/\/[^"]*\.tgz/);
});

test("the lock file holds every platform's optional packages, so that npm ci takes it everywhere", () => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const missing = missingOptionals(lock).map(([name]: readonly string[]) => name);
  assert.deepEqual(missing, [], "run `node tools/complete-lock.js`");
});

test("a binary package's platform is in its name", () => {
  assert.deepEqual(platformOf("@biomejs/cli-linux-x64-musl"), {
    cpu: ["x64"],
    os: ["linux"],
    libc: ["musl"],
  });
  assert.deepEqual(platformOf("@oxc-parser/binding-win32-arm64-msvc"), {
    cpu: ["arm64"],
    os: ["win32"],
    libc: [],
  });
});

// The checks can fail: each is shown a file that breaks its rule.
const planted = [
  { path: "src/kernel/a.ts", text: 'import { x } from "../store/index.ts";' },
  { path: "src/store/core/b.ts", text: 'import { x } from "../sqlite/open.ts";' },
  { path: "src/store/core/c.ts", text: 'import { x } from "../../kernel/node/real-clock.ts";' },
  { path: "src/cluster/grpc/d.ts", text: 'import { x } from "../../store/sqlite/open.ts";' },
  { path: "src/api/e.ts", text: 'import { x } from "../cli/main.ts";' },
  { path: "src/api/f.ts", text: 'import { x } from "../../sim/main.ts";' },
];
for (const file of planted) {
  test(`the import check finds ${file.path} importing ${file.text.split('"')[1]}`, () => {
    assert.equal(checkImports([file]).length, 1);
  });
}

const calls = [
  "Date.now()",
  "Math.random()",
  "setTimeout(f, 1)",
  "randomUUID()",
  "performance.now()",
];
for (const call of calls) {
  test(`the call check finds ${call} in a shell, and not in a comment or in kernel/node`, () => {
    assert.equal(checkCalls([{ path: "src/api/a.ts", text: `const x = ${call};` }]).length, 1);
    assert.equal(checkCalls([{ path: "src/api/a.ts", text: `// ${call}` }]).length, 0);
    assert.equal(
      checkCalls([{ path: "src/kernel/node/a.ts", text: `const x = ${call};` }]).length,
      0,
    );
  });
}

test("the call check finds waiting and node:* in a core", () => {
  const core = (text: string) => checkCalls([{ path: "src/store/core/a.ts", text }]).length;
  assert.equal(core("export async function f() {}"), 1);
  assert.equal(core('import { x } from "node:fs";'), 1);
  assert.equal(core("export function f() {}"), 0);
});

test("the rule check finds an uncited rule", () => {
  const spec = {
    path: "src/x/SPEC.md",
    text: "- **XX1** a rule\n- **XX2** another (no test)\n- **XX3** cited",
  };
  const cites = { path: "src/x/a.test.ts", text: 'test("[XX3] it holds", f)' };
  assert.deepEqual(checkRules([spec], [cites]), ["src/x/SPEC.md:1: no test cites XX1"]);
});

test("finds an id that two rules have, in one SPEC.md or in two", () => {
  const one = { path: "src/x/SPEC.md", text: "- **XX1** a.\n- **XX2** b.\n- **XX1** c.\n" };
  const other = { path: "src/y/SPEC.md", text: "Before.\n- **XX2** d.\n- **YY1** e.\n" };
  assert.deepEqual(checkRuleIds([one, other]), [
    "src/x/SPEC.md:3: XX1 is a rule already, at src/x/SPEC.md:1",
    "src/y/SPEC.md:2: XX2 is a rule already, at src/x/SPEC.md:2",
  ]);
});
