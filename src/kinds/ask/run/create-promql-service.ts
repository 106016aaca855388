/**
 * PromQL for one process: threads here plan and evaluate the queries of the HTTP API, and workers
 * compute the leaves. Limits: QP8, QP34 and QP35.
 * Every query ends within its timeout, for its caller and on every worker. A slow query is logged
 * with what it spent its time on. An answer counts as memory until its reader has it.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import { newQueryId } from "../../../ground/kernel/new-query-id.ts";
import { compileEarly } from "../../../ground/kernel/node/compile-early.ts";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import type { AnswerOf, ArgumentOf } from "../../../ground/threads/index.ts";
import { combineQueues, type QueueState } from "../../../ground/work/core/index.ts";
import { type EngineOptions, stepCount } from "../promql/core/index.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import { SampleDensities, scopeLeaf } from "./core/scope-leaf.ts";
import type { EvalThread } from "./eval-messages.ts";
import { type EvalPlace, EvalPool } from "./eval-pool.ts";
import { ByteBudget, EventQueue } from "./event-queue.ts";
import { LabelQueries, labelShares } from "./label-queries.ts";
import { MemoryAccount } from "./memory-account.ts";
import type {
  PromqlAnswer,
  PromqlEvent,
  PromqlExplanation,
  PromqlRequest,
  PromqlService,
  QuerySummary,
  SeriesRequest,
} from "./promql-service.ts";
import { QueryClock } from "./query-clock.ts";
import { queryError, tooManyPoints, tooMuchWaits } from "./query-errors.ts";
import { computeUnitsOf, cutFor, paramsOf, type QueryOutput, QueryRun } from "./query-run.ts";
import { rehearse } from "./rehearse.ts";
import {
  defaultPromqlLimits,
  type PromqlLimits,
  type PromqlServiceDeps,
  promqlEngineDefaults,
} from "./service-options.ts";
import { withStats } from "./stats-json.ts";
import { StoppedTogether } from "./watched-thread.ts";

export interface StartedPromqlService extends PromqlService {
  /** Like `query`, with everything that is known about the answer. */
  evaluate(request: PromqlRequest, signal: AbortSignal): Promise<QueryOutput>;
  /** The queries that wait at the gate. */
  waiting(): QueueState;
  /** QP37. Resolves with the number of rehearsals when they are over. */
  rehearse(): Promise<number>;
  /** Ends the threads. Running queries fail with `shutting_down`. */
  close(): Promise<void>;
}

/** Returns while its threads are still starting: the first queries wait for them. */
export function createPromqlService(deps: PromqlServiceDeps): StartedPromqlService {
  const limits = { ...defaultPromqlLimits, ...deps.limits };
  const memory = new MemoryBudget(limits.memoryBytesMax);
  const pool = new EvalPool({
    threads: limits.evalThreads,
    heapBytesMax: limits.evalHeapBytesMax,
    memory,
    clock: deps.clock,
    logger: deps.logger,
    warmUp: deps.warmUp === true,
  });
  const service = new ThreadedPromqlService(deps, limits, pool, memory);
  if (deps.warmUp === true) void service.rehearse();
  return service;
}

const textLengthMax = 1_000;
const rehearsalMsMax = 5_000;

/** Requests about a query's text alone: format, parse and explain. */
type TextRequest = "explain" | "format" | "parse";

class ThreadedPromqlService implements StartedPromqlService {
  readonly #deps: PromqlServiceDeps;
  readonly #limits: PromqlLimits;
  readonly #pool: EvalPool;
  readonly #gate: ConcurrencyGate;
  /** Label queries have places of their own, so that no query waits for them (QP35). */
  readonly #labelGate: ConcurrencyGate;
  readonly #densities = new SampleDensities();
  readonly #labels: LabelQueries;
  readonly #waiting: ByteBudget;
  readonly #memory: MemoryBudget;
  /** Aborts when a real request arrives, or at the end: then there are no rehearsals. */
  readonly #rehearsing = new AbortController();

  constructor(deps: PromqlServiceDeps, limits: PromqlLimits, pool: EvalPool, memory: MemoryBudget) {
    this.#memory = memory;
    this.#deps = deps;
    this.#limits = limits;
    this.#pool = pool;
    this.#gate = new ConcurrencyGate(limits.concurrencyMax, limits.queueMax, deps.clock);
    const questionsMax = (): number => labelShares(computeUnitsOf(deps)).questions;
    this.#labelGate = new ConcurrencyGate(questionsMax, limits.queueMax, deps.clock);
    this.#labels = new LabelQueries(deps, limits, pool);
    this.#waiting = new ByteBudget(limits.waitingBytesMax);
  }

  waiting(): QueueState {
    return combineQueues([this.#gate.waiting(), this.#labelGate.waiting()]);
  }

  async query(request: PromqlRequest, signal: AbortSignal): Promise<PromqlAnswer> {
    const queryId = this.#nameOf(request);
    const { ran, summary } = await this.#run(queryId, request, signal, undefined);
    const json = request.stats === true ? withStats(ran, summary) : ran.json;
    const held = new MemoryAccount(this.#memory.ownPlace); // Held until the reader has the answer.
    held.take(json.length);
    return { queryId, json, sent: () => held.close() };
  }

  async evaluate(request: PromqlRequest, signal: AbortSignal): Promise<QueryOutput> {
    return await this.#run(this.#nameOf(request), request, signal, undefined);
  }

  async stream(request: PromqlRequest, signal: AbortSignal): Promise<AsyncIterable<PromqlEvent>> {
    const queryId = this.#nameOf(request);
    const left = new AbortController();
    const events = new EventQueue<PromqlEvent>(this.#waiting, () => left.abort());
    const first = Promise.withResolvers<void>();
    let tooMuch: OperatingError | undefined;
    const onResult = (json: string): void => {
      if (tooMuch !== undefined) return;
      if (events.push({ event: "result", json }, json.length)) {
        first.resolve();
        return;
      }
      tooMuch = tooMuchWaits(this.#waiting.bytesMax);
      events.drop();
      left.abort();
    };
    const fail = (thrown: unknown): void => {
      first.reject(thrown); // Means nothing once there was a result: then the stream says it.
      events.push({ event: "error", ...showError(thrown) });
      events.end();
    };
    const stop = AbortSignal.any([signal, left.signal]);
    this.#run(queryId, request, stop, onResult).then(
      ({ summary }) => {
        if (tooMuch !== undefined) {
          fail(tooMuch);
          return;
        }
        events.push({ event: "summary", summary });
        events.push({ event: "done" });
        events.end();
        first.resolve();
      },
      (thrown: unknown) => fail(tooMuch ?? thrown),
    );
    await first.promise;
    return events;
  }

  async explain(request: PromqlRequest, signal: AbortSignal): Promise<PromqlExplanation> {
    const options = this.#engineOptions(request);
    const params = paramsOf(request);
    const asked = { text: request.query, params, options };
    const explained = await this.#ask("explain", asked, signal);
    const head = await this.#deps.head();
    const all = { minTs: Number.NEGATIVE_INFINITY, maxTs: Number.POSITIVE_INFINITY };
    const segments = explained.leaves.length === 0 ? [] : await this.#deps.segments.list(all);
    const scopes = explained.leaves.map(({ leaf }) =>
      scopeLeaf(leaf, segments, head, this.#densities),
    );
    const cut = cutFor(scopes, stepCount(params.grid), false, this.#deps, this.#limits);
    const { resultType, formatted, tree } = explained;
    const leaves = explained.leaves.map(({ text, why, leaf }, index) => ({
      text,
      why,
      output: leaf.output.kind,
      shardCount: cut.shardCount,
      segmentCount: scopes[index]?.segments.length ?? 0,
      fromHead: scopes[index]?.fromHead ?? false,
      samplesEstimate: scopes[index]?.samplesEstimate ?? 0,
    }));
    return { resultType, formatted, tree, leaves };
  }

  async series(
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<PromqlService["series"]>>> {
    const { queryId } = request;
    const act = (id: QueryId, clock: QueryClock) => this.#labels.series(id, request, clock);
    return await this.#within("series", signal, act, { queryId });
  }

  async labelNames(
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<PromqlService["labelNames"]>>> {
    const { queryId } = request;
    const act = (id: QueryId, clock: QueryClock) => this.#labels.names(id, request, clock);
    return await this.#within("names", signal, act, { queryId });
  }

  async labelValues(
    name: string,
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<PromqlService["labelValues"]>>> {
    const { queryId } = request;
    const act = (id: QueryId, clock: QueryClock) => this.#labels.values(id, name, request, clock);
    return await this.#within("values", signal, act, { queryId });
  }

  async format(query: string, signal: AbortSignal): Promise<string> {
    return await this.#ask("format", { text: query }, signal);
  }

  async parse(query: string, signal: AbortSignal): Promise<unknown> {
    return await this.#ask("parse", { text: query }, signal);
  }

  async rehearse(): Promise<number> {
    const { clock, manager } = this.#deps;
    const { signal } = this.#rehearsing;
    const act = async (request: PromqlRequest, rehearsal: number): Promise<void> => {
      const queryClock = new QueryClock(clock, rehearsalMsMax, signal);
      try {
        const queryId = newQueryId(this.#deps.prng);
        await this.#attempts(queryId, request, queryClock, undefined, rehearsal);
      } finally {
        queryClock.stop();
      }
    };
    const workerCount = (): number => manager.workers().length;
    return await rehearse({ clock, signal, workerCount, act, compile: compileEarly });
  }

  async close(): Promise<void> {
    this.#rehearsing.abort();
    await this.#pool.close();
  }

  /**
   * Requests about a query's text take a query's place and time, but are not counted as queries.
   */
  async #ask<N extends TextRequest>(
    name: N,
    request: Omit<ArgumentOf<EvalThread, N>, "query">,
    caller: AbortSignal,
  ): Promise<AnswerOf<EvalThread, N>> {
    const clock = new QueryClock(this.#deps.clock, this.#limits.timeoutMs, caller);
    const { signal } = clock;
    const mayRepeat = (): boolean => !signal.aborted;
    const act = async ({ query, ask }: EvalPlace) =>
      await ask(name, { ...request, query } as ArgumentOf<EvalThread, N>, signal);
    const attempt = async () => await this.#pool.within({ signal, mayRepeat, act });
    try {
      return await this.#entered(this.#gate, clock, () =>
        attempt().catch(async (thrown: unknown) => {
          if (!(thrown instanceof StoppedTogether) || !mayRepeat()) throw thrown;
          return await attempt();
        }),
      );
    } catch (thrown) {
      throw queryError(thrown, signal.aborted ? signal.reason : undefined);
    } finally {
      clock.stop();
    }
  }

  async #entered<T>(gate: ConcurrencyGate, clock: QueryClock, act: () => Promise<T>): Promise<T> {
    // `abort` makes an error with a stack trace each time, also when it changes nothing.
    if (!this.#rehearsing.signal.aborted) this.#rehearsing.abort();
    const leave = await gate.enter(clock.signal);
    try {
      clock.started();
      return await act();
    } finally {
      leave();
    }
  }

  async #run(
    queryId: QueryId,
    request: PromqlRequest,
    signal: AbortSignal,
    onResult: ((json: string) => void) | undefined,
  ): Promise<QueryOutput> {
    const { grid } = paramsOf(request);
    if (stepCount(grid) - 1 > this.#limits.pointsPerSeriesMax) throw tooManyPoints();
    const op = onResult === undefined ? "query" : "stream";
    let summary: QuerySummary | undefined;
    const act = async (_id: QueryId, clock: QueryClock): Promise<QueryOutput> => {
      const output = await this.#attempts(queryId, request, clock, onResult);
      summary = output.summary;
      return output;
    };
    return await this.#within(op, signal, act, {
      queryId,
      timeoutMs: request.timeoutMs,
      text: request.query,
      traceparent: request.traceparent,
      summary: () => summary,
    });
  }

  /**
   * Tries once more when the head moved meanwhile, or when another query ended the thread. A query
   * that has already sent results is not repeated.
   */
  async #attempts(
    queryId: QueryId,
    request: PromqlRequest,
    clock: QueryClock,
    onResult: ((json: string) => void) | undefined,
    rehearsal?: number,
  ): Promise<QueryOutput> {
    let told: boolean = false;
    const tell = (json: string): void => {
      told = true;
      onResult?.(json);
    };
    const mayRepeat = (): boolean => !told && !clock.signal.aborted;
    const streamed = onResult !== undefined;
    let begun = 0;
    const attempt = async (): Promise<QueryOutput> => {
      let run: QueryRun | undefined;
      return await this.#pool.within({
        fields: { query_id: queryId, query_attempt: begun + 1 },
        signal: clock.signal,
        mayRepeat,
        onNote: (json) => {
          run?.firstResult();
          tell(json);
        },
        act: async (place) => {
          begun += 1;
          run = this.#newRun(queryId, begun, request, clock, place, streamed, rehearsal);
          return await run.run();
        },
      });
    };
    try {
      return await attempt();
    } catch (thrown) {
      const again = isOfOldList(thrown) || thrown instanceof StoppedTogether;
      if (!again || !mayRepeat()) throw thrown;
      const message = `the query begins anew: ${thrown.message}`;
      this.#deps.logger.info({ query_id: queryId, query_attempt: begun }, message);
      return await attempt();
    }
  }

  #newRun(
    queryId: QueryId,
    attempt: number,
    request: PromqlRequest,
    clock: QueryClock,
    place: EvalPlace,
    streamed: boolean,
    rehearsal: number | undefined,
  ): QueryRun {
    return new QueryRun({
      deps: this.#deps,
      limits: this.#limits,
      options: this.#engineOptions(request),
      densities: this.#densities,
      queryId,
      attempt,
      request,
      place,
      clock,
      streamed,
      rehearsal,
    });
  }

  /** Passes the gate, applies the timeout, and measures. */
  async #within<T>(
    op: "query" | "stream" | "series" | "names" | "values",
    signal: AbortSignal,
    act: (queryId: QueryId, clock: QueryClock) => Promise<T>,
    about: {
      readonly queryId?: QueryId | undefined;
      readonly timeoutMs?: number | undefined;
      readonly text?: string;
      readonly traceparent?: string | undefined;
      readonly summary?: () => QuerySummary | undefined;
    } = {},
  ): Promise<T> {
    const queryId = this.#nameOf(about);
    const timeoutMs = Math.min(about.timeoutMs ?? this.#limits.timeoutMs, this.#limits.timeoutMs);
    const clock = new QueryClock(this.#deps.clock, timeoutMs, signal);
    this.#deps.observer?.queryStarted(queryId, op, about.traceparent);
    let error: string | undefined;
    const gate = op === "query" || op === "stream" ? this.#gate : this.#labelGate;
    try {
      return await this.#entered(gate, clock, () => act(queryId, clock));
    } catch (thrown) {
      const told = queryError(thrown, clock.signal.aborted ? clock.signal.reason : undefined);
      error = told instanceof OperatingError ? told.code : told.stage;
      throw told;
    } finally {
      clock.stop();
      const durationMs = clock.elapsedMs;
      const summary = about.summary?.();
      this.#deps.observer?.queryEnded({ queryId, op, durationMs, error, summary });
      if (durationMs >= this.#limits.slowMs)
        this.#logSlow(queryId, op, durationMs, about.text, summary, error);
    }
  }

  /** Logs a slow query. */
  #logSlow(
    queryId: QueryId,
    op: string,
    durationMs: number,
    text: string | undefined,
    summary: QuerySummary | undefined,
    error: string | undefined,
  ): void {
    const works = summary?.leaves.flatMap((leaf) => leaf.works) ?? [];
    const fields = {
      query_id: queryId,
      op,
      duration_ms: Math.round(durationMs),
      query: text?.slice(0, textLengthMax),
      plan_ms: rounded(summary?.stages.planMs),
      queue_ms: rounded(summary?.stages.queueMs),
      work_ms: rounded(summary?.stages.workMs),
      fetch_ms: rounded(summary?.stages.fetchMs),
      eval_ms: rounded(summary?.stages.evalMs),
      works: works.length,
      samples: works.reduce((sum, { samples }) => sum + samples, 0),
      series: summary?.seriesCount,
      points: summary?.pointCount,
      error,
    };
    this.#deps.logger.warn(fields, "slow query");
  }

  #nameOf({ queryId }: { readonly queryId?: QueryId | undefined }): QueryId {
    return queryId ?? newQueryId(this.#deps.prng);
  }

  #engineOptions({ lookbackMs }: PromqlRequest): EngineOptions {
    const options = { ...promqlEngineDefaults, ...this.#deps.engine };
    return lookbackMs === undefined || lookbackMs <= 0 ? options : { ...options, lookbackMs };
  }
}

/** Whether a new list of segments may help: the head has moved, or files are missing. */
function isOfOldList(thrown: unknown): thrown is OperatingError {
  if (!(thrown instanceof OperatingError)) return false;
  return thrown.code === "head_moved" || thrown.code === "store_corrupt";
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}

/** Prometheus's names of the error types. */
function showError(thrown: unknown): { readonly errorType: string; readonly error: string } {
  const told = queryError(thrown, undefined);
  if (!(told instanceof OperatingError)) {
    return { errorType: told.stage === "parse" ? "bad_data" : "execution", error: told.message };
  }
  const types: Readonly<Record<string, string>> = {
    cancelled: "canceled",
    deadline_exceeded: "timeout",
    query_too_large: "execution",
    overloaded: "unavailable",
    shutting_down: "unavailable",
  };
  return { errorType: types[told.code] ?? "internal", error: told.message };
}
