/**
 * Which of the server's queries was which execution. A server's history knows no id of ours, only
 * texts and times; so within one statement's text queries and executions are paired in the order of
 * their starts, each with the nearest, and what is left with what is left. Rules: ME1 to ME3.
 */
import type { ExecutedQuery } from "./target.ts";

export interface UnmatchedExecution {
  readonly executionId: string;
  readonly operation: string;
  readonly startMs: number;
}

export interface MatchedExecution {
  readonly executionId: string;
  /** The query ids of all its statements, separated by commas. */
  readonly queryIds: string;
  readonly totalElapsedMs: number;
  readonly executionMs: number;
  readonly compilationMs: number;
  readonly queuedMs: number;
  readonly clusterNumber: number | null;
}

export const apartMsMax = 1_000;

/** `textsOf` gives an operation's statements as they are sent. */
export function matchExecutions(
  executions: readonly UnmatchedExecution[],
  queries: readonly ExecutedQuery[],
  textsOf: ReadonlyMap<string, readonly string[]>,
): readonly MatchedExecution[] {
  const byText = Map.groupBy(queries, ({ text }) => plainText(text));
  for (const group of byText.values()) group.sort((left, right) => left.startMs - right.startMs);
  const byOperation = Map.groupBy(executions, ({ operation }) => operation);
  return [...byOperation].flatMap(([operation, own]) => {
    const ordered = own.toSorted((left, right) => left.startMs - right.startMs);
    const texts = textsOf.get(operation) ?? [];
    const found = texts.map((text) => pair(ordered, byText, plainText(text)));
    return ordered.flatMap(({ executionId }, at) => {
      const each = found.map((queriesOf) => queriesOf[at]);
      const whole = each.filter((query) => query !== undefined);
      // ME2
      return whole.length === 0 || whole.length < texts.length ? [] : [merged(executionId, whole)];
    });
  });
}

/** Pairs each execution with a query, or none. Removes paired queries from `byText`. */
function pair(
  executions: readonly UnmatchedExecution[],
  byText: Map<string, ExecutedQuery[]>,
  text: string,
): readonly (ExecutedQuery | undefined)[] {
  const queries = byText.get(text) ?? [];
  const pairs = new Array<ExecutedQuery | undefined>(executions.length).fill(undefined);
  const apart = (index: number, { startMs }: ExecutedQuery): number =>
    Math.abs((executions[index]?.startMs ?? Infinity) - startMs);
  const others: ExecutedQuery[] = [];
  let at = 0;
  for (const query of queries) {
    while (at + 1 < executions.length && apart(at + 1, query) < apart(at, query)) at += 1;
    if (apart(at, query) <= apartMsMax) {
      pairs[at] = query; // ME1
      at += 1;
    } else {
      others.push(query);
    }
  }
  byText.set(text, pairRest(executions, pairs, others));
  return pairs;
}

/**
 * Coarse or late times leave gaps: pairs the rest in order, and returns the queries that remain.
 */
function pairRest(
  executions: readonly UnmatchedExecution[],
  pairs: (ExecutedQuery | undefined)[],
  queries: readonly ExecutedQuery[],
): ExecutedQuery[] {
  const left: ExecutedQuery[] = [];
  let at = 0;
  const isPast = (index: number, startMs: number): boolean =>
    pairs[index] !== undefined || (executions[index]?.startMs ?? 0) < startMs - apartMsMax;
  for (const query of queries) {
    while (at < executions.length && isPast(at, query.startMs)) at += 1;
    const startMs = executions[at]?.startMs ?? Infinity;
    if (startMs - query.startMs <= apartMsMax) pairs[at] = query;
    else left.push(query);
  }
  return left;
}

function merged(executionId: string, queries: readonly ExecutedQuery[]): MatchedExecution {
  const sum = (of: (query: ExecutedQuery) => number): number =>
    queries.reduce((total, query) => total + of(query), 0);
  return {
    executionId,
    queryIds: queries.map(({ queryId }) => queryId).join(","),
    totalElapsedMs: sum((query) => query.totalElapsedMs),
    executionMs: sum((query) => query.executionMs),
    compilationMs: sum((query) => query.compilationMs),
    queuedMs: sum((query) => query.queuedMs),
    clusterNumber: queries[0]?.clusterNumber ?? null,
  };
}

function plainText(text: string): string {
  return text.trim().replace(/;$/, "").trimEnd();
}
