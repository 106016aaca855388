/**
 * Work of kind `promql`, on a few threads of this worker. Work of one shard goes to one thread, whose caches know its data;
 * only when that one has a queue and another has nothing to do is it computed elsewhere.
 *
 *   PX1  Nothing is computed on the caller's thread.
 *   PX2  Aborted work ends when its thread has stopped computing it, and leaves no file.
 *   PX3  When a thread dies, every execution fails, and `failure` resolves: the process should end and be restarted.
 */
import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { WorkSpec } from "../../workcoord/core/index.ts";
import { type Executor, ExecutorBroken, type ProducedFile } from "../core/index.ts";
import { promqlWorkKind } from "../core/promql/work-body.ts";
import type { ColumnFiles } from "../fs/column-files.ts";
import type {
  ComputeAnswer,
  ComputeRequest,
  ComputeThreadOptions,
  ComputeUsage,
} from "./compute-messages.ts";
import type { ColumnFileNote } from "./disk-columns.ts";
import { ThreadLink } from "./thread-link.ts";
import { warmUpDelayMs } from "./warm-up.ts";

export interface PromqlExecutorOptions {
  readonly threads: number;
  /** Where the segments are. */
  readonly lakeDir: string;
  /** For the head's slices. */
  readonly clusterToken: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Decoded columns in memory, of all threads together. */
  readonly cacheBytes: number;
  /** What one work may take; a quarter of `cacheBytes`, but at least 256 MiB, when absent. */
  readonly workBytesMax?: number;
  /** Decoded columns on disk; absent: none. */
  readonly columnFiles?: ColumnFiles;
  /** Its threads run a few queries of their own first, so that the first real one is fast. */
  readonly warmUp?: boolean;
  readonly clock: Clock;
  readonly observer?: PromqlExecutorObserver;
}

/** Sums of all threads. */
export interface PromqlExecutorObserver {
  usageChanged(usage: ComputeUsage): void;
  headPulled(durationMs: number): void;
}

export interface PromqlExecutor extends Executor {
  /** Resolves if a thread breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  close(): Promise<void>;
}

const workBytesMin = 256 * 1024 ** 2;
/** Works of a thread, the one that it computes included, from which on another thread may be better. */
const queueLong = 2;

type ComputeLink = ThreadLink<ComputeRequest, ComputeAnswer, never, ColumnFileNote>;

export async function createPromqlExecutor(
  options: PromqlExecutorOptions,
): Promise<PromqlExecutor> {
  const { threads, lakeDir, clusterToken, cacheBytes, clock } = options;
  const pending = new SharedArrayBuffer(4);
  const workerData = (thread: number): ComputeThreadOptions => ({
    lakeDir,
    clusterToken,
    tls: options.tls,
    cacheBytesMax: Math.floor(cacheBytes / threads),
    workBytesMax: options.workBytesMax ?? Math.max(workBytesMin, Math.floor(cacheBytes / 4)),
    columnsDir: options.columnFiles?.dir,
    warmUpDelayMs: options.warmUp === true ? warmUpDelayMs(thread) : undefined,
    pending,
  });
  const module = siblingModule(import.meta.url, "./compute-thread");
  const links = Array.from(
    { length: threads },
    (_, thread): ComputeLink =>
      new ThreadLink({
        module,
        workerData: workerData(thread),
        clock,
        onNote: (note) => keepAccounts(note, options),
      }),
  );
  await Promise.all(links.map((link) => link.ready));
  return new ThreadedExecutor(links, new Int32Array(pending), options.observer);
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
  readonly #links: readonly ComputeLink[];
  /** `ComputeThreadOptions.pending`. */
  readonly #pending: Int32Array;
  readonly #observer: PromqlExecutorObserver | undefined;
  readonly #usages: (ComputeUsage | undefined)[];

  constructor(
    links: readonly ComputeLink[],
    pending: Int32Array,
    observer: PromqlExecutorObserver | undefined,
  ) {
    this.#links = links;
    this.#pending = pending;
    this.#observer = observer;
    this.#usages = links.map(() => undefined);
    this.failure = Promise.race(links.map((link) => link.failure)).then(
      (error) => new ExecutorBroken(error.message),
    );
  }

  async execute(
    work: WorkSpec,
    path: string,
    signal: AbortSignal,
    bytesMax: number,
  ): Promise<ProducedFile> {
    if (work.kind !== promqlWorkKind) {
      const message = `this worker cannot execute work of kind ${work.kind}`;
      throw new OperatingError("bad_request", "never", message);
    }
    const index = this.#choose(work.affinityKey);
    const link = this.#links[index] as ComputeLink;
    const { queryId, body } = work;
    Atomics.add(this.#pending, 0, 1);
    try {
      const answer = await link.ask({ queryId, body, path, bytesMax }, signal, "when stopped");
      this.#observe(index, answer.usage);
      return answer.produced;
    } finally {
      Atomics.sub(this.#pending, 0, 1);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }

  #choose(affinityKey: string): number {
    const preferred = hashOf(affinityKey) % this.#links.length;
    if ((this.#links[preferred] as ComputeLink).pendingCount < queueLong) return preferred;
    const idle = this.#links.findIndex((link) => link.pendingCount === 0);
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

/** FNV-1a: the key's shards differ in one digit, and FNV's low bits differ with it. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
