/**
 * The worker's side of interactive work: takes assignments, drives the `WorkLedger`, executes,
 * keeps artifacts until they are acknowledged or expire, and reports. Rules: QU20 to QU27 and QU54.
 *
 * Ledger events are handled in order of arrival, each with all its effects. An execution ends in
 * exactly one event, after its spool slot was committed or removed. Only a broken executor reports
 * nothing: the process ends, and each controller counts the loss against the work. The manager does
 * not know what work means, and touches no files.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import {
  AssertionError,
  assert,
  detailsOf,
  messageOf,
  OperatingError,
  unreachable,
} from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { ArtifactTtls } from "./artifact-ttls.ts";
import {
  type Artifact,
  answerBytesMax,
  contentBytesMax,
  type HeldId,
  type LedgerEffect,
  type LedgerEvent,
  type LedgerLimits,
  type WorkCommand,
  type WorkKey,
  WorkLedger,
  type WorkSpec,
  workLogFields,
} from "./assignment/index.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import {
  type ArtifactSpool,
  type Executor,
  ExecutorBroken,
  type ProducedFile,
  type SpoolSlot,
  type WorkReporter,
} from "./ports.ts";
import type { CleanupReason, WorkerQueryObserver } from "./query-observer.ts";

export interface WorkerWorkLimits extends LedgerLimits {
  readonly artifactTtlMs: number;
  readonly artifactTtlAfterAckMs: number;
  readonly diskFullPauseMs: number;
}

export const defaultWorkerWorkLimits: WorkerWorkLimits = {
  slots: 4,
  queueMax: 64,
  artifactTtlMs: 600_000,
  artifactTtlAfterAckMs: 30_000,
  diskFullPauseMs: 2_000,
};

const messageLengthMax = 4_000;

export interface WorkerWorkManagerOptions {
  readonly executor: Executor;
  readonly spool: ArtifactSpool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where this worker serves artifacts, as `http://host:port`. */
  readonly dataUrl: () => string;
  readonly limits?: Partial<WorkerWorkLimits>;
  readonly observer?: Partial<WorkerQueryObserver>;
  /** Created from `limits` when absent. */
  readonly ledger?: WorkLedger;
}

export interface WorkerCounts {
  readonly queued: number;
  /** How long the first queued item has waited for a slot. */
  readonly oldestQueuedMs: number;
  /** Includes aborting executions, which still hold their slots. */
  readonly executing: number;
  /** Artifacts offered and not yet acknowledged. */
  readonly ready: number;
  readonly completedTotal: number;
  readonly failedTotal: number;
}

/** An execution under way, or its artifact. */
interface Held {
  readonly work: WorkSpec;
  readonly controller: AbortController;
  readonly startedMs: number;
  slot: SpoolSlot | undefined;
  abortedMs: number | undefined;
  acked: boolean;
}

export class WorkerWorkManager {
  readonly #executor: Executor;
  readonly #spool: ArtifactSpool;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #dataUrl: () => string;
  readonly #observer: Partial<WorkerQueryObserver>;
  readonly #limits: WorkerWorkLimits;
  readonly #ledger: WorkLedger;
  readonly #ttls: ArtifactTtls;
  readonly #held = new Map<HeldId, Held>();
  readonly #idsByName = new Map<string, HeldId>();
  readonly #events = new OneAtATime<LedgerEvent>((event) => {
    for (const effect of this.#ledger.step(event)) this.#perform(effect, event);
  });
  readonly #idleWaiters: (() => void)[] = [];
  readonly #arrivedMs = new WeakMap<WorkSpec, number>();
  #reporter: WorkReporter | undefined;
  #diskFullPause: Timer | undefined;
  #completedTotal = 0;
  #failedTotal = 0;

  constructor(options: WorkerWorkManagerOptions) {
    this.#executor = options.executor;
    this.#spool = options.spool;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#dataUrl = options.dataUrl;
    this.#observer = options.observer ?? {};
    this.#limits = { ...defaultWorkerWorkLimits, ...options.limits };
    this.#ledger = options.ledger ?? new WorkLedger(this.#limits);
    this.#ttls = new ArtifactTtls(this.#clock, this.#limits, (id) =>
      this.#handle({ kind: "expired", id }),
    );
    this.#spool.onEvicted((name) => {
      const id = this.#idsByName.get(name);
      if (id !== undefined) this.#handle({ kind: "evicted", id });
    });
  }

  /**
   * Sets where reports go, before the first session. The endpoint and this manager need each other.
   */
  attach(reporter: WorkReporter): void {
    assert(this.#reporter === undefined, "a manager has one reporter");
    this.#reporter = reporter;
  }

  /** `session` is an opaque key under which reports go back. */
  obey(session: string, command: WorkCommand): void {
    assert(this.#reporter !== undefined, "a manager is attached before its first session");
    if (command.kind === "assignWork") this.#arrivedMs.set(command.work, this.#clock.nowMs());
    this.#handle({ ...command, session });
  }

  /** The last call for this session: what it owned is cancelled now. */
  sessionLost(session: string): void {
    this.#handle({ kind: "sessionLost", session });
  }

  /** While draining, new work is rejected at once and accepted work is finished. */
  setDraining(draining: boolean): void {
    this.#handle({ kind: "setDraining", draining });
  }

  /** Resolves when nothing waits, executes, or is offered without acknowledgement. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.#tellIdle();
    });
  }

  counts(): WorkerCounts {
    const { queued, executing, aborting, ready } = this.#ledger.counts();
    return {
      queued,
      oldestQueuedMs: this.#oldestQueuedMs(),
      executing: executing + aborting,
      ready,
      completedTotal: this.#completedTotal,
      failedTotal: this.#failedTotal,
    };
  }

  #oldestQueuedMs(): number {
    const first = this.#ledger.firstQueued();
    const sinceMs = first && this.#arrivedMs.get(first);
    return sinceMs === undefined ? 0 : this.#clock.nowMs() - sinceMs;
  }

  /** Takes nothing more, aborts every execution, deletes every artifact, reports nothing. */
  close(): void {
    this.#handle({ kind: "setAccepting", accepting: false });
    const sessions = new Set(this.#ledger.snapshot().map(({ session }) => session));
    for (const session of sessions) this.#handle({ kind: "sessionLost", session });
    this.#ttls.close();
    this.#diskFullPause?.cancel();
  }

  #handle(event: LedgerEvent): void {
    if (!this.#events.push(event)) return;
    const { queued, executing, aborting } = this.#ledger.counts();
    this.#observer.workerQueueChanged?.(queued, executing + aborting);
    this.#tellIdle();
  }

  #perform(effect: LedgerEffect, cause: LedgerEvent): void {
    switch (effect.kind) {
      case "report":
        // False means that the session is over; `sessionLost` follows.
        this.#reporter?.report(effect.session, effect.report);
        break;
      case "startExecution":
        this.#start(effect.id, effect.work);
        break;
      case "abortExecution":
        this.#abort(effect.id);
        break;
      case "keepArtifact":
        this.#keep(effect.id, effect.acked);
        break;
      case "deleteArtifact":
        this.#delete(effect.id, cause);
        break;
      case "admissionChanged":
        this.#reporter?.setAdmission(effect.admission);
        break;
      case "drained":
        this.#logger.info({}, "drained: nothing is left to finish");
        break;
      default:
        unreachable(effect);
    }
  }

  #start(id: HeldId, work: WorkSpec): void {
    const held: Held = {
      work,
      controller: new AbortController(),
      startedMs: this.#clock.nowMs(),
      slot: undefined,
      abortedMs: undefined,
      acked: false,
    };
    this.#held.set(id, held);
    // In a promise, so that a failure to reserve or to start is handled like any other.
    Promise.resolve()
      .then(() => this.#execute(held))
      .then(
        (produced) => this.#executed(id, held, produced),
        (thrown: unknown) => this.#broke(id, held, thrown),
      );
  }

  #execute(held: Held): Promise<ProducedFile | Uint8Array> {
    const { work, controller } = held;
    if (controller.signal.aborted) throw new OperatingError("cancelled", "never", "cancelled");
    held.slot = this.#spool.reserve(work);
    const { name, path, bytesMax } = held.slot;
    return this.#executor.execute(work, path, controller.signal, bytesMax).then((produced) => {
      if (!(produced instanceof Uint8Array)) {
        return this.#spool.commit(name, produced.sizeBytes, produced.bytes).then(() => produced);
      }
      if (produced.length <= answerBytesMax) return produced;
      const message = `the work's answer has ${produced.length} bytes, more than the ${answerBytesMax} allowed`;
      throw new OperatingError("query_too_large", "never", message);
    });
  }

  #executed(id: HeldId, held: Held, produced: ProducedFile | Uint8Array): void {
    const name = nameOf(held);
    const isCancelled = held.abortedMs !== undefined;
    if (!isCancelled) this.#completedTotal += 1;
    this.#endExecution(held, isCancelled ? "cancelled" : "done", undefined);
    if (produced instanceof Uint8Array) {
      this.#spool.remove(name);
      this.#held.delete(id);
      this.#handle({ kind: "answered", id, answer: produced });
      return;
    }
    this.#idsByName.set(name, id);
    this.#handle({ kind: "executed", id, artifact: this.#artifactOf(held.work, name, produced) });
    this.#showSpool();
  }

  #artifactOf(work: WorkSpec, name: string, produced: ProducedFile): Artifact {
    const { bytes, sizeBytes, checksum, rowCount, schemaVersion } = produced;
    const url = `${this.#dataUrl()}/artifacts/${name}`;
    const { workId } = work;
    const minTs = wireTime(produced.minTs);
    const maxTs = wireTime(produced.maxTs);
    const artifact = { workId, url, sizeBytes, checksum, rowCount, minTs, maxTs, schemaVersion };
    const isSmall = bytes !== undefined && bytes.length <= contentBytesMax;
    return isSmall ? { ...artifact, content: bytes } : artifact;
  }

  #broke(id: HeldId, held: Held, thrown: unknown): void {
    if (held.slot !== undefined) this.#spool.remove(held.slot.name);
    if (thrown instanceof ExecutorBroken && held.abortedMs === undefined) return;
    this.#held.delete(id);
    if (thrown instanceof AssertionError) throw thrown; // Our own bug: not caught.
    const code = thrown instanceof OperatingError ? thrown.code : "query_failed";
    const retryable = thrown instanceof OperatingError && thrown.retry === "backoff";
    const message = shortened(messageOf(thrown));
    const isCancelled = held.abortedMs !== undefined;
    if (!isCancelled) this.#failedTotal += 1;
    this.#endExecution(held, isCancelled ? "cancelled" : "failed", code);
    if (code === "disk_full") this.#pauseForDisk(held.work);
    const details = thrown instanceof OperatingError ? detailsOf(thrown) : {};
    this.#handle({ kind: "executionFailed", id, code, message, retryable, ...details });
    this.#showSpool();
  }

  #endExecution(
    held: Held,
    outcome: "done" | "failed" | "cancelled",
    code: string | undefined,
  ): void {
    const nowMs = this.#clock.nowMs();
    const { kind } = held.work;
    const runtimeMs = nowMs - held.startedMs;
    this.#observer.executionEnded?.(kind, outcome, runtimeMs, code, held.work);
    if (held.abortedMs !== undefined) {
      this.#observer.executionCancelled?.(kind, nowMs - held.abortedMs, held.work);
    }
    const fields = { ...workLogFields(held.work), outcome, runtime_ms: runtimeMs, code };
    this.#logger.debug(fields, "execution ended");
  }

  #abort(id: HeldId): void {
    const held = this.#held.get(id);
    assert(held !== undefined, "only what executes is aborted");
    held.abortedMs = this.#clock.nowMs();
    held.controller.abort();
  }

  /** QU7. */
  #keep(id: HeldId, acked: boolean): void {
    const held = this.#held.get(id);
    assert(held !== undefined, "only what was executed is kept");
    held.acked = acked;
    this.#ttls.keep(id, acked);
    if (acked) this.#spool.release(nameOf(held), "acked");
  }

  #delete(id: HeldId, cause: LedgerEvent): void {
    const held = this.#held.get(id);
    assert(held !== undefined, "an artifact is deleted once");
    const name = nameOf(held);
    this.#held.delete(id);
    this.#idsByName.delete(name);
    this.#ttls.forget(id);
    this.#spool.remove(name);
    this.#observer.artifactCleaned?.(reasonOf(cause, held));
    this.#logger.debug(workLogFields(held.work), `artifact deleted: ${cause.kind}`);
    this.#showSpool();
  }

  /** QU24. */
  #pauseForDisk(work: WorkKey): void {
    if (this.#diskFullPause !== undefined) return;
    const message = "the disk is full: no new work is accepted for a moment";
    this.#logger.warn(workLogFields(work), message);
    this.#handle({ kind: "setAccepting", accepting: false });
    this.#diskFullPause = this.#clock.after(this.#limits.diskFullPauseMs, () => {
      this.#diskFullPause = undefined;
      this.#handle({ kind: "setAccepting", accepting: true });
    });
  }

  #showSpool(): void {
    const { usedBytes, freeBytes } = this.#spool.usage();
    this.#observer.spoolChanged?.(usedBytes, freeBytes);
  }

  #tellIdle(): void {
    if (this.#idleWaiters.length === 0) return;
    const { queued, executing, aborting, ready } = this.#ledger.counts();
    if (queued + executing + aborting + ready > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** Reports travel in frames of limited size, and DuckDB quotes whole values. */
function shortened(message: string): string {
  if (message.length <= messageLengthMax) return message;
  return `${message.slice(0, messageLengthMax / 2)} … ${message.slice(-messageLengthMax / 2)}`;
}

function nameOf(held: Held): string {
  assert(held.slot !== undefined, "what was executed had a slot");
  return held.slot.name;
}

function reasonOf(cause: LedgerEvent, held: Held): CleanupReason {
  if (cause.kind === "evicted") return "evicted";
  if (held.acked) return "acked";
  return cause.kind === "expired" ? "ttl" : "unwanted";
}

/** A number that a frame cannot carry would end the session, and with it all its work. */
function wireTime(ms: number | undefined): number | undefined {
  return Number.isSafeInteger(ms) ? ms : undefined;
}
