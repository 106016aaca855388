/**
 * Upkeep of the lake: merges small segments, removes old ones, and deletes files that no query
 * needs or nobody published. It runs under the coordinator's lease and a claim. Rules: MU1 to MU8.
 */
import { type Clock, repeat } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { Loop, runSteps } from "../../../../ground/reconcile/index.ts";
import { isHeld, type LeaseGrant, type Store } from "../../../../ground/store/index.ts";
import {
  type CompactionLimits,
  type CompactionPlan,
  compactionLimitsDefault,
  decideCompaction,
  decideRetention,
  type RetentionLimits,
  retentionLimitsDefault,
} from "../core/decide-upkeep.ts";
import type { SegmentInfo } from "../core/model.ts";
import type { CompactionRequest } from "../fs/compact-block.ts";
import { compactInThread } from "../fs/compact-in-thread.ts";
import { removeSegmentFiles, sweepOrphans } from "../fs/lake.ts";
import {
  acquireClaim,
  type MaintenanceClaim,
  releaseClaim,
  renewClaim,
} from "./maintenance-claims.ts";
import type { SegmentCatalog } from "./segment-catalog.ts";
import type { SegmentScrubber } from "./segment-scrub.ts";

export interface MaintenanceOptions {
  readonly files?: Files;
  readonly store: Store;
  readonly catalog: SegmentCatalog;
  readonly lakeDir: string;
  /** Undefined while this process is not the coordinator; then upkeep does nothing. */
  readonly lease: () => LeaseGrant | undefined;
  readonly holder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly compaction?: Partial<CompactionLimits>;
  readonly retention?: Partial<RetentionLimits>;
  readonly everyMs?: number;
  /** How long the files of a removed segment stay; longer than any query runs. */
  readonly graceMs?: number;
  /** The age at which unpublished files are deleted; longer than any import. */
  readonly orphanAgeMs?: number;
  readonly claimMs?: number;
  /** Verifies files. Without one, nothing is verified. */
  readonly scrubber?: Pick<SegmentScrubber, "run" | "suspect">;
  /** For tests; by default a compaction runs in its own thread. */
  readonly compact?: (
    request: CompactionRequest,
    signal: AbortSignal,
  ) => Promise<readonly SegmentInfo[]>;
}

export interface UpkeepDone {
  readonly compactions: number;
  readonly retired: number;
  readonly swept: number;
  readonly orphans: number;
  /** The number of segments whose files were compared with their checksums. */
  readonly scrubbed: number;
}

const defaults = {
  files: realFiles,
  everyMs: 60_000,
  graceMs: 10 * 60_000,
  orphanAgeMs: 24 * 60 * 60_000,
  claimMs: 60_000,
  compact: compactInThread,
};
const task = "metrics-upkeep";
const trouble = "metrics upkeep failed";
const { signal: never } = new AbortController();
const compactionsPerRound = 16;
const nothingDone: UpkeepDone = { compactions: 0, retired: 0, swept: 0, orphans: 0, scrubbed: 0 };

export class Maintenance {
  readonly #options: MaintenanceOptions & typeof defaults;
  readonly #compaction: CompactionLimits;
  readonly #retention: RetentionLimits;
  readonly #loop: Loop;

  constructor(options: MaintenanceOptions) {
    this.#options = { ...defaults, ...options };
    this.#compaction = { ...compactionLimitsDefault, ...options.compaction };
    this.#retention = { ...retentionLimitsDefault, ...options.retention };
    const { clock, logger, lease, everyMs } = this.#options;
    const turn = async (signal: AbortSignal): Promise<void> => void (await this.run(signal));
    this.#loop = new Loop({ clock, logger, lease, turn, everyMs, firstMs: everyMs, trouble });
  }

  start(): void {
    this.#loop.start();
  }

  /** Aborts a running compaction, and waits for the end of the round. Idempotent. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Runs one round now. */
  async run(signal: AbortSignal = never): Promise<UpkeepDone> {
    const { store, holder, claimMs, clock, logger, scrubber } = this.#options;
    const lease = this.#options.lease();
    if (lease === undefined) return nothingDone;
    const claim = await acquireClaim(store, { task, holder, claimMs });
    if (claim === undefined) return nothingDone;
    // The claim is checked again at publication, so a failed renewal does no harm.
    const renewing = repeat(clock, claimMs / 3, () => {
      renewClaim(store, claim, claimMs).catch((thrown: unknown) => this.#warn("claim", thrown));
    });
    const steps = {
      retired: () => this.#retire(lease, claim),
      compactions: () => this.#compactAll(lease, claim, signal),
      swept: () => this.#sweep(lease),
      orphans: () => this.#sweepOrphans(),
      scrubbed: async () => (await scrubber?.run(lease, signal)) ?? 0,
    };
    try {
      // A failed step is logged and retried in the next round; the other steps still run.
      return await runSteps(steps, { signal, logger, what: "metrics upkeep" });
    } finally {
      renewing.cancel();
      await releaseClaim(store, claim);
    }
  }

  async #retire(lease: LeaseGrant, claim: MaintenanceClaim): Promise<number> {
    const { catalog, clock } = this.#options;
    const remove = decideRetention(await catalog.listAged(), clock.wallMs(), this.#retention);
    await catalog.publish({ add: [], remove }, lease, claim);
    return remove.length;
  }

  async #compactAll(
    lease: LeaseGrant,
    claim: MaintenanceClaim,
    signal: AbortSignal,
  ): Promise<number> {
    const { catalog, clock } = this.#options;
    /** Segments whose merge failed in this round, so that other blocks are still merged. */
    const failed = new Set<string>();
    let done = 0;
    for (let turn = 0; turn < compactionsPerRound; turn += 1) {
      if (signal.aborted) return done;
      const segments = (await catalog.list()).filter(({ segmentId }) => !failed.has(segmentId));
      const plan = decideCompaction(segments, clock.wallMs(), this.#compaction);
      if (plan === undefined) return done;
      const remove = plan.inputs.map(({ segmentId }) => segmentId);
      const add = await this.#merge(plan, signal);
      if (add === undefined) {
        for (const segmentId of remove) failed.add(segmentId);
        continue;
      }
      await this.#publishOrRemove(add, remove, lease, claim);
      done += 1;
    }
    return done;
  }

  /** Undefined when it failed; the log says why. */
  async #merge(
    plan: CompactionPlan,
    signal: AbortSignal,
  ): Promise<readonly SegmentInfo[] | undefined> {
    const { compact, lakeDir } = this.#options;
    try {
      return await compact({ lakeDir, plan }, signal);
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) && !isSystemError(thrown)) throw thrown;
      this.#warn("compaction", thrown);
      if (isOfFiles(thrown)) this.#options.scrubber?.suspect(messageOf(thrown));
      return undefined;
    }
  }

  /**
   * Deletes segments that certainly were not published. Otherwise the orphan sweep decides later.
   */
  async #publishOrRemove(
    add: readonly SegmentInfo[],
    remove: readonly string[],
    lease: LeaseGrant,
    claim: MaintenanceClaim,
  ): Promise<void> {
    try {
      await this.#options.catalog.publish({ add, remove }, lease, claim);
    } catch (thrown) {
      const isRefused =
        thrown instanceof OperatingError &&
        (thrown.code === "not_found" || thrown.code === "lease_lost");
      if (isRefused) {
        const { lakeDir, files } = this.#options;
        for (const { path } of add) await removeSegmentFiles(lakeDir, path, files);
      }
      throw thrown;
    }
  }

  /** Files first: a row without files is swept again, but files without a row would be orphans. */
  async #sweep(lease: LeaseGrant): Promise<number> {
    const { catalog, graceMs, lakeDir, files, store } = this.#options;
    if (await isHeld(store)) return 0;
    const sweepable = await catalog.sweepable(graceMs);
    for (const { path } of sweepable) await removeSegmentFiles(lakeDir, path, files);
    await catalog.forget(
      sweepable.map(({ segmentId }) => segmentId),
      lease,
    );
    return sweepable.length;
  }

  async #sweepOrphans(): Promise<number> {
    const { catalog, lakeDir, clock, orphanAgeMs, files, store } = this.#options;
    if (await isHeld(store)) return 0;
    const known = await catalog.knownIds();
    const wallMs = clock.wallMs();
    return (await sweepOrphans({ lakeDir, known, wallMs, olderThanMs: orphanAgeMs, files })).length;
  }

  #warn(step: string, thrown: unknown): void {
    this.#options.logger.warn({ step, error: messageOf(thrown) }, trouble);
  }
}

/** Whether a segment's files are damaged or missing. */
function isOfFiles(thrown: unknown): boolean {
  if (!(thrown instanceof OperatingError)) return false;
  return thrown.code === "data_corrupt" || thrown.code === "not_found";
}

function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown;
}
