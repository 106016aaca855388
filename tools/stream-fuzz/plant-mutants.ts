/** Plants each operator bug in a copy of the sources, and runs the property test of plans there. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Mutant, mutants } from "./mutants.ts";

export interface PlantOptions {
  readonly seed: string;
  /** Random plans for each mutant, at most. */
  readonly cases: number;
  readonly jobs: number;
  /** A part of the name of those to plant; all of them where it is absent. */
  readonly only: string | undefined;
  readonly print: (line: string) => void;
}

const root = join(import.meta.dirname, "..", "..");
const copied = ["src", "tools/stream-fuzz", "tools/stream-fuzz.ts", "package.json"];
/** Wall time, generous: the machine may be busy with other things. */
const hangMs = 1_800_000;

/** Returns how many mutants were planted, and how many were not met as they should be. */
export async function plantMutants(options: PlantOptions): Promise<{
  readonly planted: number;
  readonly failures: number;
}> {
  const { only = "", jobs, print } = options;
  const chosen = mutants.filter(({ name }) => name.includes(only));
  const waiting = chosen.values();
  let failures = 0;
  const run = async (): Promise<void> => {
    const copy = await mkdtemp(join(tmpdir(), "capstan-mutants-"));
    try {
      for (const path of copied) await cp(join(root, path), join(copy, path), { recursive: true });
      await symlink(join(root, "node_modules"), join(copy, "node_modules"));
      for (const mutant of waiting) {
        const problem = await plant(copy, mutant, options);
        if (problem !== undefined) failures += 1;
        print(`  ${problem ?? verdictOf(mutant)}: ${mutant.name}`);
      }
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, chosen.length) }, run));
  return { planted: chosen.length, failures };
}

function verdictOf({ equivalent }: Mutant): string {
  return equivalent === undefined ? "found" : `equivalent (${equivalent})`;
}

/** What is wrong with how a mutant was met; `undefined` where nothing is. */
async function plant(
  copy: string,
  { file, text, planted, equivalent }: Mutant,
  options: PlantOptions,
): Promise<string | undefined> {
  const path = join(copy, "src", "kinds", "stream", file);
  const original = await readFile(path, "utf8");
  const places = original.split(text).length - 1;
  if (places !== 1) return `its text stands ${places} times in ${file}`;
  await writeFile(
    path,
    original.replace(text, () => planted),
  );
  try {
    const output = await runPlans(copy, options);
    const isFound = /^stream-fuzz plans: \d+ cases, [1-9]\d* failures$/m.test(output);
    const isMissed = /^stream-fuzz plans: \d+ cases, 0 failures$/m.test(output);
    if (!isFound && !isMissed) return `the plans were not run (${output.slice(-300)})`;
    // A plant that breaks every plan shows nothing.
    const isBroken = /SyntaxError|ReferenceError|TypeError/.test(output);
    if (isFound && isBroken) return "it breaks the program instead of its results";
    if (isFound && equivalent !== undefined) return "found, though it is said to be equivalent";
    return isMissed && equivalent === undefined ? "NOT FOUND" : undefined;
  } finally {
    await writeFile(path, original);
  }
}

function runPlans(copy: string, { seed, cases }: PlantOptions): Promise<string> {
  const tool = join(copy, "tools", "stream-fuzz.ts");
  const args = [tool, "plans", "--first", "--jobs", "1", "--seed", seed, "--cases", `${cases}`];
  return new Promise((resolve) => {
    const options = { cwd: copy, timeout: hangMs, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, args, options, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}
