/**
 * Executes `promql` works on a few threads of this worker. Works of one shard go to the same
 * thread, whose caches know its data, unless that thread has a queue and another is idle.
 * Nothing is computed on the caller's thread. An aborted work ends when its thread has stopped
 * computing it. A thread that keeps computing an aborted work is replaced (`WatchedThread`), and
 * its other works are executed again. When a thread dies, every execution fails and `failure`
 * resolves: the process should end and be restarted.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { type Logger, silentLogger } from "../../../ground/kernel/logger.ts";
import { compileEarly } from "../../../ground/kernel/node/compile-early.ts";
import { siblingModule } from "../../../ground/kernel/node/sibling-module.ts";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import type { Peer } from "../../../ground/threads/index.ts";
import type { WorkSpec } from "../../../ground/work/core/index.ts";
import {
  type Executor,
  ExecutorBroken,
  type ProducedFile,
} from "../../../ground/work/core/index.ts";
import type { ColumnFiles } from "../../../ground/work/index.ts";
import type {
  ComputeAnswer,
  ComputeOwner,
  ComputeThread,
  ComputeThreadOptions,
  ComputeUsage,
} from "./compute-messages.ts";
import { promqlRehearsalKind, promqlWorkKind } from "./core/work-body.ts";
import type { ColumnFileNote } from "./disk-columns.ts";
import { startQueryThread } from "./query-threads.ts";
import { warmUpDelayMs } from "./warm-up.ts";
import { StoppedTogether, WatchedThread } from "./watched-thread.ts";

export interface PromqlExecutorOptions {
  readonly threads: number;
  /** The directory of the segments. */
  readonly lakeDir: string;
  /** Authenticates the requests for the head's slices. */
  readonly clusterToken: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** The decoded columns in memory, of all threads together. */
  readonly cacheBytes: number;
  /** What all works hold at once, besides the caches, comes from it. No limit when absent. */
  readonly memory?: MemoryBudget;
  /** The limit of one work. Defaults to half of `cacheBytes`, but at least 512 MiB. */
  readonly workBytesMax?: number;
  /** The decoded columns on disk; absent to keep none. */
  readonly columnFiles?: ColumnFiles;
  /** Whether the threads warm up with queries of their own, so that the first real one is fast. */
  readonly warmUp?: boolean;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** How long a thread may go on after a cancellation. */
  readonly patienceMs?: number;
  readonly observer?: PromqlExecutorObserver;
}

/** Sums over all threads. */
export interface PromqlExecutorObserver {
  usageChanged(usage: ComputeUsage): void;
  headPulled(durationMs: number): void;
}

export interface PromqlExecutor extends Executor<ProducedFile> {
  /** Resolves when a thread breaks; never on close. */
  readonly failure: Promise<OperatingError>;
  close(): Promise<void>;
}

const workBytesMin = 512 * 1024 ** 2;
/**
 * A thread with this many works, including the current one, may pass the next to an idle thread.
 */
const queueLong = 2;

type ComputeLink = Peer<ComputeThread, ComputeOwner>;
type ComputeSlot = WatchedThread<ComputeLink>;

export async function createPromqlExecutor(
  options: PromqlExecutorOptions,
): Promise<PromqlExecutor> {
  const { threads, cacheBytes, clock, logger = silentLogger } = options;
  const memory = options.memory ?? new MemoryBudget(Number.MAX_SAFE_INTEGER);
  const workBytes = options.workBytesMax ?? Math.max(workBytesMin, Math.floor(cacheBytes / 2));
  const pending = new SharedArrayBuffer(4);
  const failed = Promise.withResolvers<OperatingError>();
  const start = (thread: number, current: SharedArrayBuffer, isFirst: boolean): ComputeLink => {
    const place = memory.join();
    const threadOptions: ComputeThreadOptions = {
      lakeDir: options.lakeDir,
      clusterToken: options.clusterToken,
      tls: options.tls,
      cacheBytesMax: Math.floor(cacheBytes / threads),
      memory: place,
      workBytesMax: Math.min(workBytes, memory.bytesMax),
      columnsDir: options.columnFiles?.dir,
      warmUpDelayMs: options.warmUp === true && isFirst ? warmUpDelayMs(thread) : undefined,
      pending,
      current,
    };
    const link: ComputeLink = startQueryThread<ComputeThread, ComputeOwner>({
      module: siblingModule(import.meta.url, "./compute-thread"),
      options: threadOptions,
      clock,
      handlers: { requests: {}, notes: { columnFile: (note) => keepAccounts(note, options) } },
    });
    void link.exited.then(() => memory.leave(place));
    void link.failure.then((error) => failed.resolve(new ExecutorBroken(error.message)));
    return link;
  };
  const slots = Array.from({ length: threads }, (_, thread) => {
    const slot: ComputeSlot = new WatchedThread(
      (current) => start(thread, current, !slot.isStarted),
      { clock, logger, patienceMs: options.patienceMs },
    );
    return slot;
  });
  await Promise.all(slots.map(({ link }) => link.ready));
  return new ThreadedExecutor(slots, new Int32Array(pending), failed.promise, options.observer);
}

function keepAccounts(
  { name, writtenBytes }: ColumnFileNote,
  { columnFiles }: PromqlExecutorOptions,
): void {
  if (writtenBytes === undefined) columnFiles?.used(name);
  else columnFiles?.written(name, writtenBytes);
}

class ThreadedExecutor implements PromqlExecutor {
  readonly failure: Promise<OperatingError>;
  readonly #slots: readonly ComputeSlot[];
  #numberNext = 1;
  #isRehearsing: boolean = false;
  /** `ComputeThreadOptions.pending`. */
  readonly #pending: Int32Array;
  readonly #observer: PromqlExecutorObserver | undefined;
  readonly #usages: (ComputeUsage | undefined)[];

  constructor(
    slots: readonly ComputeSlot[],
    pending: Int32Array,
    failure: Promise<OperatingError>,
    observer: PromqlExecutorObserver | undefined,
  ) {
    this.#slots = slots;
    this.#pending = pending;
    this.#observer = observer;
    this.#usages = slots.map(() => undefined);
    this.failure = failure;
  }

  async execute(
    work: WorkSpec,
    _path: string,
    signal: AbortSignal,
    bytesMax: number,
  ): Promise<ProducedFile> {
    if (work.kind !== promqlWorkKind && work.kind !== promqlRehearsalKind) {
      const message = `this worker cannot execute work of kind ${work.kind}`;
      throw new OperatingError("bad_request", "never", message);
    }
    this.#compile(work.kind === promqlRehearsalKind);
    Atomics.add(this.#pending, 0, 1);
    try {
      for (;;) {
        const answer = await this.#ask(work, signal, bytesMax);
        if (answer !== undefined) return answer.produced;
      }
    } finally {
      Atomics.sub(this.#pending, 0, 1);
    }
  }

  /** Returns undefined when the thread was ended for another work: the work has to run again. */
  async #ask(
    { affinityKey, kind, queryId, body }: WorkSpec,
    signal: AbortSignal,
    bytesMax: number,
  ): Promise<ComputeAnswer | undefined> {
    const index = this.#choose(affinityKey);
    const slot = this.#slots[index] as ComputeSlot;
    const { link } = slot;
    const number = this.#numberNext;
    this.#numberNext += 1;
    const onAbort = (): void => slot.stopped(link, number, { query_id: queryId });
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const isRehearsal = kind === promqlRehearsalKind;
      const request = { number, queryId, body, bytesMax, isRehearsal };
      const answer = await link.ask("compute", request, { signal });
      this.#observe(index, answer.usage);
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof StoppedTogether)) throw thrown;
      await link.exited;
      if (!signal.aborted) return undefined;
      throw new OperatingError("cancelled", "never", "the query was cancelled");
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async close(): Promise<void> {
    for (const slot of this.#slots) slot.close();
    await Promise.all(this.#slots.map(({ link }) => link.stop()));
  }

  /** What rehearsals run is compiled early (QP37), until the first real work. */
  #compile(isRehearsal: boolean): void {
    if (isRehearsal === this.#isRehearsing) return;
    this.#isRehearsing = isRehearsal;
    compileEarly(isRehearsal);
  }

  #choose(affinityKey: string): number {
    const preferred = hashOf(affinityKey) % this.#slots.length;
    if ((this.#slots[preferred] as ComputeSlot).link.pendingCount < queueLong) return preferred;
    const idle = this.#slots.findIndex(({ link }) => link.pendingCount === 0);
    return idle === -1 ? preferred : idle;
  }

  #observe(index: number, usage: ComputeUsage): void {
    if (this.#observer === undefined) return;
    const before = this.#usages[index];
    this.#usages[index] = usage;
    if (usage.headPulls > (before?.headPulls ?? 0)) this.#observer.headPulled(usage.headMs);
    const known = this.#usages.filter((each) => each !== undefined);
    const total = (pick: (each: ComputeUsage) => number): number =>
      known.reduce((sum, each) => sum + pick(each), 0);
    this.#observer.usageChanged({
      cacheBytes: total(({ cacheBytes }) => cacheBytes),
      cacheHits: total(({ cacheHits }) => cacheHits),
      cacheMisses: total(({ cacheMisses }) => cacheMisses),
      headPulls: total(({ headPulls }) => headPulls),
      headBytes: total(({ headBytes }) => headBytes),
      headMs: usage.headMs,
    });
  }
}

/** FNV-1a, because the shards of a key differ in one digit, and so do FNV's low bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
