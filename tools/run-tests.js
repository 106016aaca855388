/**
 * `npm test`: every test of the project, three files at a time: many of them wait for processes. Arguments narrow it down: paths or globs
 * of test files, and options of node's test runner (`npm test -- --test-name-pattern=ST3 src/store`).
 * The slow files go first, so that the others fill the time beside them.
 */
import { spawnSync } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const options = args.filter((arg) => arg.startsWith("-"));
const chosen = args.filter((arg) => !arg.startsWith("-")).map(toGlob);
const everything = ["{src,sim,bench,tools,test,web/src}/**/*.test.ts"];
const slowFirst = ["sim/sim.test.ts", "test/browser/", "test/e2e/", "src/store/"];

const files = globSync(chosen.length > 0 ? chosen : everything, { cwd: root }).sort(
  (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
);
if (files.length === 0) {
  process.stderr.write("capstan: no test file matches\n");
  process.exit(1);
}
// Hundreds of processes load the same modules.
const env = {
  NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
  ...process.env,
  NODE_NO_WARNINGS: "1",
};
const done = spawnSync(
  process.execPath,
  ["--test", "--test-concurrency=3", "--test-timeout=240000", ...options, ...files],
  { cwd: root, stdio: "inherit", env },
);
process.exit(done.status ?? 1);

function rank(file) {
  const index = slowFirst.findIndex((prefix) => file.startsWith(prefix));
  return index === -1 ? slowFirst.length : index;
}

function toGlob(path) {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? `${path.replace(/\/$/, "")}/**/*.test.ts` : path;
}
