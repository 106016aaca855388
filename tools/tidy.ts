/**
 * What the house style asks and no linter knows: the direction of imports, calls that only adapters
 * may make, what a core must not contain, rules of a SPEC.md that no test cites, the size of the
 * processes' wiring, words that must not stay. It works on text: a finding is `file:line: what is
 * wrong`. `npm test` runs it (`tidy/tidy.test.ts`); `node tools/tidy.ts` prints what it found and
 * how much it looked at.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkCalls, checkComments, checkWords } from "./tidy/check-calls.ts";
import { checkErrorCodes } from "./tidy/check-error-codes.ts";
import { checkImports } from "./tidy/check-imports.ts";
import { checkCitations, checkRuleIds, checkRules, rulesOf } from "./tidy/check-rules.ts";
import { checkSizes } from "./tidy/check-sizes.ts";
import { readScripts, readSources, readSpecs } from "./tidy/sources.ts";

export interface TidyReport {
  readonly findings: readonly string[];
  /** How much was looked at: a check that has gone blind finds nothing. */
  readonly counts: {
    readonly specs: number;
    readonly rules: number;
    readonly tests: number;
    readonly rooms: number;
    readonly imports: number;
  };
}

export function tidy(root: string): TidyReport {
  const files = readSources(root);
  const tests = [...files, ...readScripts(root)];
  const specs = readSpecs(root);
  const imports = checkImports(files);
  return {
    findings: [
      ...imports.findings,
      ...checkCalls(files),
      ...checkWords(files),
      ...checkComments(files),
      ...checkErrorCodes(files),
      ...checkSizes(files),
      ...checkRules(specs, tests),
      ...checkRuleIds(specs),
      ...checkCitations(specs, tests),
    ],
    counts: {
      specs: specs.length,
      rules: rulesOf(specs).length,
      tests: files.filter(({ path }) => path.endsWith(".test.ts")).length,
      rooms: imports.roomCount,
      imports: imports.importCount,
    },
  };
}

if (import.meta.main) {
  const { findings, counts } = tidy(dirname(dirname(fileURLToPath(import.meta.url))));
  for (const finding of findings) process.stdout.write(`${finding}\n`);
  const looked = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  process.stdout.write(`tidy: ${findings.length} findings in ${looked.join(", ")}\n`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
