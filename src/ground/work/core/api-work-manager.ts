/**
 * The API's side of interactive work: puts queries on the `WorkBoard`, carries its decisions to the
 * workers and the fetcher, and gives each caller its artifacts. All state is in this process: when
 * it dies, workers cancel what it owned.
 *
 * Rules: QU10 to QU19. Board events are handled in order of arrival, each with all its effects,
 * even when an effect causes the next event. It does not plan queries, read artifacts, or decide
 * where work goes.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError, unreachable } from "../../kernel/errors.ts";
import type { QueryId, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import {
  type BoardEffect,
  type BoardEvent,
  type BoardLimits,
  defaultBoardLimits,
  WorkBoard,
  type WorkKey,
  type WorkReport,
  workKeyText,
  workLogFields,
} from "./assignment/index.ts";
import { errorOfQuery } from "./error-code.ts";
import { FetchDesk } from "./fetch-desk.ts";
import { LiveQuery, type QueryRecord, type QueryRequest } from "./live-query.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import {
  type ArtifactFetcher,
  artifactOf,
  type LocalArtifact,
  type WorkPool,
  type WorkPoolEvent,
  type WorkResult,
} from "./ports.ts";
import type { ApiQueryObserver, QueryOutcome } from "./query-observer.ts";
import type { QueueState } from "./queue-state.ts";

export interface ApiWorkLimits extends BoardLimits {
  /** The number of concurrent fetches. */
  readonly fetchesMax: number;
  /** The limit of one work's body, in characters: it must fit a frame of the control session. */
  readonly bodyLengthMax: number;
  /** How many ended queries are remembered. */
  readonly recordsMax: number;
  /** How often rejections are forgotten while work waits. */
  readonly resyncMs: number;
}

export const defaultApiWorkLimits: ApiWorkLimits = {
  ...defaultBoardLimits,
  fetchesMax: 64,
  bodyLengthMax: 1_000_000,
  recordsMax: 100,
  resyncMs: 1_000,
};

/** The longest delay of a timer: 24 days. */
const timerMsMax = 2 ** 31 - 1;

/** A query from its submission until its caller has read the results. */
export interface QueryHandle {
  readonly queryId: QueryId;
  /** In the order of the works. The receiver disposes of them. */
  readonly artifacts: Promise<readonly LocalArtifact[]>;
  /**
   * Aborts with the `OperatingError` when the query is cancelled, fails, or passes its deadline.
   */
  readonly signal: AbortSignal;
  /** Called when the caller is done, with `error` when reading failed. Idempotent. */
  finish(error?: OperatingError): void;
}

export interface QueryCounts {
  readonly running: number;
  /** Work items that no worker has accepted. */
  readonly queued: number;
  readonly completedTotal: number;
  readonly failedTotal: number;
  readonly cancelledTotal: number;
}

export interface ApiWorkManagerOptions {
  readonly pool: WorkPool;
  readonly fetcher: ArtifactFetcher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<ApiWorkLimits>;
  readonly observer?: Partial<ApiQueryObserver>;
  /** Created from `limits` when absent. */
  readonly board?: WorkBoard;
}

export class ApiWorkManager {
  readonly #pool: WorkPool;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #observer: Partial<ApiQueryObserver>;
  readonly #limits: ApiWorkLimits;
  readonly #board: WorkBoard;
  readonly #desk: FetchDesk;
  readonly #queries = new Map<QueryId, LiveQuery>();
  readonly #stopWatching = new Map<QueryId, () => void>();
  /** Ended queries, newest last. */
  readonly #records: QueryRecord[] = [];
  /** When each work that no worker has accepted began to wait, oldest first. */
  readonly #waitingSince = new Map<string, number>();
  readonly #totals: Record<QueryOutcome, number> = { done: 0, failed: 0, cancelled: 0 };
  readonly #events = new OneAtATime<BoardEvent>((event) => {
    for (const effect of this.#board.step(event)) this.#perform(effect);
  });
  /** Workers whose last execution found the disk full. */
  readonly #fullDisks = new Set<WorkerId>();
  #resync: Timer | undefined;
  #closed: boolean = false;
  readonly #unlisten: () => void;

  constructor(options: ApiWorkManagerOptions) {
    this.#pool = options.pool;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#observer = options.observer ?? {};
    this.#limits = { ...defaultApiWorkLimits, ...options.limits };
    this.#board = options.board ?? new WorkBoard(this.#limits);
    this.#desk = new FetchDesk({
      fetcher: options.fetcher,
      fetchesMax: this.#limits.fetchesMax,
      nowMs: () => this.#clock.nowMs(),
      handlers: {
        fetched: ({ key, attempt, artifact }, readyToFetchMs, fetchMs) => {
          const observer = this.#observerOf(key.queryId);
          observer.artifactFetched?.(readyToFetchMs, fetchMs, artifact.sizeBytes, key);
          this.#handle({ kind: "fetched", key, attempt });
        },
        failed: ({ key, attempt, workerId }, code, message) => {
          this.#observer.artifactFetchFailed?.(code);
          if (code === "artifact_corrupt") this.#observer.checksumMismatch?.(workerId);
          const ids = { ...workLogFields(key), worker_id: workerId };
          this.#logger.warn({ ...ids, code, attempt }, `artifact not fetched: ${message}`);
          this.#handle({ kind: "fetchFailed", key, attempt, code, message });
        },
      },
      dispose: (local, { queryId }) => this.#dispose(local, queryId),
    });
    this.#unlisten = this.#pool.listen((event) => this.#hear(event));
  }

  /**
   * Throws `overloaded`, `already_exists`, `query_too_large` or `shutting_down`. The query stays
   * open until `finish` is called or it fails.
   */
  open(request: QueryRequest, signal?: AbortSignal): QueryHandle {
    const query = this.#open(request, signal);
    const artifacts = query.results.then((results) => results.map(artifactOf));
    artifacts.catch(() => undefined); // An unawaited error is no bug.
    return {
      queryId: query.queryId,
      artifacts,
      signal: query.signal,
      finish: (error) => this.#finish(query, error),
    };
  }

  /** `open`, then `finish` as soon as the results are here, in the order of the works. */
  run(request: QueryRequest, signal?: AbortSignal): Promise<readonly WorkResult[]> {
    return Promise.try(() => {
      const query = this.#open(request, signal);
      return query.results.finally(() => this.#finish(query, undefined));
    });
  }

  /** Returns false when no such query is under way. */
  cancel(queryId: QueryId, message = "the query was cancelled"): boolean {
    return this.cancelFor(queryId, new OperatingError("cancelled", "never", message));
  }

  /** Cancels a query for a reason that is not the caller's, who gets `error`. */
  cancelFor(queryId: QueryId, error: OperatingError): boolean {
    const query = this.#queries.get(queryId);
    if (query === undefined) return false;
    this.#stop(query, "cancelled", error);
    return true;
  }

  /** Queries under way, then ended ones; each newest first. */
  list(): readonly QueryRecord[] {
    const nowMs = this.#clock.nowMs();
    const live = this.#real().map((query) => query.record(nowMs));
    return [...live.reverse(), ...this.#records.toReversed()];
  }

  get(queryId: QueryId): QueryRecord | undefined {
    const query = this.#queries.get(queryId);
    if (query !== undefined) return query.record(this.#clock.nowMs());
    return this.#records.findLast((record) => record.queryId === queryId);
  }

  /** Works that no worker has accepted yet. */
  queue(): QueueState {
    const [oldestMs] = this.#waitingSince.values();
    const oldestAgeMs = oldestMs === undefined ? 0 : this.#clock.nowMs() - oldestMs;
    return { depth: this.#waitingSince.size, oldestAgeMs };
  }

  /** Workers that are up and stay. One whose queue is full keeps its share. */
  workers(): readonly WorkerId[] {
    const staying = this.#board.view().filter(({ admission }) => !admission.draining);
    return staying.map(({ workerId }) => workerId);
  }

  counts(): QueryCounts {
    return {
      running: this.#real().length,
      queued: this.#waitingSince.size,
      completedTotal: this.#totals.done,
      failedTotal: this.#totals.failed,
      cancelledTotal: this.#totals.cancelled,
    };
  }

  /** Cancels queries under way and refuses new ones. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const message = "this process is shutting down";
    for (const query of [...this.#queries.values()]) {
      const error = new OperatingError("shutting_down", "backoff", message);
      this.#stop(query, "cancelled", error);
    }
    this.#unlisten();
    this.#resync?.cancel();
  }

  #open(request: QueryRequest, signal: AbortSignal | undefined): LiveQuery {
    const { queryId } = request;
    this.#admit(request, signal);
    const query = new LiveQuery(request, this.#clock.nowMs(), this.#clock.wallMs());
    this.#queries.set(queryId, query);
    this.#watch(query, request.deadlineMs, signal);
    this.#observerOf(queryId).queryStarted?.(query.kind);
    for (const work of query.isRehearsal ? [] : request.works) {
      this.#waitingSince.set(workKeyText(work), query.startedMs);
    }
    this.#handle({ kind: "submit", queryId, works: request.works });
    return query;
  }

  #admit({ queryId, works }: QueryRequest, signal: AbortSignal | undefined): void {
    if (this.#closed) {
      throw new OperatingError("shutting_down", "backoff", "this process is shutting down");
    }
    if (signal?.aborted === true) {
      throw new OperatingError("cancelled", "never", "the query was cancelled before it started");
    }
    if (this.#queries.has(queryId)) {
      throw new OperatingError("already_exists", "never", `query ${queryId} is under way`);
    }
    const { bodyLengthMax } = this.#limits;
    if (works.some(({ body }) => body.length > bodyLengthMax)) {
      const message = `a query's work is described in more than ${bodyLengthMax} characters`;
      throw new OperatingError("query_too_large", "never", message);
    }
    if (this.#queries.size >= this.#limits.queriesMax) {
      const hint = "try again in a moment, or add a query-api replica";
      throw new OperatingError(
        "overloaded",
        "backoff",
        `${this.#queries.size} queries are under way`,
        { hint },
      );
    }
  }

  /** QU12, QU13. */
  #watch(query: LiveQuery, deadlineMs: number, signal: AbortSignal | undefined): void {
    const timer = this.#clock.after(Math.min(deadlineMs, timerMsMax), () => {
      if (query.phase === "working") this.#stop(query, "failed", this.#deadlineError(deadlineMs));
    });
    const onAbort = (): void => {
      const error = new OperatingError("cancelled", "never", "whoever asked went away");
      this.#stop(query, "cancelled", error);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#stopWatching.set(query.queryId, () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    });
  }

  #deadlineError(deadlineMs: number): OperatingError {
    const workers = this.#board.view();
    const isOpen = workers.some(({ admission }) => admission.accepting && !admission.draining);
    let hint = "give it more time (`timeout_ms`)";
    if (workers.length === 0) {
      hint = "no worker is connected: start one with `capstan worker --join URL`";
    } else if (workers.every(({ workerId }) => this.#fullDisks.has(workerId))) {
      hint = "the disks of all workers are full: free some space there, or ask for less";
    } else if (!isOpen) {
      hint = "no worker accepts work: they are busy or draining";
    }
    const message = `the query took longer than its ${Math.round(deadlineMs)} ms`;
    return new OperatingError("deadline_exceeded", "backoff", message, { hint });
  }

  /** Ends the query here, then on its workers. */
  #stop(query: LiveQuery, outcome: QueryOutcome, error: OperatingError): void {
    const wasWorking = query.phase === "working";
    this.#end(query, outcome, error);
    if (!wasWorking) return; // The board has already released it.
    const { queryId } = query;
    this.#handle({ kind: "cancel", queryId, code: error.code, message: error.message });
  }

  #finish(query: LiveQuery, error: OperatingError | undefined): void {
    if (query.phase === "ended") return;
    if (query.phase === "working") {
      const abandoned = new OperatingError("cancelled", "never", "its caller gave it up");
      this.#stop(query, "cancelled", error ?? abandoned);
    } else if (error === undefined) {
      this.#end(query, "done", undefined);
    } else {
      this.#end(query, error.code === "cancelled" ? "cancelled" : "failed", error);
    }
  }

  /** QU10, QU11. */
  #end(query: LiveQuery, outcome: QueryOutcome, error: OperatingError | undefined): void {
    if (query.phase === "ended") return;
    const { queryId } = query;
    const nowMs = this.#clock.nowMs();
    this.#queries.delete(queryId);
    for (const keyText of query.keyTexts()) this.#waitingSince.delete(keyText);
    this.#stopWatching.get(queryId)?.();
    this.#stopWatching.delete(queryId);
    if (!query.isRehearsal) this.#note(query.record(nowMs, outcome, error), outcome, error);
    for (const local of query.end(error)) this.#dispose(local, queryId);
  }

  /** QU16, QU19. */
  #note(record: QueryRecord, outcome: QueryOutcome, error: OperatingError | undefined): void {
    const { queryId, kind, durationMs } = record;
    this.#records.push(record);
    if (this.#records.length > this.#limits.recordsMax) this.#records.shift();
    this.#totals[outcome] += 1;
    this.#observer.queryEnded?.(kind, outcome, durationMs, error?.code);
    const fields = { query_id: queryId, outcome, duration_ms: durationMs, code: error?.code };
    // Like other reads, a query that succeeds is worth no line: a line is written synchronously.
    if (error === undefined) this.#logger.debug(fields, "query ended");
    else this.#logger.info(fields, `query ended: ${error.message}`);
  }

  /** The queries under way that people know of. */
  #real(): readonly LiveQuery[] {
    return [...this.#queries.values()].filter(({ isRehearsal }) => !isRehearsal);
  }

  #observerOf(queryId: QueryId): Partial<ApiQueryObserver> {
    return this.#queries.get(queryId)?.isRehearsal === true ? {} : this.#observer;
  }

  #hear(event: WorkPoolEvent): void {
    const { workerId } = event;
    if (event.kind === "workerDown") this.#fullDisks.delete(workerId);
    if (event.kind === "report") this.#observe(workerId, event.report);
    this.#handle(event);
  }

  #observe(workerId: WorkerId, report: WorkReport): void {
    if (report.kind === "workRejected") this.#observer.workRejected?.(workerId, report.reason);
    if (report.kind === "workReady") this.#fullDisks.delete(workerId);
    if (report.kind !== "workFailed") return;
    const { key, attempt, code, message, retryable } = report;
    if (code === "disk_full") this.#fullDisks.add(workerId);
    if (code === "data_corrupt") this.#observer.dataCorrupt?.("damaged", message);
    if (code === "store_corrupt") this.#observer.dataCorrupt?.("missing", message);
    const ids = { ...workLogFields(key), worker_id: workerId };
    this.#logger.info({ ...ids, attempt, code, retryable }, `work failed: ${message}`);
  }

  #handle(event: BoardEvent): void {
    if (!this.#events.push(event)) return;
    this.#resyncWhileQueued();
  }

  #perform(effect: BoardEffect): void {
    switch (effect.kind) {
      case "send":
        // False means that the session is gone; `workerDown` follows and moves the work.
        this.#pool.send(effect.workerId, effect.command);
        break;
      case "assigned":
        this.#queries.get(effect.key.queryId)?.assigned(effect.workerId, effect.attempt);
        this.#observerOf(effect.key.queryId).workAssigned?.(effect.workerId, effect.affinityHit);
        break;
      case "accepted":
        this.#queries.get(effect.key.queryId)?.accepted();
        this.#stopWaiting(effect.key, effect.workerId);
        break;
      case "reassigned":
        this.#reassigned(effect.key, effect.workerId, effect.reason);
        break;
      case "fetch":
        this.#stopWaiting(effect.key, effect.workerId); // It never reported that it accepted.
        this.#desk.order(effect);
        break;
      case "abortFetch":
        this.#desk.abort(effect.key, effect.attempt);
        break;
      case "workCommitted":
        this.#stopWaiting(effect.key, effect.workerId); // It never reported that it accepted.
        this.#committed(effect.key, effect.attempt, effect.workerId, effect.answer);
        break;
      case "queryDone":
        this.#queries.get(effect.queryId)?.done();
        break;
      case "queryFailed":
        this.#ended(effect.queryId, "failed", errorOfQuery(effect));
        break;
      case "queryCancelled":
        this.#ended(effect.queryId, "cancelled", errorOfQuery(effect));
        break;
      default:
        unreachable(effect);
    }
  }

  #stopWaiting(key: WorkKey, workerId: WorkerId): void {
    const keyText = workKeyText(key);
    const sinceMs = this.#waitingSince.get(keyText);
    if (sinceMs === undefined) return;
    this.#waitingSince.delete(keyText);
    this.#observer.workAccepted?.(workerId, this.#clock.nowMs() - sinceMs, key);
  }

  #reassigned(key: WorkKey, workerId: WorkerId, reason: string): void {
    this.#observer.workReassigned?.(reason);
    const ids = { ...workLogFields(key), worker_id: workerId };
    this.#logger.info({ ...ids, reason }, "work leaves its worker");
    const keyText = workKeyText(key);
    const query = this.#queries.get(key.queryId);
    if (query === undefined || query.isRehearsal || this.#waitingSince.has(keyText)) return;
    this.#waitingSince.set(keyText, this.#clock.nowMs());
  }

  #committed(
    key: WorkKey,
    attempt: number,
    workerId: WorkerId,
    answer: Uint8Array | undefined,
  ): void {
    const query = this.#queries.get(key.queryId);
    if (query === undefined) return; // The query ended in this step; the desk deletes the copy.
    const claimed =
      answer === undefined ? this.#desk.claim(key, attempt) : { result: answer, fetchMs: 0 };
    assert(claimed !== undefined, "what is committed was fetched, and is committed once");
    const { result, fetchMs } = claimed;
    const isFirst = query.committed(key, { workerId, attempt, fetchMs }, result);
    if (!isFirst) return;
    const latencyMs = this.#clock.nowMs() - query.startedMs;
    this.#observerOf(key.queryId).firstResult?.(query.kind, latencyMs);
  }

  #ended(queryId: QueryId, outcome: QueryOutcome, error: OperatingError): void {
    const query = this.#queries.get(queryId);
    if (query !== undefined) this.#end(query, outcome, error);
  }

  /** Retries workers that rejected work: a lost admission frame would exclude them for ever. */
  #resyncWhileQueued(): void {
    if (this.#resync !== undefined || this.#closed || this.#board.counts().queued === 0) return;
    this.#resync = this.#clock.after(this.#limits.resyncMs, () => {
      this.#resync = undefined;
      this.#handle({ kind: "resync" });
    });
  }

  #dispose(local: LocalArtifact, queryId: QueryId): void {
    local.dispose().catch((thrown: unknown) => {
      this.#logger.warn({ query_id: queryId }, `local copy not deleted: ${messageOf(thrown)}`);
    });
  }
}
