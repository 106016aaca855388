/**
 * Runs a test script against an engine, and reports for each evaluation whether it is as expected.
 *
 * Like in Prometheus, an instant query runs several times: at its own time; with `@` added
 * everywhere, at several other times; and each of these as a range query whose middle step must be
 * the same. Evaluations between two changes of the data run concurrently.
 */
import { instantGrid, PromqlError, parseExpr, printExpr, type QueryParams } from "../core/index.ts";
import {
  type Answer,
  answerAt,
  compareAnnotations,
  compareAnswer,
  formatExpectation,
  instantAnswer,
  matchesText,
  rangeAnswer,
} from "./compare-answer.ts";
import { fixTime } from "./fix-time.ts";
import { type EvalCommand, parseScript, type ScriptCommand } from "./script.ts";
import { ScriptData } from "./script-data.ts";
import type { ScriptAnswer, ScriptEngine } from "./script-engine.ts";

export interface CaseOutcome {
  readonly script: string;
  readonly line: number;
  readonly query: string;
  /** Undefined when the result is as expected. */
  readonly failure: string | undefined;
}

export interface RunOptions {
  /** Selects evaluations; all by default. */
  readonly selects?: (command: EvalCommand) => boolean;
}

export async function runScript(
  script: string,
  text: string,
  engine: ScriptEngine,
  options: RunOptions = {},
): Promise<CaseOutcome[]> {
  const data = new ScriptData();
  const outcomes: CaseOutcome[] = [];
  let pending: EvalCommand[] = [];
  let loadFailure: string | undefined;
  const runPending = async () => {
    const evals = pending;
    pending = [];
    const failures = await mapLimited(evals, engine.concurrency, async (command) =>
      loadFailure === undefined ? await runEval(command, engine) : loadFailure,
    );
    for (const [index, { line, query }] of evals.entries()) {
      outcomes.push({ script, line, query, failure: failures[index] });
    }
  };
  const commands = parseScript(text);
  await engine.clear(lastSampleMs(commands));
  for (const [index, command] of commands.entries()) {
    if (command.kind === "eval") {
      if (options.selects?.(command) !== false) pending.push(command);
      continue;
    }
    await runPending();
    if (command.kind === "broken") {
      const { line, text: query, error } = command;
      // After a load that was not understood, evaluations lack its data.
      if (query.startsWith("eval")) outcomes.push({ script, line, query, failure: error.message });
      else loadFailure = error.message;
    } else if (command.kind === "clear") {
      data.clear();
      loadFailure = undefined;
      await engine.clear(lastSampleMs(commands.slice(index + 1)));
    } else {
      try {
        await engine.load(data.load(command));
      } catch (error) {
        loadFailure = `the load at line ${command.line} failed: ${String(error)}`;
      }
    }
  }
  await runPending();
  return outcomes;
}

/** The time of the last sample loaded before the first `clear`. */
function lastSampleMs(commands: readonly ScriptCommand[]): number {
  let lastMs = 0;
  for (const command of commands) {
    if (command.kind === "clear") break;
    if (command.kind !== "load") continue;
    const { stepMs, series } = command;
    for (const { values } of series) lastMs = Math.max(lastMs, (values.length - 1) * stepMs);
  }
  return lastMs;
}

async function runEval(command: EvalCommand, engine: ScriptEngine): Promise<string | undefined> {
  const { at } = command;
  try {
    return at.kind === "range"
      ? await runRange(command, at.grid, engine)
      : await runInstant(command, at.timeMs, engine);
  } catch (error) {
    // A bug of the engine: the other evaluations still run.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `the engine broke: ${text.split("\n").slice(0, 6).join(" ")}`;
  }
}

async function runRange(
  command: EvalCommand,
  grid: QueryParams["grid"],
  engine: ScriptEngine,
): Promise<string | undefined> {
  const answer = await engine.query(command.query, { instant: false, grid });
  return judge(command, answer, false, rangeAnswer);
}

interface Variant {
  readonly query: string;
  readonly timeMs: number;
  readonly injected: boolean;
}

async function runInstant(
  command: EvalCommand,
  timeMs: number,
  engine: ScriptEngine,
): Promise<string | undefined> {
  // An expected range vector determines the time of the query.
  const askedMs = command.rangeVector?.endMs ?? timeMs;
  const variants = [
    { query: command.query, timeMs: askedMs, injected: false },
    ...injectedVariants(command.query, askedMs),
  ];
  const failures = await mapLimited(variants, engine.concurrency, async (variant) => {
    const failure = await runVariant(command, variant, engine);
    return failure === undefined || !variant.injected
      ? failure
      : `asked at ${variant.timeMs} as ${variant.query}: ${failure}`;
  });
  return failures.find((failure) => failure !== undefined);
}

function injectedVariants(query: string, timeMs: number): Variant[] {
  let fixed: string | undefined;
  try {
    const expr = fixTime(parseExpr(query), timeMs);
    fixed = expr && printExpr(expr);
  } catch (error) {
    // The unchanged query runs as well, and fails there.
    if (error instanceof PromqlError) return [];
    throw error;
  }
  if (fixed === undefined) return [];
  const times =
    timeMs === 0
      ? [-1000, 0, 1000]
      : [-10 * timeMs, 0, Math.trunc(timeMs / 5), timeMs, 10 * timeMs];
  return times.map((time) => ({ query: fixed, timeMs: time, injected: true }));
}

async function runVariant(
  command: EvalCommand,
  { query, timeMs, injected }: Variant,
  engine: ScriptEngine,
): Promise<string | undefined> {
  const asRange = !hasQueryContext(query) && isRangeable(command);
  const minuteMs = 60_000;
  const grid = { startMs: timeMs - minuteMs, endMs: timeMs + minuteMs, stepMs: minuteMs };
  const [answer, around] = await Promise.all([
    engine.query(query, { instant: true, grid: instantGrid(timeMs) }),
    asRange ? engine.query(query, { instant: false, grid }) : undefined,
  ]);
  const failure = judge(command, answer, injected, instantAnswer);
  if (failure !== undefined || around === undefined || answer.kind === "error") return failure;
  if (around.kind === "error") return `as a range query: got error "${around.error}"`;
  // Range results are in label order, so they cannot have the expected order.
  if (command.ordered) return undefined;
  const { result } = answer;
  const middle = (rangeResult: typeof result): Answer =>
    answerAt(rangeAnswer(rangeResult), timeMs, result.type === "scalar");
  const difference = compareAnswer(command, middle(around.result));
  return difference === undefined ? undefined : `as a range query: ${difference}`;
}

/** `start()`, `end()`, `range()` and `step()` differ between an instant and a range query. */
function hasQueryContext(query: string): boolean {
  return /(start|end|range|step)\(\)/.test(query);
}

function isRangeable({ rangeVector, result, fail }: EvalCommand): boolean {
  return rangeVector === undefined && result.kind !== "string" && fail === undefined;
}

function judge(
  command: EvalCommand,
  answer: ScriptAnswer,
  injected: boolean,
  toAnswer: (result: (ScriptAnswer & { kind: "result" })["result"]) => Answer,
): string | undefined {
  const { fail } = command;
  if (answer.kind === "error") {
    if (fail === undefined) return `got error "${answer.error}"`;
    return matchesText(fail, [answer.error])
      ? undefined
      : `want error ${formatExpectation(fail)}, got "${answer.error}"`;
  }
  if (fail !== undefined) return `want error ${formatExpectation(fail)}, got a result`;
  return (
    compareAnnotations(command, answer.annotations, injected) ??
    compareAnswer(command, toAnswer(answer.result))
  );
}

/** Returns results in the order of the items, running at most `limit` at a time. */
async function mapLimited<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
