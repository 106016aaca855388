/**
 * `npm test`: every test of the project, four files at a time. Arguments narrow it down: paths or globs of test files, and
 * `--test-name-pattern=TEXT` (`npm test -- --test-name-pattern=ST3 src/store`). The slow files go first, since they mostly wait for
 * processes, and leave the cores to the others. The last line is a summary.
 */
import { globSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { ensureProgram } from "./build-program.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const namePattern = /^--test-name-pattern=(.+)$/;
const args = process.argv.slice(2);
const options = args.filter((arg) => arg.startsWith("-"));
const chosen = args.filter((arg) => !arg.startsWith("-")).map(toGlob);
const everything = ["{src,sim,bench,tools,test,web/src}/**/*.test.ts"];
const slowFirst = [
  "sim/sim.test.ts",
  "src/tables/incremental/property.test.ts",
  "test/e2e/",
  "test/browser/",
  "src/store/",
];

const unknown = options.find((option) => !namePattern.test(option));
if (unknown !== undefined) refuse(`there is no option ${unknown}; --test-name-pattern=TEXT is one`);
const files = globSync(chosen.length > 0 ? chosen : everything, { cwd: root })
  .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  .map((file) => join(root, file));
if (files.length === 0) refuse("no test file matches");

// Hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules", ".cache", "compiled");
process.env.NODE_NO_WARNINGS = "1";
process.env.CAPSTAN_PROGRAM ??= await ensureProgram();
process.env.CAPSTAN_WARM_UP ??= "off";
process.chdir(root);

const tests = run({
  files,
  cwd: root,
  concurrency: 4,
  timeout: 240_000,
  testNamePatterns: options.map((option) => namePattern.exec(option)?.[1] ?? ""),
});
tests.on("test:summary", ({ file, counts, success }) => {
  if (file !== undefined) return;
  const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
  process.exitCode = success ? 0 : 1;
  process.on("exit", () => {
    process.stdout.write(`test: ${counts.passed}/${counts.tests} passed${skipped}\n`);
  });
});
tests.compose(spec).pipe(process.stdout);

function rank(file) {
  const index = slowFirst.findIndex((prefix) => file.startsWith(prefix));
  return index === -1 ? slowFirst.length : index;
}

function toGlob(path) {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? `${path.replace(/\/$/, "")}/**/*.test.ts` : path;
}

function refuse(why) {
  process.stderr.write(`capstan: ${why}\n`);
  process.exit(1);
}
