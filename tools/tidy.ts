/**
 * What the house style asks and no linter knows: the direction of imports, calls that only adapters may
 * make, what `core/` must not contain, rules of a SPEC.md that no test cites, words that must not stay.
 * Runs as a test (`tidy.test.ts`). Works on text: a finding is `file:line: what is wrong`.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

type Layer = "kernel" | "core" | "shell" | "process" | "outside";

/** Folders under src/ that are wiring: they may import everything, and nothing imports them. */
const processes = ["cli", "coordinator", "worker"];

/** Time and randomness enter the program here and nowhere else. */
const adapterFolder = "src/kernel/node/";

const bannedCalls: readonly [pattern: RegExp, instead: string][] = [
  [/\bDate\.now\b/, "Clock.nowMs or Clock.wallMs"],
  [/\bnew Date\(\)/, "Clock.wallMs"],
  [/\bperformance\.now\b/, "Clock.nowMs"],
  [/\bMath\.random\b/, "Prng"],
  // A socket's own `.setTimeout` is about silence on the wire, not about our time.
  [/(?<![.\w])set(Timeout|Interval|Immediate)\b|\bglobalThis\.set/, "Clock.after"],
  [/\bnode:timers\b/, "Clock.after"],
  [/\bAbortSignal\.timeout\b/, "Clock.after"],
  [/\brandom(Bytes|UUID|Int|FillSync)\b|\bgetRandomValues\b/, "Prng or randomSecret"],
];

const bannedInCore: readonly [pattern: RegExp, why: string][] = [
  [/\bfrom "node:/, "node:* in a core"],
  [/\basync\b|\bawait\b/, "waiting in a core"],
  [/\bDate\b/, "Date in a core"],
];

const bannedWords: readonly [pattern: RegExp, why: string][] = [
  [/\b(FIXME|TODO|XXX|HACK)\b/, "unfinished work on main"],
  [/^\s*export \*/, "export * hides what is public"],
];

export function readSources(root: string): SourceFile[] {
  const paths = globSync("{src,sim,bench,tools,test,web/src}/**/*.{ts,tsx}", { cwd: root });
  return paths
    .filter((path) => !path.includes("/gen/") && !path.includes("node_modules"))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

export function checkImports(files: readonly SourceFile[]): string[] {
  const findings: string[] = [];
  for (const file of files) {
    if (isTest(file.path)) continue;
    for (const { target, line } of importsOf(file)) {
      const fault = importFault(file.path, target);
      if (fault !== undefined) findings.push(`${file.path}:${line}: ${fault} (${target})`);
    }
  }
  return findings;
}

export function checkCalls(files: readonly SourceFile[]): string[] {
  const inSource = files.filter(({ path }) => path.startsWith("src/") && !isTest(path));
  return inSource.flatMap((file) => [
    ...(file.path.startsWith(adapterFolder) ? [] : scan(file, bannedCalls, "use")),
    ...(layerOf(file.path) === "core" ? scan(file, bannedInCore, "not here:") : []),
  ]);
}

export function checkWords(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !path.startsWith("tools/tidy"))
    .flatMap((file) => scan(file, bannedWords, "not on main:", { inComments: true }));
}

/** Every rule `**XY1**` of a SPEC.md is cited by a test as `[XY1]`, or says `(no test)` itself. */
export function checkRules(specs: readonly SourceFile[], files: readonly SourceFile[]): string[] {
  const tests = files.filter(({ path }) => isTest(path)).map(({ text }) => text);
  const cited = new Set(
    tests.flatMap((text) =>
      [...text.matchAll(/\[([A-Z]{2}\d+(?:, ?[A-Z]{2}\d+)*)\]/g)].flatMap(([, ids]) =>
        (ids as string).split(/, ?/),
      ),
    ),
  );
  return rulesOf(specs).flatMap(({ rule, place, line }) =>
    line.includes("(no test)") || cited.has(rule) ? [] : [`${place}: no test cites ${rule}`],
  );
}

/** A test cites a rule by its id alone: an id that two rules have proves neither. */
export function checkRuleIds(specs: readonly SourceFile[]): string[] {
  const places = new Map<string, string>();
  return rulesOf(specs).flatMap(({ rule, place }) => {
    const first = places.get(rule);
    if (first === undefined) places.set(rule, place);
    return first === undefined ? [] : [`${place}: ${rule} is a rule already, at ${first}`];
  });
}

interface SpecRule {
  readonly rule: string;
  readonly line: string;
  /** `file:line` */
  readonly place: string;
}

function rulesOf(specs: readonly SourceFile[]): SpecRule[] {
  return specs.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const rule = /^[-|\s]*\*\*([A-Z]{2}\d+)\*\*/.exec(line)?.[1];
      return rule === undefined ? [] : [{ rule, line, place: `${path}:${index + 1}` }];
    }),
  );
}

export function readSpecs(root: string): SourceFile[] {
  return globSync("src/*/SPEC.md", { cwd: root }).map((path) => ({
    path,
    text: readFileSync(join(root, path), "utf8"),
  }));
}

function importFault(from: string, target: string): string | undefined {
  if (!target.startsWith("src/")) {
    return from.startsWith("src/") ? "src/ imports nothing outside itself" : undefined;
  }
  const [fromLayer, targetLayer] = [layerOf(from), layerOf(target)];
  if (fromLayer === "kernel" && targetLayer !== "kernel")
    return "the kernel imports nothing of ours";
  if (fromLayer === "core" && target.startsWith(adapterFolder))
    return "a core takes Clock and Prng as arguments";
  if (fromLayer === "core" && targetLayer === "shell") return "a core imports no shell";
  if (targetLayer === "process" && fromLayer !== "process" && fromLayer !== "outside") {
    return "nothing imports a process";
  }
  const sameCapability = capabilityOf(from) === capabilityOf(target);
  if (sameCapability || targetLayer === "kernel" || target.includes("/testing/")) return undefined;
  if (fromLayer === "outside" || fromLayer === "process") return undefined;
  return /^src\/[^/]+\/(core\/)?index\.ts$/.test(target)
    ? undefined
    : "another capability is reached through its index files only";
}

function layerOf(path: string): Layer {
  const [top, capability, folder] = path.split("/");
  if (top !== "src" || capability === undefined) return "outside";
  if (capability === "kernel") return "kernel";
  if (processes.includes(capability)) return "process";
  return folder === "core" ? "core" : "shell";
}

function capabilityOf(path: string): string | undefined {
  return path.startsWith("src/") ? path.split("/")[1] : undefined;
}

function isTest(path: string): boolean {
  return (
    /\.(test|contract)\.tsx?$/.test(path) || path.includes("/testing/") || path.startsWith("test/")
  );
}

function importsOf(file: SourceFile): { target: string; line: number }[] {
  return file.text.split("\n").flatMap((text, index) => {
    const found = /(?:\bfrom|\bimport\()\s*"(\.[^"]+)"/.exec(text)?.[1];
    if (found === undefined) return [];
    return [{ target: normalize(join(dirname(file.path), found)), line: index + 1 }];
  });
}

function scan(
  file: SourceFile,
  patterns: readonly [RegExp, string][],
  verb: string,
  options: { readonly inComments?: boolean } = {},
): string[] {
  return file.text.split("\n").flatMap((line, index) => {
    const code = options.inComments === true ? line : withoutCommentsAndTexts(line);
    return patterns
      .filter(([pattern]) => pattern.test(code))
      .map(([, text]) => `${file.path}:${index + 1}: ${verb} ${text}`);
  });
}

/** Good enough for one line: import paths stay, other texts and comments go. */
function withoutCommentsAndTexts(line: string): string {
  if (/^\s*(\/\/|\/?\*)/.test(line)) return "";
  const code = /\bfrom "|\bimport\("/.test(line)
    ? line
    : line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g, '""');
  return code.replace(/\s\/\/.*$/, "");
}
