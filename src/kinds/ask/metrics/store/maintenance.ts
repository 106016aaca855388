/**
 * Upkeep of the lake, by whoever holds the coordinator's lease, under a claim: merges small segments, lets old ones go,
 * deletes files that no query needs any more, and what nobody published.
 *
 *   MT1  One process at a time does it; one that lost its lease or claim publishes nothing.
 *   MT2  Files are deleted only of segments that were removed `graceMs` ago: longer than any query runs.
 *   MT3  A step that fails is logged and tried again in the next round; it does not keep the others from their turn.
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
  /** `undefined`: we are not the coordinator, and do nothing. */
  readonly lease: () => LeaseGrant | undefined;
  readonly holder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly compaction?: Partial<CompactionLimits>;
  readonly retention?: Partial<RetentionLimits>;
  readonly everyMs?: number;
  /** How long the files of a removed segment stay. Longer than any query. */
  readonly graceMs?: number;
  /** How old what nobody published must be to be deleted. Longer than any import. */
  readonly orphanAgeMs?: number;
  readonly claimMs?: number;
  /** Verifies files. Absent: nobody does. */
  readonly scrubber?: Pick<SegmentScrubber, "run" | "suspect">;
  /** For tests: elsewhere it runs in a thread of its own. */
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
  /** Segments whose files were read whole and compared with their checksums. */
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

  /** Stops a compaction that runs, and waits for the round's end. Idempotent. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** One round, now. */
  async run(signal: AbortSignal = never): Promise<UpkeepDone> {
    const { store, holder, claimMs, clock, logger, scrubber } = this.#options;
    const lease = this.#options.lease();
    if (lease === undefined) return nothingDone;
    const claim = await acquireClaim(store, { task, holder, claimMs });
    if (claim === undefined) return nothingDone;
    // Whether it is still ours is asked when something is published.
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
      return await runSteps(steps, { signal, logger, what: "metrics upkeep" }); // MT3
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
    /** What could not be merged in this round. One damaged file must not keep all other blocks as they are for ever. */
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

  /** `undefined`: it failed, and the log says why. */
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

  /** What certainly was not published is deleted. Where that is not known, the orphans' sweep decides later. */
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

  /** Files first: a row without files is swept again, files without a row would be orphans. */
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

/** Files of a segment are damaged or missing. */
function isOfFiles(thrown: unknown): boolean {
  if (!(thrown instanceof OperatingError)) return false;
  return thrown.code === "data_corrupt" || thrown.code === "not_found";
}

function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown;
}
