/**
 * The previews that somebody looks at: each is a query of the catalog, marked as a preview, which
 * is planned, placed and deployed like any other one, takes no checkpoints, and is dropped when
 * nobody looks any more. Who looks is known to this process alone. So whatever goes wrong (a client
 * or a coordinator that vanishes, a drop that could not be stored), the sweep finds a marked query
 * that nobody here looks at, and drops it. Rules: SD70 to SD72.
 *
 * Refuses to run without the lease, and to keep a preview for longer than `shownMsMax`.
 */
import { type Clock, sleep, waitAtMost } from "../../../../ground/kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { Loop } from "../../../../ground/reconcile/index.ts";
import { awaitState, type LeaseGrant, type Store } from "../../../../ground/store/index.ts";
import type {
  OpenedPreview,
  PreviewEnd,
  PreviewEvent,
  PreviewRequest,
} from "../../catalog/core/index.ts";
import type { StreamCatalog } from "../../catalog/index.ts";
import type { QueryRun } from "../../run/core/index.ts";
import type { PreviewRows } from "../../run/index.ts";
import { fateOf, type PreviewFate } from "./preview-fate.ts";
import { type PreviewPlan, readPreviewPlan } from "./preview-plan.ts";

export interface PreviewsOptions {
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly catalog: Pick<StreamCatalog, "execute">;
  /** The data port of a worker; `undefined` while it has no session. */
  readonly addressOf: (workerId: string) => string | undefined;
  readonly read: (
    address: string,
    run: QueryRun,
    signal: AbortSignal,
  ) => AsyncGenerator<PreviewRows>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<PreviewLimits>;
}

export interface PreviewLimits {
  /** The most previews at one time. */
  readonly previewsMax: number;
  /** How long a preview may be shown. */
  readonly shownMsMax: number;
  readonly sweepMs: number;
}

const limitsDefault: PreviewLimits = {
  previewsMax: 20,
  shownMsMax: 600_000,
  sweepMs: 5_000,
};

/** How long a reader that lost its worker waits for the reason. */
const verdictMsMax = 10_000;
/** After this long without a row, the client is told why. */
const quietMs = 5_000;

interface Shown extends PreviewPlan {
  readonly queryId: string;
  readonly beganMs: number;
  /** Aborts when the preview ends: with the reason, unless the client has left. */
  readonly over: AbortController;
}

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #limits: PreviewLimits;
  readonly #shown = new Map<string, AbortController>();
  readonly #creating = new Set<Promise<unknown>>();
  readonly #sweep: Loop;

  constructor(options: PreviewsOptions) {
    const { clock, logger, lease } = options;
    this.#options = options;
    this.#limits = { ...limitsDefault, ...options.limits };
    this.#sweep = new Loop({
      ...{ clock, logger, lease, everyMs: this.#limits.sweepMs },
      trouble: "cannot drop previews that nobody looks at",
      turn: (signal) => this.#dropUnseen(signal),
    });
  }

  get count(): number {
    return this.#shown.size;
  }

  start(): void {
    this.#sweep.start();
  }

  /** Call it from the lease keeper's `onChange`. */
  leaseChanged(): void {
    if (this.#options.lease() === undefined) {
      this.#endAll("not_leader", "this process does not lead any more");
    }
    this.#sweep.leaseChanged();
  }

  async stop(): Promise<void> {
    await this.#sweep.stop();
    const ids = [...this.#shown.keys()];
    this.#endAll("shutting_down", "this process stops");
    await Promise.all(ids.map((queryId) => this.#end(queryId)));
  }

  /** Rejects until the query is accepted. */
  async open(request: PreviewRequest, signal: AbortSignal): Promise<OpenedPreview> {
    const { previewsMax } = this.#limits;
    if (this.#shown.size + this.#creating.size >= previewsMax) {
      const message = `${previewsMax} previews are shown`;
      throw new OperatingError("TooManyRequests", "backoff", message, { hint: "Leave one first." });
    }
    const { store, clock } = this.#options;
    const created = this.#create(request, signal);
    this.#creating.add(created);
    const { queryId, over } = await created.finally(() => this.#creating.delete(created));
    try {
      const plan = await store.read((tx) => readPreviewPlan(tx, queryId));
      const shown = { ...plan, queryId, over, beganMs: clock.nowMs() };
      // A client that leaves before it asks for the first row has never started the iteration.
      signal.addEventListener("abort", () => void this.#end(queryId), { once: true });
      if (signal.aborted) throw new OperatingError("cancelled", "never", "nobody looks any more");
      const { columns } = plan;
      return { queryId, columns, events: this.#events(shown, signal) };
    } catch (thrown) {
      await this.#end(queryId);
      throw thrown;
    }
  }

  async #create({ text, rowsMax }: PreviewRequest, signal: AbortSignal) {
    const statements = [{ kind: "previewText", text, rowsMax }] as const;
    const [answer] = await this.#options.catalog.execute({ statements }, signal);
    assert(answer?.kind === "created", "a preview creates a query");
    const over = new AbortController();
    this.#shown.set(answer.id, over);
    return { queryId: answer.id, over };
  }

  async *#events(shown: Shown, client: AbortSignal): AsyncGenerator<PreviewEvent> {
    const { over, queryId } = shown;
    const leave = (): void => over.abort();
    client.addEventListener("abort", leave, { once: true });
    if (client.aborted) leave();
    try {
      yield* this.#show(shown);
    } catch (thrown) {
      // The client has left, so no one is told.
      if (!client.aborted) throw over.signal.aborted ? over.signal.reason : thrown;
    } finally {
      client.removeEventListener("abort", leave);
      over.abort();
      await this.#end(queryId);
    }
  }

  async *#show(shown: Shown): AsyncGenerator<PreviewEvent> {
    const { clock, addressOf, read } = this.#options;
    const { queryId, workerId, rowsMax, over, beganMs } = shown;
    const { signal } = over;
    let [rowCount, leftOut] = [0, 0];
    const end = (reason: PreviewEnd): PreviewEvent => {
      const durationMs = clock.nowMs() - beganMs;
      return { kind: "end", reason, rowCount, leftOut, durationMs, workerId };
    };
    const deployed = yield* this.#untilRunning(shown);
    if (deployed !== undefined) {
      yield end(deployed);
      return;
    }
    signal.throwIfAborted();
    const address = addressOf(workerId);
    if (address === undefined) throw unreachable(workerId);
    const reading = new AbortController();
    const until = AbortSignal.any([signal, reading.signal]);
    const rows = read(address, { query: queryId, epoch: 1 }, until);
    const fate = this.#fate(shown, true, ({ kind }) => kind !== "live");
    fate.catch(() => undefined);
    let asked: Promise<IteratorResult<PreviewRows>> | undefined;
    try {
      for (;;) {
        asked ??= rows.next();
        const leftMs = beganMs + this.#limits.shownMsMax - clock.nowMs();
        if (leftMs <= 0) break;
        const next = await this.#firstOf(asked, fate, Math.min(quietMs, leftMs), signal);
        if (next === "quiet") {
          const reason = "it runs, and no row has come for 5 s";
          if (leftMs > quietMs) yield { kind: "waiting", reason };
          continue;
        }
        if (next === "dropped" || next.done === true) {
          yield end(next === "dropped" ? "dropped" : "ended");
          return;
        }
        asked = undefined;
        rowCount += next.value.lines.length;
        leftOut = next.value.leftOut;
        yield { kind: "rows", ...next.value };
        if (rowCount < rowsMax) continue;
        yield end("limit");
        return;
      }
      yield end("time");
    } finally {
      reading.abort();
      await rows.return(undefined).catch(() => undefined);
    }
  }

  /** Why there will be no rows, if that is not a failure; `undefined`: the query runs. */
  async *#untilRunning(shown: Shown): AsyncGenerator<PreviewEvent, PreviewEnd | undefined> {
    for (;;) {
      const isDecided = (fate: PreviewFate): boolean => fate.kind !== "live" || fate.isRunning;
      const fate = await this.#fate(shown, false, isDecided, quietMs);
      if (fate.kind === "dropped") return "dropped";
      if (fate.kind === "failed") throw failed(fate.reason);
      // Rows of a query that has ended wait for their reader.
      if (fate.kind === "ended" || fate.isRunning) return undefined;
      if (this.#options.clock.nowMs() - shown.beganMs >= this.#limits.shownMsMax) return "time";
      yield { kind: "waiting", reason: fate.reason };
    }
  }

  /** The next rows, or what has become of the query. Throws why it failed. */
  async #firstOf(
    asked: Promise<IteratorResult<PreviewRows>>,
    fate: Promise<PreviewFate>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<IteratorResult<PreviewRows> | "quiet" | "dropped"> {
    const { clock } = this.#options;
    const waiting = new AbortController();
    const quiet = sleep(clock, waitMs, AbortSignal.any([signal, waiting.signal]));
    // A connection breaks off because of something that is known only a moment later.
    type Judged = PreviewFate | IteratorResult<PreviewRows> | undefined;
    const judged = fate.then((told): Judged | Promise<Judged> =>
      told.kind === "ended" ? waitAtMost(clock, verdictMsMax, asked) : told,
    );
    const rows = asked.catch(async (thrown: unknown) => {
      const told = signal.aborted ? undefined : await waitAtMost(clock, verdictMsMax, fate);
      if (told === undefined || told.kind === "ended" || told.kind === "live") throw thrown;
      return told;
    });
    try {
      const first = await Promise.race([rows, judged, quiet.then(() => "quiet" as const)]);
      signal.throwIfAborted();
      if (first === undefined) throw new OperatingError("query_failed", "never", "it broke off");
      if (first === "quiet" || !("kind" in first)) return first;
      if (first.kind === "failed") throw failed(first.reason);
      return "dropped";
    } finally {
      waiting.abort();
      judged.catch(() => undefined);
      rows.catch(() => undefined);
    }
  }

  /** What has become of the query, when that is `isDecided`, or the time is over. */
  async #fate(
    { queryId, over }: Shown,
    hasRun: boolean,
    isDecided: (fate: PreviewFate) => boolean,
    waitMsMax: number = this.#limits.shownMsMax,
  ): Promise<PreviewFate> {
    let fate: PreviewFate = { kind: "dropped" };
    const late = new OperatingError("deadline_exceeded", "backoff", "it is not decided yet");
    await awaitState(this.#options, {
      waitMsMax,
      signal: over.signal,
      look: async ({ db }) => {
        const row = await db
          .selectFrom("queries")
          .select(["state", "state_reason", "desired_state", "epoch"])
          .where("query_id", "=", queryId)
          .executeTakeFirst();
        fate = fateOf(row, hasRun);
        return isDecided(fate) ? undefined : late;
      },
    }).catch((thrown: unknown) => {
      if (thrown !== late) throw thrown;
    });
    return fate;
  }

  #endAll(code: "not_leader" | "shutting_down", message: string): void {
    const reason = new OperatingError(code, "backoff", `the preview ends: ${message}`, {
      hint: "Start it again.",
    });
    for (const over of this.#shown.values()) over.abort(reason);
  }

  /** Idempotent. */
  async #end(queryId: string): Promise<void> {
    if (!this.#shown.delete(queryId)) return;
    await this.#drop(queryId).catch((thrown: unknown) => {
      // The sweep drops it later.
      this.#options.logger.warn(
        { query_id: queryId, error: messageOf(thrown) },
        "cannot drop a preview",
      );
    });
  }

  async #drop(queryId: string): Promise<void> {
    const statements = [`DROP QUERY IF EXISTS ${queryId} HARD`];
    await this.#options.catalog.execute({ statements }, new AbortController().signal);
  }

  async #dropUnseen(signal: AbortSignal): Promise<undefined> {
    const rows = await this.#options.store.read(({ db }) =>
      db
        .selectFrom("queries")
        .select("query_id")
        .where("is_preview", "=", 1)
        .where("desired_state", "!=", "STOPPED")
        .execute(),
    );
    // A marked query may belong to a preview that is still being opened.
    await Promise.allSettled([...this.#creating]);
    for (const { query_id } of rows) {
      if (signal.aborted || this.#shown.has(query_id)) continue;
      await this.#drop(query_id);
      this.#options.logger.info({ query_id }, "dropped a preview that nobody looks at");
    }
    return undefined;
  }
}

function failed(reason: string): OperatingError {
  return new OperatingError("query_failed", "never", reason, {
    hint: "A preview is not deployed again: start it again, or look at its sources.",
  });
}

function unreachable(workerId: string): OperatingError {
  const message = `${workerId}, which shows the preview, cannot be reached`;
  return new OperatingError("worker_unreachable", "backoff", message, { hint: "Start it again." });
}
