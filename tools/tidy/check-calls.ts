/** Calls that only adapters may make, what a core must not contain, words that must not stay. */
import { isAdapter, isCore } from "./check-imports.ts";
import { roomOf } from "./rooms.ts";
import { isTest, type SourceFile } from "./sources.ts";

type Pattern = readonly [pattern: RegExp, text: string];

const bannedCalls: readonly Pattern[] = [
  [/\bDate\.now\b/, "Clock.nowMs or Clock.wallMs"],
  [/\bnew Date\(\)/, "Clock.wallMs"],
  [/\bperformance\.now\b/, "Clock.nowMs"],
  [/\bMath\.random\b/, "Prng"],
  // A socket's own `.setTimeout` is about silence on the wire, not about our time.
  [/(?<![.\w])set(Timeout|Interval|Immediate)\b|\bglobalThis\.set/, "Clock.after"],
  [/\bnode:timers\b/, "Clock.after"],
  [/\bAbortSignal\.timeout\b/, "Clock.after"],
  // A pause that doubles by hand.
  [/[mM]s\w* (\* 2 \*\*|\*= 2\b)|Math\.min\([^)]*[mM]s\w* \* 2\b/, "backoffMs"],
  [/\brandom(Bytes|UUID|Int|FillSync)\b|\bgetRandomValues\b/, "Prng or randomSecret"],
];

/** Of Node's modules whose only users are `ground/threads` and the kernel's wake timer. */
const bannedStarts: readonly Pattern[] = [
  [/\bnode:child_process\b/, "OwnProcess of ground/threads"],
  [/\bnew Worker\(/, "startThread of ground/threads"],
  [/\bparentPort\b/, "servePeer of ground/threads"],
];

/** The machine's cores are shared out in one place. */
const bannedMeasures: readonly Pattern[] = [
  [/\bavailableParallelism\b|\bcpus\(\)/, "the context's shares, or machine() of ground/process"],
];

const bannedInCore: readonly Pattern[] = [
  [/\bfrom "node:/, "node:* in a core"],
  [/\basync\b|\bawait\b/, "waiting in a core"],
  [/\bDate\b/, "Date in a core"],
];

const bannedWords: readonly Pattern[] = [
  [/\b(FIXME|TODO|XXX|HACK)\b/, "unfinished work on main"],
  [/^\s*export \*/, "export * hides what is public"],
];

export function checkCalls(files: readonly SourceFile[]): string[] {
  const inSource = files.filter(({ path }) => path.startsWith("src/") && !isTest(path));
  return inSource.flatMap((file) => [
    ...(isAdapter(file.path) ? [] : scan(file, bannedCalls, "use")),
    ...(mayStart(file.path) ? [] : scan(file, bannedStarts, "use")),
    ...(file.path === "src/ground/process/machine.ts" ? [] : scan(file, bannedMeasures, "use")),
    ...(isCore(file.path) ? scan(file, bannedInCore, "not here:") : []),
  ]);
}

function mayStart(path: string): boolean {
  return (
    roomOf(path)?.name === "ground/threads" ||
    /\/node\/(thread-wake-timer|wake-thread)\.ts$/.test(path)
  );
}

export function checkWords(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !path.startsWith("tools/tidy/"))
    .flatMap((file) => scan(file, bannedWords, "not on main:", { inComments: true }));
}

const commentColumnsMax = 100;

/** A comment ends before column 100. What tells the linter something has to be in one line. */
export function checkComments(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const isComment = /^\s*(\/\/|\/?\*)|[;,{([)\]}>a-z0-9]\s+\/\/ [^"'`]*$/.test(line);
      if (line.length <= commentColumnsMax || !isComment || line.includes("biome-ignore"))
        return [];
      return [`${path}:${index + 1}: a comment of ${line.length} columns`];
    }),
  );
}

function scan(
  file: SourceFile,
  patterns: readonly Pattern[],
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
