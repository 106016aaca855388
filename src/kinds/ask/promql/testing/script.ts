/**
 * Parses the test-script language of Prometheus (promql/promqltest) in `*.test` files.
 *
 *   clear                                   removes everything loaded so far
 *   load 5m                                 series, one a line, until an empty line; from time 0
 *   eval instant at 10m EXPR                then what is expected, until an empty line
 *   eval range from 0 to 10m step 1m EXPR
 *
 * An unreadable command is a `BrokenCommand`, so that the rest of a script still counts. An
 * expression that does not parse is a normal query, which `expect fail` may expect.
 */
import {
  type DescribedValue,
  type Grid,
  type Labels,
  PromqlError,
  parseDuration,
  parseSeriesDescription,
  type SeriesDescription,
} from "../core/index.ts";
import { ScriptError } from "./script-error.ts";
import { parseScriptNumber, unquote } from "./script-text.ts";

export interface ScriptSeries {
  readonly labels: Labels;
  readonly values: readonly DescribedValue[];
  /** Milliseconds from each sample's time to its start time; undefined where none is given. */
  readonly startOffsetsMs: readonly (number | undefined)[] | undefined;
}

export interface LoadCommand {
  readonly kind: "load";
  readonly line: number;
  readonly stepMs: number;
  /** Whether classic histograms are also loaded as histograms with custom buckets. */
  readonly withCustomBuckets: boolean;
  readonly series: readonly ScriptSeries[];
}

/** The expected text of an error or an annotation. */
export type TextExpectation =
  | { readonly kind: "any" }
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "pattern"; readonly pattern: RegExp };

export interface ExpectedSeries {
  readonly labels: Labels;
  readonly values: readonly DescribedValue[];
}

export interface EvalCommand {
  readonly kind: "eval";
  readonly line: number;
  readonly query: string;
  readonly at:
    | { readonly kind: "instant"; readonly timeMs: number }
    | { readonly kind: "range"; readonly grid: Grid };
  readonly fail: TextExpectation | undefined;
  readonly warnings: readonly TextExpectation[];
  readonly infos: readonly TextExpectation[];
  readonly noWarnings: boolean;
  readonly noInfos: boolean;
  readonly ordered: boolean;
  /** The times of the expected values when an instant query gives a range vector. */
  readonly rangeVector: Grid | undefined;
  readonly result:
    | { readonly kind: "series"; readonly series: readonly ExpectedSeries[] }
    | { readonly kind: "scalar"; readonly value: number }
    | { readonly kind: "string"; readonly text: string };
}

/** The error names the line. */
export interface BrokenCommand {
  readonly kind: "broken";
  readonly line: number;
  readonly text: string;
  readonly error: ScriptError;
}

export type ScriptCommand =
  | { readonly kind: "clear"; readonly line: number }
  | LoadCommand
  | EvalCommand
  | BrokenCommand;

const loadLine = /^load(_with_nhcb)?\s+(.+)$/;
const instantLine = /^eval(?:_(fail|warn|ordered|info))?\s+instant\s+(?:at\s+(.+?))?\s+(.+)$/;
const rangeLine =
  /^eval(?:_(fail|warn|info))?\s+range\s+from\s+(.+)\s+to\s+(.+)\s+step\s+(.+?)\s+(.+)$/;
const expectLine = /^expect\s+(ordered|fail|warn|no_warn|info|no_info)(?:\s+(regex|msg):(.+))?$/;
const rangeVectorLine = /^expect range vector\s+from\s+(.+)\s+to\s+(.+)\s+step\s+(.+)$/;

export function parseScript(text: string): ScriptCommand[] {
  const lines = text.split("\n").map((line) => {
    const trimmed = line.trim();
    return trimmed.startsWith("#") ? "" : trimmed;
  });
  const reader = new LineReader(lines);
  const commands: ScriptCommand[] = [];
  for (let line = reader.next(); line !== undefined; line = reader.next()) {
    if (line === "") continue;
    const { lineNumber } = reader;
    try {
      commands.push(parseCommand(line, reader));
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error;
      commands.push({ kind: "broken", line: lineNumber, text: line, error });
      while (reader.nextOfCommand() !== undefined);
    }
  }
  return commands;
}

function parseCommand(line: string, reader: LineReader): ScriptCommand {
  const word = (line.split(/[\t ]+/, 1)[0] as string).toLowerCase();
  if (word === "clear") return { kind: "clear", line: reader.lineNumber };
  if (word.startsWith("load")) return parseLoad(line, reader);
  if (word.startsWith("eval")) return parseEval(line, reader);
  throw new ScriptError(reader.lineNumber, `invalid command "${line}"`);
}

/** Reads lines in order; a command ends before an empty line. */
class LineReader {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** The number of the last line read, from 1. */
  get lineNumber(): number {
    return this.#next;
  }

  next(): string | undefined {
    const line = this.#lines[this.#next];
    if (line !== undefined) this.#next += 1;
    return line;
  }

  nextOfCommand(): string | undefined {
    const line = this.#lines[this.#next];
    return line === undefined || line === "" ? undefined : this.next();
  }
}

function parseLoad(line: string, reader: LineReader): LoadCommand {
  const lineNumber = reader.lineNumber;
  const found = loadLine.exec(line);
  if (found === null) throw new ScriptError(lineNumber, "invalid load command");
  const series: ScriptSeries[] = [];
  let starts: SeriesDescription | undefined;
  for (let next = reader.nextOfCommand(); next !== undefined; next = reader.nextOfCommand()) {
    const described = parseSeries(next, reader.lineNumber);
    if (described.isStartTimestamps) {
      starts = described;
      continue;
    }
    const { labels, values } = described;
    if (starts !== undefined) {
      const fits = starts.labels.key === labels.key && starts.values.length === values.length;
      if (!fits) throw new ScriptError(reader.lineNumber, "@st line does not fit its series");
    }
    series.push({ labels, values, startOffsetsMs: starts && offsetsOf(starts) });
    starts = undefined;
  }
  if (starts !== undefined) {
    throw new ScriptError(reader.lineNumber, "@st line has no following sample line");
  }
  return {
    kind: "load",
    line: lineNumber,
    stepMs: parseTime(found[2] as string, lineNumber),
    withCustomBuckets: found[1] !== undefined,
    series,
  };
}

/** An `EvalCommand` while its lines are read. */
interface EvalDraft {
  fail: TextExpectation | undefined;
  readonly warnings: TextExpectation[];
  readonly infos: TextExpectation[];
  noWarnings: boolean;
  noInfos: boolean;
  ordered: boolean;
  rangeVector: Grid | undefined;
  text: string | undefined;
  scalar: number | undefined;
  readonly series: ExpectedSeries[];
}

function parseEval(line: string, reader: LineReader): EvalCommand {
  const lineNumber = reader.lineNumber;
  const { at, query, mode } = parseEvalLine(line, lineNumber);
  const any: TextExpectation = { kind: "any" };
  const draft: EvalDraft = {
    fail: mode === "fail" ? any : undefined,
    warnings: mode === "warn" ? [any] : [],
    infos: mode === "info" ? [any] : [],
    noWarnings: false,
    noInfos: false,
    ordered: mode === "ordered",
    rangeVector: undefined,
    text: undefined,
    scalar: undefined,
    series: [],
  };
  for (let next = reader.nextOfCommand(); next !== undefined; next = reader.nextOfCommand()) {
    if (!readExpectation(next, reader.lineNumber, draft)) break;
  }
  const { text, scalar, series, ...expected } = draft;
  if (at.kind === "instant" && draft.rangeVector === undefined) {
    const many = series.find(({ values }) => values.length > 1);
    if (many !== undefined) throw new ScriptError(lineNumber, "several values at one instant");
  }
  return {
    kind: "eval",
    line: lineNumber,
    query,
    at,
    ...expected,
    result:
      scalar !== undefined
        ? { kind: "scalar", value: scalar }
        : text !== undefined
          ? { kind: "string", text }
          : { kind: "series", series },
  };
}

function parseEvalLine(
  line: string,
  lineNumber: number,
): Pick<EvalCommand, "at" | "query"> & { readonly mode: string | undefined } {
  const instant = instantLine.exec(line);
  if (instant !== null) {
    const timeMs = parseTime(instant[2] ?? "", lineNumber);
    return { at: { kind: "instant", timeMs }, query: instant[3] as string, mode: instant[1] };
  }
  const range = rangeLine.exec(line);
  if (range === null) throw new ScriptError(lineNumber, `invalid evaluation "${line}"`);
  const grid = parseGrid(range.slice(2, 5), lineNumber);
  return { at: { kind: "range", grid }, query: range[5] as string, mode: range[1] };
}

/** Returns false when the evaluation ends before this line. */
function readExpectation(line: string, lineNumber: number, draft: EvalDraft): boolean {
  const legacy = /^expected_fail_(message|regexp)\s+(.+)$/.exec(line);
  if (draft.fail !== undefined && legacy !== null) {
    const kind = legacy[1] === "message" ? "msg" : "regex";
    draft.fail = parseTextExpectation(kind, legacy[2] as string, lineNumber);
    return false;
  }
  const rangeVector = rangeVectorLine.exec(line);
  if (rangeVector !== null) {
    draft.rangeVector = parseGrid(rangeVector.slice(1, 4), lineNumber);
    return true;
  }
  if (line.startsWith("expect string")) {
    draft.text = unquote(line.slice("expect string".length).trim());
    if (draft.text === undefined) throw new ScriptError(lineNumber, "a quoted string is required");
    return true;
  }
  if (line.split(" ", 1)[0] === "expect") {
    readExpect(line, lineNumber, draft);
    return true;
  }
  draft.scalar = parseScriptNumber(line);
  if (draft.scalar !== undefined) return false;
  const { labels, values } = parseSeries(line, lineNumber);
  const known = draft.series.findIndex((series) => series.labels.key === labels.key);
  if (known >= 0) draft.series[known] = { labels, values };
  else draft.series.push({ labels, values });
  return true;
}

function readExpect(line: string, lineNumber: number, draft: EvalDraft): void {
  const found = expectLine.exec(line);
  if (found === null) throw new ScriptError(lineNumber, `invalid expect statement "${line}"`);
  const expectation = parseTextExpectation(found[2], found[3] ?? "", lineNumber);
  switch (found[1]) {
    case "fail":
      draft.fail = expectation;
      break;
    case "warn":
      draft.warnings.push(expectation);
      break;
    case "info":
      draft.infos.push(expectation);
      break;
    case "no_warn":
      draft.noWarnings = true;
      break;
    case "no_info":
      draft.noInfos = true;
      break;
    default:
      draft.ordered = true;
  }
}

function parseTextExpectation(
  kind: string | undefined,
  text: string,
  lineNumber: number,
): TextExpectation {
  if (kind === "msg") return { kind: "message", text: text.trim() };
  if (kind === "regex") return { kind: "pattern", pattern: parsePattern(text.trim(), lineNumber) };
  return { kind: "any" };
}

function parseGrid(texts: readonly string[], lineNumber: number): Grid {
  const [startMs, endMs, stepMs] = texts.map((text) => parseTime(text, lineNumber)) as [
    number,
    number,
    number,
  ];
  if (endMs < startMs) throw new ScriptError(lineNumber, "the end is before the start");
  return { startMs, endMs, stepMs };
}

function parseSeries(line: string, lineNumber: number): SeriesDescription {
  return parsed(lineNumber, () => parseSeriesDescription(line));
}

function offsetsOf({ values }: SeriesDescription): (number | undefined)[] {
  return values.map((value) => (value.kind === "float" ? value.value : undefined));
}

/** Returns milliseconds. */
function parseTime(text: string, lineNumber: number): number {
  return text === "0" ? 0 : parsed(lineNumber, () => parseDuration(text));
}

function parsed<T>(lineNumber: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof PromqlError)) throw error;
    throw new ScriptError(lineNumber, error.message, error);
  }
}

function parsePattern(text: string, lineNumber: number): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new ScriptError(lineNumber, `invalid pattern "${text}"`, error);
  }
}
