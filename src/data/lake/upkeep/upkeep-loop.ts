/**
 * The lake's upkeep, run by the leader: expires old snapshots, deletes files that no snapshot
 * needs, merges small files, rewrites those with many deletes (on workers), and deletes orphans. A
 * step that fails is logged, and the others still run. Rules: LK30 to LK34.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { parseQueryId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { Loop, runSteps } from "../../../ground/reconcile/index.ts";
import type { ApiWorkManager } from "../../../ground/work/index.ts";
import {
  type Compaction,
  decideLakeUpkeep,
  isOrphan,
  type LakeCatalog,
  type ObjectStore,
  type UpkeepDecision,
  type UpkeepLimits,
  upkeepLimitsDefault,
} from "../core/index.ts";
import { commitWritten, discardWritten, executeWrite, isInDoubt } from "../statements/run-write.ts";
import type { LakeUpkeep } from "../store/upkeep.ts";
import type { LakeScrub } from "./lake-scrub.ts";

export interface UpkeepLoopOptions {
  readonly upkeep: LakeUpkeep;
  readonly catalog: Pick<LakeCatalog, "commit" | "current" | "version">;
  readonly objects: ObjectStore;
  readonly manager: Pick<ApiWorkManager, "run">;
  /** The current lease; undefined when another process holds it. */
  readonly lease: () => { readonly epoch: number } | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly limits?: Partial<UpkeepLimits>;
  readonly everyMs?: number;
  /** Verifies files. Absent when nobody does. */
  readonly scrub?: Pick<LakeScrub, "run">;
}

export interface UpkeepRound {
  readonly expired: number;
  readonly deleted: number;
  readonly compacted: number;
  readonly swept: number;
  /** The number of files that were read whole and compared with their checksums. */
  readonly scrubbed: number;
}

const everyMsDefault = 60_000;
const { signal: never } = new AbortController();
/** No compaction of a round begins later than this after the first. */
const compactingMsMax = 60_000;
const compactionMsMax = 600_000;
/** Only files of the lake's tables are below these prefixes. */
const prefixes = ["main/", "uploads/"];

export class UpkeepLoop {
  readonly #options: UpkeepLoopOptions;
  readonly #limits: UpkeepLimits;
  readonly #loop: Loop;

  constructor(options: UpkeepLoopOptions) {
    this.#options = options;
    this.#limits = { ...upkeepLimitsDefault, ...options.limits };
    const { clock, logger, lease, everyMs = everyMsDefault } = options;
    const turn = async (signal: AbortSignal): Promise<void> => void (await this.run(signal));
    this.#loop = new Loop({
      clock,
      logger,
      lease,
      turn,
      everyMs,
      firstMs: everyMs,
      trouble: "the lake's upkeep failed",
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** To be called from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#loop.leaseChanged();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async run(signal: AbortSignal = never): Promise<UpkeepRound> {
    const { upkeep, scrub } = this.#options;
    const decision = decideLakeUpkeep(await upkeep.facts(), this.#limits);
    return await this.#steps(signal, {
      expired: () => this.#expire(decision),
      deleted: () => this.#delete(decision),
      compacted: () => this.#compact(decision, signal),
      swept: () => this.#sweep(),
      scrubbed: async () => (await scrub?.run(signal)) ?? 0,
    });
  }

  /** Runs each step; one that fails is logged and repeated in the next round. */
  #steps<Name extends string>(
    signal: AbortSignal,
    steps: Readonly<Record<Name, () => Promise<number>>>,
  ): Promise<Record<Name, number>> {
    return runSteps(steps, { signal, logger: this.#options.logger, what: "the lake's upkeep" });
  }

  async #expire({ expire }: UpkeepDecision): Promise<number> {
    const { upkeep } = this.#options;
    await upkeep.forgetTokens();
    if (expire.length === 0) return 0;
    const { snapshots } = await upkeep.expire(expire, this.#limits.pinMsMax);
    return snapshots;
  }

  /** Deletes files scheduled for longer than any query runs. */
  async #delete(decision: UpkeepDecision): Promise<number> {
    const { objects, upkeep } = this.#options;
    const { delete: due } = decision;
    if (due.length === 0 || (await upkeep.isHeld())) return 0;
    await objects.delete(due.map(({ path }) => path));
    await upkeep.forget(due.map(({ fileId }) => fileId));
    return due.length;
  }

  async #compact({ merge, rewrite }: UpkeepDecision, signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const endMs = clock.nowMs() + compactingMsMax;
    const most = [...merge, ...rewrite].sort((a, b) => b.fileIds.length - a.fileIds.length);
    let done = 0;
    for (const each of most) {
      if (signal.aborted || clock.nowMs() >= endMs) break;
      const one = async (): Promise<number> => ((await this.#compactOne(each, signal)) ? 1 : 0);
      done += (await this.#steps(signal, { compaction: one })).compaction;
    }
    return done;
  }

  /** On a conflict its files are deleted. They stay while it is unknown whether it committed. */
  async #compactOne({ tableId, fileIds }: Compaction, signal: AbortSignal): Promise<boolean> {
    const { catalog, objects, logger, prng } = this.#options;
    const { snapshot } = await catalog.current();
    const version = await catalog.version(tableId, snapshot);
    const there = new Set(version.files.map(({ fileId }) => fileId));
    if (!fileIds.every((fileId) => there.has(fileId))) return false;
    const queryId = parseQueryId(`compact-${randomText(prng, 16)}`);
    assert(queryId !== undefined, "a query's id has the form of one");
    const text = `compaction of ${version.table.name}`;
    const request = { queryId, text, deadlineMs: compactionMsMax };
    const write = { op: "compact", version, files: fileIds } as const;
    const written = await executeWrite(this.#options, request, write, signal);
    const { added, ended } = written;
    if (ended.length === 0) return false;
    const change = { kind: "changeRows", tableId, added, deletes: [], ended } as const;
    const commit = {
      readSnapshot: snapshot,
      token: queryId,
      changes: [{ ...change, isCompaction: true }],
      author: "upkeep",
      message: text,
    };
    try {
      await commitWritten(this.#options, commit, signal);
    } catch (thrown) {
      const own = { objects, logger: logger.with({ query_id: queryId }) };
      if (!isInDoubt(thrown)) await discardWritten(own, written);
      throw thrown;
    }
    return true;
  }

  /** Lists before reading the catalog, so that files committed meanwhile are not orphans. */
  async #sweep(): Promise<number> {
    const { objects, upkeep } = this.#options;
    if (await upkeep.isHeld()) return 0;
    const listed: { path: string; modifiedMs: number }[] = [];
    for (const prefix of prefixes) {
      for await (const object of objects.list(prefix)) listed.push(object);
    }
    const facts = await upkeep.orphanFacts();
    const orphans = listed.filter(({ path, modifiedMs }) =>
      isOrphan(facts, path, modifiedMs, this.#limits),
    );
    if (orphans.length > 0) await objects.delete(orphans.map(({ path }) => path));
    return orphans.length;
  }
}
