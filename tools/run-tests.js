/**
 * `npm test`: every test of the project, four files at a time. Arguments narrow it down: paths or
 * globs of test files, `--test-name-pattern=TEXT` (`npm test -- --test-name-pattern=ST3
 * src/ground/store`), and `--fast` (`npm run test:fast`): only files that start nothing. `--cpu`
 * prints the CPU time that each file took, with its processes. The slow files go first, since they
 * mostly wait for processes, and leave the cores to the others. Files that leave their process as
 * it was share a few: to start one for each takes longer than their tests (`test-files.ts` says
 * which). The last line is a summary.
 */
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  sharedPostgresEnv,
  startEmbeddedPostgres,
} from "../src/ground/store/testing/embedded-postgres.ts";
import { ensureProgram } from "./build-program.js";
import { readTestFiles } from "./test-files.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const namePattern = /^--test-name-pattern=(.+)$/;
const args = process.argv.slice(2);
const isFast = args.includes("--fast");
const cpuDirectory = args.includes("--cpu")
  ? mkdtempSync(join(tmpdir(), "capstan-cpu-"))
  : undefined;
const flags = ["--fast", "--cpu"];
const options = args.filter((arg) => arg.startsWith("-") && !flags.includes(arg));
const chosen = args.filter((arg) => !arg.startsWith("-")).map(toGlob);
/** By what they take in all: what begins last should not be what ends last. */
const slowFirst = [
  "sim/sim.test.ts",
  "test/e2e/load-api.test.ts",
  "test/e2e/up.test.ts",
  "test/browser/load-tests.test.ts",
  "test/e2e/",
  "test/browser/",
  "src/kinds/refresh/incremental/property.test.ts",
  "tools/checks.test.ts",
];
const groupCount = 8;
/** More share processes, and a Postgres. */
const manyFiles = 50;
const slowestShown = Number(process.env.CAPSTAN_TEST_SLOWEST ?? 10);

const unknown = options.find((option) => !namePattern.test(option));
if (unknown !== undefined) {
  refuse(`there is no option ${unknown}; there are --fast, --cpu and --test-name-pattern=TEXT`);
}
const named = chosen.length === 0 ? undefined : new Set(globSync(chosen, { cwd: root }));
const found = readTestFiles(root)
  .filter((file) => (named?.has(file.path) ?? true) && (file.isFast || !isFast))
  .sort((a, b) => rank(a.path) - rank(b.path) || (a.path < b.path ? -1 : 1));
if (found.length === 0) refuse("no test file matches");
const isMany = found.length > manyFiles;
const files = isMany ? grouped(found) : found.map(({ path }) => join(root, path));

// Hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules", ".cache", "compiled");
process.env.NODE_NO_WARNINGS = "1";
if (!isFast) process.env.CAPSTAN_PROGRAM ??= await ensureProgram();
process.env.CAPSTAN_WARM_UP ??= "off";
process.chdir(root);
// Postgres takes 1.5 s of CPU time to set up and start; a dozen files want one.
const postgres =
  isMany && !isFast ? await startEmbeddedPostgres(["max_connections=600"]) : undefined;
if (postgres !== undefined) process.env[sharedPostgresEnv] = `${postgres.port}`;

if (cpuDirectory !== undefined) process.env.CAPSTAN_TEST_CPU = cpuDirectory;
const tests = run({
  files,
  cwd: root,
  execArgv:
    cpuDirectory === undefined ? [] : ["--import", new URL("./note-cpu.js", import.meta.url).href],
  concurrency: 4,
  timeout: 1_200_000, // Of a file, whose tests take four times as long on a busy machine.
  testNamePatterns: options.map((option) => namePattern.exec(option)?.[1] ?? ""),
});
const fileTimes = [];
tests.on("test:summary", ({ file, counts, success, duration_ms: durationMs }) => {
  if (file !== undefined) {
    fileTimes.push({ file: relative(root, file), seconds: Math.round(durationMs / 100) / 10 });
    return;
  }
  const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
  process.exitCode = success ? 0 : 1;
  void postgres?.stop();
  process.on("exit", () => {
    process.stdout.write(`${cpuDirectory === undefined ? slowestFiles() : cpuTimes()}\n`);
    process.stdout.write(`test: ${counts.passed}/${counts.tests} passed${skipped}\n`);
  });
});
tests.compose(spec).pipe(process.stdout);

/** Where the time goes: the files that took longest, while others ran beside them. */
function slowestFiles() {
  const slowest = fileTimes.sort((a, b) => b.seconds - a.seconds).slice(0, slowestShown);
  return ["slowest files:", ...slowest.map(({ file, seconds }) => `  ${seconds} s  ${file}`)].join(
    "\n",
  );
}

/** What each file took, with all processes that it started and waited for. */
function cpuTimes() {
  const noted = readdirSync(cpuDirectory)
    .map((name) => JSON.parse(readFileSync(join(cpuDirectory, name), "utf8")))
    .sort((a, b) => b.seconds - a.seconds);
  rmSync(cpuDirectory, { recursive: true });
  const sum = noted.reduce((total, { seconds }) => total + seconds, 0);
  const lines = noted.map(({ file, seconds }) => `  ${seconds} s  ${relative(root, file)}`);
  return [`CPU time: ${Math.round(sum)} s in all`, ...lines].join("\n");
}

function rank(file) {
  const index = slowFirst.findIndex((prefix) => file.startsWith(prefix));
  return index === -1 ? slowFirst.length : index;
}

/** Every file, with those that share a process behind as many files as there are groups. */
function grouped(all) {
  const dir = join(root, "node_modules", ".cache", "test-groups");
  mkdirSync(dir, { recursive: true });
  const shared = all.filter(({ isShared }) => isShared);
  const groups = Array.from({ length: groupCount }, (_, group) => {
    const members = shared.filter((_, index) => index % groupCount === group);
    const path = join(dir, `group-${group + 1}.test.mjs`);
    writeFileSync(path, groupText(members));
    return path;
  });
  const alone = all.filter(({ isShared }) => !isShared);
  return [...alone.map(({ path }) => join(root, path)), ...groups];
}

/** A suite for each file, so that its hooks are its own. */
function groupText(members) {
  const suites = members.map(({ path }) => {
    const address = pathToFileURL(join(root, path));
    return `describe(${JSON.stringify(path)}, async () => void (await import("${address}")));`;
  });
  return ['import { describe } from "node:test";', ...suites, ""].join("\n");
}

function toGlob(path) {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? `${path.replace(/\/$/, "")}/**/*.test.ts` : path;
}

function refuse(why) {
  process.stderr.write(`capstan: ${why}\n`);
  process.exit(1);
}
