/**
 * `npm run conformance -- promql|streams [DIR] [options]`: runs another project's test suite
 * against Capstan. The suites are never part of this repository: they are looked for in DIR;
 * without it, in $CAPSTAN_CONFORMANCE/NAME, then in ../shared/conformance/NAME.
 *
 * promql runs through the whole path: two workers, segments, artifacts, merge, evaluation; from
 * sealed segments, from the head, and from both (`--mode` picks one). `--direct` runs the language
 * alone, in memory. `--file NAME` (and `--line N`) picks scripts, `--limit N` lists at most so many
 * failures, `--verbose` lists what passed, too.
 *
 * streams runs every case in one fragment of this process, and split over two processes with an
 * exchange between them; with `--threads` also in several fragments on two threads. With
 * `--cluster` every case runs by statements on a coordinator and two workers instead.
 *
 * The exit code is 0 when everything passed or the suite is absent, 1 when something failed.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  type PromqlSuiteOptions,
  runPromqlSuite,
  type Script,
} from "./conformance/promql-suite.ts";
import { runStreamsSuite } from "./conformance/streams/streams-suite.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const usage =
  "usage: npm run conformance -- promql|streams [DIR] [--direct] [--mode sealed|head|straddle] " +
  "[--file NAME] [--line N] [--limit N] [--verbose] [--threads] [--cluster]";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: {
    direct: { type: "boolean", default: false },
    mode: { type: "string", multiple: true },
    file: { type: "string" },
    line: { type: "string" },
    limit: { type: "string", default: "1000" },
    verbose: { type: "boolean", default: false },
    threads: { type: "boolean", default: false },
    cluster: { type: "boolean", default: false },
  },
});
const [name = "", folder] = positionals;
process.exitCode = await main();

async function main(): Promise<number> {
  if (name !== "promql" && name !== "streams") return end(2, usage);
  const { CAPSTAN_CONFORMANCE: fromEnvironment } = process.env;
  const usual = [
    ...(fromEnvironment === undefined ? [] : [join(fromEnvironment, name)]),
    join(root, "..", "shared", "conformance", name),
  ];
  const places = folder === undefined ? usual : [resolve(folder)];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) {
    const status = folder === undefined ? 0 : 2;
    return end(status, `${name}: skipped, no suite at ${places.join(" or ")}`);
  }
  const scripts = readScripts(found);
  return name === "promql" ? await runPromql(scripts) : await runStreams(scripts, found);
}

function readScripts(place: string): Script[] {
  return globSync("**/*.test", { cwd: place })
    .sort()
    .map((file) => ({ name: file, text: readFileSync(join(place, file), "utf8") }));
}

async function runPromql(scripts: readonly Script[]): Promise<number> {
  const { file, line } = options;
  const picked = scripts.filter((script) => file === undefined || script.name.includes(file));
  const suiteOptions: PromqlSuiteOptions = {
    direct: options.direct,
    modes: options.mode,
    line: line === undefined ? undefined : Number(line),
    failuresMax: Number(options.limit),
    verbose: options.verbose,
    print: (text) => process.stdout.write(`${text}\n`),
  };
  const { passed, total } = await runPromqlSuite(picked, suiteOptions);
  return end(passed === total ? 0 : 1, `promql: ${passed}/${total} passed`);
}

async function runStreams(scripts: readonly Script[], suiteDir: string): Promise<number> {
  const { file, line } = options;
  const picked = scripts.filter((script) => file === undefined || script.name.includes(file));
  const { passed, total } = await runStreamsSuite(picked, {
    suiteDir,
    line: line === undefined ? undefined : Number(line),
    failuresMax: Number(options.limit),
    verbose: options.verbose,
    threads: options.threads,
    cluster: options.cluster,
    print: (text) => process.stdout.write(`${text}\n`),
  });
  return end(passed === total ? 0 : 1, `streams: ${passed}/${total} passed`);
}

function end(status: number, line: string): number {
  process.stdout.write(`${line}\n`);
  return status;
}
