/** The project is tidy; and each check finds what is planted for it, so that it cannot go blind. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { missingOptionals, platformOf } from "../complete-lock.js";
import { tidy } from "../tidy.ts";
import { checkCalls, checkComments, checkWords } from "./check-calls.ts";
import { checkErrorCodes } from "./check-error-codes.ts";
import { checkImports } from "./check-imports.ts";
import { checkCitations, checkRuleIds, checkRules } from "./check-rules.ts";
import { checkSizes } from "./check-sizes.ts";
import { importsOf } from "./sources.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * What there is at least: fewer means that a check no longer finds what it looks at, or that files
 * of tests went.
 */
const countsMin = { specs: 31, rules: 1_440, tests: 560, rooms: 26, imports: 9_150 };

test("the project is tidy, and all of it was looked at", (t) => {
  const { findings, counts } = tidy(root);
  t.diagnostic(`tidy: ${JSON.stringify(counts)}`);
  assert.deepEqual(findings, []);
  for (const what of ["specs", "rules", "tests", "rooms", "imports"] as const) {
    assert.ok(
      counts[what] >= countsMin[what],
      `${counts[what]} ${what}; at least ${countsMin[what]}`,
    );
  }
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

interface Planted {
  readonly what: string;
  readonly files: readonly (readonly [path: string, text: string])[];
  readonly finding: RegExp;
}

const from = (path: string): string => `import { x } from "${path}";`;

const planted: readonly Planted[] = [
  {
    what: "the kernel importing a room",
    files: [["src/ground/kernel/a.ts", from("../store/index.ts")]],
    finding: /the kernel imports nothing of ours/,
  },
  {
    what: "a core importing a shell",
    files: [["src/ground/store/core/b.ts", from("../sqlite/open.ts")]],
    finding: /a core imports no shell/,
  },
  {
    what: "a core importing a clock",
    files: [["src/ground/store/core/c.ts", from("../../kernel/node/real-clock.ts")]],
    finding: /a core takes Clock and Prng/,
  },
  {
    what: "an import past the index files of a room",
    files: [["src/ground/cluster/grpc/d.ts", from("../../store/sqlite/open.ts")]],
    finding: /through its index files only/,
  },
  {
    what: "an upward import, to the next floor",
    files: [["src/ground/store/e.ts", from("../../data/lake/index.ts")]],
    finding: /imports go down the floors \(ground\/store -> data\/lake\)/,
  },
  {
    what: "an upward import, over two floors, over several lines",
    files: [["src/data/lake/f.ts", 'import {\n  x,\n  y,\n} from "../../faces/api/index.ts";\n']],
    finding: /f\.ts:1: imports go down the floors/,
  },
  {
    what: "an upward import of a type, re-exported",
    files: [["src/data/lake/g.ts", 'export type { X } from "../../kinds/ask/index.ts";']],
    finding: /imports go down the floors/,
  },
  {
    what: "a dynamic import, over two lines",
    files: [["src/data/lake/h.ts", 'const x = await import(\n  "../../kinds/ask/index.ts"\n);']],
    finding: /h\.ts:1: imports go down the floors/,
  },
  {
    what: "an import for its effects",
    files: [["src/data/lake/i.ts", 'import "../../kinds/ask/index.ts";']],
    finding: /imports go down the floors/,
  },
  {
    what: "a thread's module in another room",
    files: [
      ["src/ground/store/j.ts", 'siblingModule(import.meta.url, "../cluster/grpc/x-thread");'],
    ],
    finding: /through its index files only/,
  },
  {
    what: "one kind importing another",
    files: [["src/kinds/load/k.ts", from("../refresh/index.ts")]],
    finding: /kinds do not import each other/,
  },
  {
    what: "an import past the index files of a hall",
    files: [["src/kinds/ask/run/k.ts", from("../metrics/fs/log-list.ts")]],
    finding: /through its index files only/,
  },
  {
    what: "a cycle of two rooms",
    files: [
      ["src/data/lake/l.ts", from("../sql/index.ts")],
      ["src/data/sql/l.ts", from("../lake/index.ts")],
    ],
    finding: /rooms of one floor form no cycle/,
  },
  {
    what: "a cycle of three rooms",
    files: [
      ["src/ground/store/m.ts", from("../reconcile/index.ts")],
      ["src/ground/reconcile/m.ts", from("../cluster/index.ts")],
      ["src/ground/cluster/m.ts", from("../store/index.ts")],
    ],
    finding: /rooms of one floor form no cycle \(ground\/reconcile -> ground\/cluster\)/,
  },
  {
    what: "somebody importing a process",
    files: [["src/faces/api/n.ts", from("../../cli/main.ts")]],
    finding: /nothing imports a process/,
  },
  {
    what: "src/ importing the simulation",
    files: [["src/faces/api/o.ts", from("../../../sim/main.ts")]],
    finding: /src\/ imports nothing outside itself/,
  },
  {
    what: "a folder that is on no map",
    files: [["src/cellar/p.ts", ""]],
    finding: /this folder is on no map/,
  },
];

for (const { what, files, finding } of planted) {
  test(`the check of imports finds ${what}`, () => {
    const sources = files.map(([path, text]) => ({ path, text }));
    assert.match(checkImports(sources).findings.join("\n"), finding);
  });
}

test("the check of imports is content with what goes down, through index files", () => {
  const sources = [
    ["src/kinds/ask/core/a.ts", from("../../../data/sql/core/index.ts")],
    ["src/kinds/ask/b.ts", from("../../ground/store/index.ts")],
    ["src/kinds/ask/c.ts", from("../../ground/kernel/errors.ts")],
    ["src/data/lake/d.ts", from("../sql/index.ts")],
    ["src/coordinator/main.ts", from("../kinds/ask/metrics/open.ts")],
    ["sim/world.ts", from("../src/kinds/ask/core/deep.ts")],
  ].map(([path = "", text = ""]) => ({ path, text }));
  assert.deepEqual(checkImports(sources).findings, []);
});

test("imports are found where they stand, and not in comments", () => {
  const text = [
    '// import { x } from "./no.ts";',
    "/**",
    ' * import { x } from "./neither.ts";',
    " */",
    "",
    "import {",
    "  x,",
    '} from "./a.ts";',
    'import { y } from "node:fs";',
    'const z = await import("./b.ts");',
  ].join("\n");
  assert.deepEqual(importsOf({ path: "src/x/y.ts", text }), [
    { target: "src/x/a.ts", line: 6 },
    { target: "src/x/b.ts", line: 10 },
  ]);
});

const calls = [
  "Date.now()",
  "Math.random()",
  "setTimeout(f, 1)",
  "randomUUID()",
  "performance.now()",
  "Math.min(maxMs, minMs * 2 ** failures)",
  "Math.min(waitMs * 2, waitMsMax)",
];
for (const call of calls) {
  test(`the call check finds ${call} in a shell, and not in a comment or in the kernel's adapters`, () => {
    const found = (path: string, text: string): number => checkCalls([{ path, text }]).length;
    assert.equal(found("src/faces/api/a.ts", `const x = ${call};`), 1);
    assert.equal(found("src/faces/api/a.ts", `// ${call}`), 0);
    assert.equal(found("src/ground/kernel/node/a.ts", `const x = ${call};`), 0);
    assert.equal(found("src/ground/store/node/a.ts", `const x = ${call};`), 1);
  });
}

const starts = [
  'import { spawn } from "node:child_process";',
  'const { fork } = await import("node:child_process");',
  "const thread = new Worker(module);",
  'import { parentPort } from "node:worker_threads";',
];
for (const start of starts) {
  test(`the call check finds ${start} outside ground/threads`, () => {
    const found = (path: string): number => checkCalls([{ path, text: start }]).length;
    assert.equal(found("src/kinds/load/worker/a.ts"), 1);
    assert.equal(found("src/ground/kernel/node/a.ts"), 1);
    assert.equal(found("src/cli/a.ts"), 1);
    assert.equal(found("src/ground/threads/node/a.ts"), 0);
    assert.equal(found("src/ground/kernel/node/thread-wake-timer.ts"), 0);
    assert.equal(found("src/kinds/load/worker/a.test.ts"), 0);
  });
}

test("the call check finds whoever counts the machine's cores, but for ground/process/machine.ts", () => {
  const text = 'import { availableParallelism, tmpdir } from "node:os";';
  const found = (path: string): number => checkCalls([{ path, text }]).length;
  assert.equal(found("src/kinds/ask/worker-part.ts"), 1);
  assert.equal(found("src/ground/process/open-process.ts"), 1);
  assert.equal(found("src/worker/main.ts"), 1);
  assert.equal(found("src/ground/process/machine.ts"), 0);
  assert.equal(found("src/kinds/ask/a.test.ts"), 0);
});

test("the call check finds waiting and node:* in a core", () => {
  const core = (text: string) => checkCalls([{ path: "src/ground/store/core/a.ts", text }]).length;
  assert.equal(core("export async function f() {}"), 1);
  assert.equal(core('import { x } from "node:fs";'), 1);
  assert.equal(core("export function f() {}"), 0);
});

test("the check of error codes finds a process or thread that loads a room without its codes", () => {
  const room = [
    { path: "src/kinds/load/core/error-codes.ts", text: "declareErrorCodes({});" },
    { path: "src/kinds/load/part.ts", text: 'import type { X } from "./core/error-codes.ts";' },
    { path: "src/kinds/load/index.ts", text: 'import "./core/error-codes.ts";' },
  ];
  const thread = (imported: string) => ({
    path: "src/kinds/load/a-thread.ts",
    text: `import { x } from "${imported}";\nservePeer<A>(() => x);`,
  });
  const main = { path: "src/worker/main.ts", text: from("../kinds/load/part.ts") };
  assert.deepEqual(checkErrorCodes([...room, thread("./index.ts")]), []);
  const found = checkErrorCodes([...room, thread("./part.ts"), main]).join("\n");
  assert.match(found, /a-thread\.ts:1: loads src\/kinds\/load\/ without its error codes/);
  assert.match(found, /worker\/main\.ts:1: loads src\/kinds\/load\//);
});

test("the size check finds a main.ts of 81 lines, and a function of 41 beside it", () => {
  const body = (count: number): string => "  f();\n".repeat(count);
  const wide = (count: number): string => `async function f() {\n${body(count - 2)}}\n`;
  const found = (path: string, text: string): string[] => checkSizes([{ path, text }]);
  assert.deepEqual(found("src/worker/main.ts", wide(40).repeat(2)), []);
  assert.deepEqual(found("src/coordinator/main.ts", `${wide(40).repeat(2)}f();\n`), [
    "src/coordinator/main.ts:1: 81 lines; a process's main.ts has at most 80",
  ]);
  assert.deepEqual(found("src/coordinator/serve-api.ts", `\nexport ${wide(41)}${wide(40)}`), [
    "src/coordinator/serve-api.ts:2: a function of 41 lines; at most 40",
  ]);
  assert.deepEqual(found("src/faces/api/server.ts", wide(90)), []);
});

test("the word check finds unfinished work and export *", () => {
  const found = (text: string) => checkWords([{ path: "src/ground/store/a.ts", text }]).length;
  assert.equal(found("// FIXME"), 1);
  assert.equal(found('export * from "./b.ts";'), 1);
  assert.equal(found('export { b } from "./b.ts";'), 0);
});

test("the comment check finds lines of comments beyond 100 columns, and no others", () => {
  const found = (text: string) => checkComments([{ path: "src/ground/store/a.ts", text }]).length;
  const long = "x".repeat(100);
  assert.equal(found(`// ${long}`), 1);
  assert.equal(found(` * ${long}`), 1);
  assert.equal(found(`/** ${long} */`), 1);
  assert.equal(found(`const x = 1; // ${long}`), 1);
  assert.equal(found(`const x = "${long}";`), 0);
  assert.equal(found(`const x = "https://${long}";`), 0);
  assert.equal(found(`// biome-ignore lint/a/b: ${long}`), 0);
  assert.equal(found("// short"), 0);
});

const spec = {
  path: "src/ground/x/SPEC.md",
  text: [
    "- **XX1** a rule. **XX4** another on its line.",
    "- **XX2** one more (no test)",
    "- **XX3** cited",
  ].join("\n"),
};
const cites = { path: "src/ground/x/a.test.ts", text: 'test("[XX3] it holds", f)' };

test("the rule check finds rules that no test cites, also the second of a line", () => {
  assert.deepEqual(checkRules([spec], [cites]), [
    "src/ground/x/SPEC.md:1: no test of its room cites XX1",
    "src/ground/x/SPEC.md:1: no test of its room cites XX4",
  ]);
});

test("a rule that loses its only test is found", () => {
  assert.deepEqual(checkRules([spec], []).length, 3);
});

test("a test of another room proves no rule; one of processes or of the simulation does", () => {
  const uncited = (path: string) => checkRules([spec], [{ ...cites, path }]).length;
  assert.equal(uncited("src/ground/y/a.test.ts"), 3);
  for (const path of ["test/e2e/a.test.ts", "sim/a.test.ts", "src/worker/a.test.ts"]) {
    assert.equal(uncited(path), 2, path);
  }
});

test("a test that cites a rule which is nowhere is found", () => {
  const wrong = { path: "src/ground/x/b.test.ts", text: '\ntest("[XX3, XX9] it holds", f)' };
  assert.deepEqual(checkCitations([spec], [cites, wrong]), [
    "src/ground/x/b.test.ts:2: no SPEC.md has the rule XX9",
  ]);
});

test("an id of one letter is an id", () => {
  const short = { path: "src/ground/x/SPEC.md", text: "- **X1** a rule." };
  const wrong = { path: "src/ground/x/a.test.ts", text: 'test("[X2] it holds", f)' };
  assert.equal(checkRules([short], [wrong]).length, 1);
  assert.equal(checkCitations([short], [wrong]).length, 1);
});

test("finds an id that two rules have, in one SPEC.md or in two", () => {
  const one = { path: "src/x/SPEC.md", text: "- **XX1** a.\n- **XX2** b.\n- **XX1** c.\n" };
  const other = { path: "src/y/SPEC.md", text: "Before.\n- **XX2** d.\n- **YY1** e.\n" };
  assert.deepEqual(checkRuleIds([one, other]), [
    "src/x/SPEC.md:3: XX1 is a rule already, at src/x/SPEC.md:1",
    "src/y/SPEC.md:2: XX2 is a rule already, at src/x/SPEC.md:2",
  ]);
});
