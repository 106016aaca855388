/**
 * The checkpoints of all queries that this coordinator leads: a driver for each query that runs, in
 * its epoch, from the moment a reconciler sees it run until it sees otherwise. A driver owns its
 * timer and what its workers have said; what is complete is in the store. Rules: SD24 to SD27.
 */
import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type { LeaseGrant } from "../../../../ground/store/index.ts";
import type { Plan } from "../../language/core/index.ts";
import type { Manifest, ManifestFragment } from "../../run/core/index.ts";
import type { FragmentError, StreamReport } from "../core/commands.ts";
import type { FleetPort } from "../core/fleet-port.ts";
import { type CheckpointEffect, QueryCheckpoints } from "../core/query-checkpoints.ts";
import type { CheckpointView } from "../core/query-view.ts";
import type { QueryRows } from "../reconcile/read-query.ts";
import { deleteObjects, type RecordCheckpoint, recordCheckpoint } from "./record-checkpoint.ts";

export interface CheckpointDriversOptions {
  readonly lake: RecordCheckpoint["lake"];
  readonly lease: () => LeaseGrant | undefined;
  readonly write: RecordCheckpoint["write"];
  readonly fleet: Pick<FleetPort, "send">;
  readonly planOf: (queryId: string) => Promise<Plan>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something to look at: the last checkpoint is recorded, or one failed. */
  readonly changed: (queryId: string) => void;
}

interface Driver {
  readonly queryId: string;
  readonly epoch: number;
  readonly workers: ReadonlySet<string>;
  readonly plan: Plan;
  readonly checkpoints: QueryCheckpoints;
  beganMs: number;
  timer: Timer | undefined;
  fault: FragmentError | undefined;
}

type Checkpointed = Extract<StreamReport, { readonly kind: "checkpointed" }>;

const timeoutMsDefault = 600_000;

function timeoutMsOf({ settings }: Plan): number {
  return settings.checkpointTimeoutMs ?? timeoutMsDefault;
}

/** For the log, at the moment before the step is done (SD51). */
const stepTexts = {
  trigger: "a checkpoint is triggered",
  record: "all fragments have said their states: a checkpoint is recorded now",
  tell: "a checkpoint is recorded, and workers are told",
  givenUp: "a checkpoint is given up",
} as const;

export class CheckpointDrivers {
  readonly #options: CheckpointDriversOptions;
  readonly #drivers = new Map<string, Driver>();

  constructor(options: CheckpointDriversOptions) {
    this.#options = options;
  }

  /** Of a query that runs, or ends softly: begins to drive it, or goes on. */
  async drive(rows: QueryRows, hasEnded: boolean): Promise<CheckpointView> {
    const driver = await this.#driverOf(rows);
    const nowMs = this.#options.clock.nowMs();
    const asked = rows.query.savepoints_asked;
    if (hasEnded) this.#perform(driver, driver.checkpoints.end(asked, nowMs));
    this.#perform(driver, driver.checkpoints.savepoint(asked, nowMs));
    return { isFinal: driver.checkpoints.isFinal, fault: driver.fault };
  }

  /** The query does not run any more in this epoch. */
  forget(queryId: string): void {
    this.#drivers.get(queryId)?.timer?.cancel();
    this.#drivers.delete(queryId);
  }

  /** Nobody is led any more. */
  clear(): void {
    for (const queryId of [...this.#drivers.keys()]) this.forget(queryId);
  }

  workerUp(workerId: string): void {
    for (const driver of this.#drivers.values()) {
      if (driver.workers.has(workerId)) this.#perform(driver, driver.checkpoints.again());
    }
  }

  checkpointed({ query, epoch, checkpoint, state, prepared }: Checkpointed): void {
    const driver = this.#drivers.get(query);
    if (driver?.epoch !== epoch) return;
    const said = { query_id: query, epoch, checkpoint, fragment: state.fragment };
    this.#options.logger.debug(said, "a fragment has said its state for a checkpoint");
    this.#perform(driver, driver.checkpoints.checkpointed(checkpoint, { state, prepared }));
  }

  /** The fragments of the newest complete checkpoint, for those that go on from it. */
  async restored(queryId: string): Promise<readonly ManifestFragment[] | undefined> {
    const row = await this.#newest(queryId);
    return row === undefined ? undefined : (JSON.parse(row.manifest) as Manifest).fragments;
  }

  /** The number of the newest complete checkpoint. */
  async last(queryId: string): Promise<number | undefined> {
    return (await this.#newest(queryId))?.checkpoint;
  }

  async deleteObjects(paths: readonly string[]): Promise<void> {
    await deleteObjects(this.#options.lake, paths);
  }

  async #newest(queryId: string) {
    return await this.#options.lake.store.read(({ db }) =>
      db
        .selectFrom("query_checkpoints")
        .select(["checkpoint", "epoch", "manifest"])
        .where("query_id", "=", queryId)
        .orderBy("checkpoint", "desc")
        .limit(1)
        .executeTakeFirst(),
    );
  }

  async #driverOf({ query, fragments }: QueryRows): Promise<Driver> {
    const { query_id: queryId, epoch } = query;
    const known = this.#drivers.get(queryId);
    if (known?.epoch === epoch) return known;
    this.forget(queryId);
    const { clock, planOf } = this.#options;
    const plan = await planOf(queryId);
    const newest = await this.#newest(queryId);
    const driver: Driver = {
      queryId,
      epoch,
      plan,
      workers: new Set(fragments.map(({ worker_id }) => worker_id)),
      checkpoints: new QueryCheckpoints({
        fragments: fragments.map(({ fragment }) => fragment),
        last: newest?.checkpoint ?? 0,
        completed: newest?.epoch === epoch ? newest.checkpoint : 0,
        savepointsTaken: query.savepoints_taken,
        intervalMs: plan.settings.checkpointIntervalMs,
        pauseMs: plan.settings.checkpointPauseMs ?? 0,
        timeoutMs: timeoutMsOf(plan),
        nowMs: clock.nowMs(),
      }),
      beganMs: clock.nowMs(),
      timer: undefined,
      fault: undefined,
    };
    this.#drivers.set(queryId, driver);
    this.#wait(driver);
    return driver;
  }

  #wait(driver: Driver): void {
    const { clock } = this.#options;
    driver.timer?.cancel();
    const waitMs = driver.checkpoints.dueMs - clock.nowMs();
    if (!Number.isFinite(waitMs) || driver.fault !== undefined) return;
    driver.timer = clock.after(Math.max(0, waitMs), () =>
      this.#perform(driver, driver.checkpoints.tick(clock.nowMs())),
    );
  }

  #perform(driver: Driver, effects: readonly CheckpointEffect[]): void {
    if (this.#drivers.get(driver.queryId) !== driver) return;
    for (const effect of effects) this.#performOne(driver, effect);
    this.#wait(driver); // Also without effects: a timer may fire a little early.
  }

  #performOne(driver: Driver, effect: CheckpointEffect): void {
    const { clock, changed, logger } = this.#options;
    const { queryId, epoch } = driver;
    if (effect.kind !== "final") {
      const { checkpoint } = effect;
      logger.debug({ query_id: queryId, epoch, checkpoint }, stepTexts[effect.kind]);
    }
    switch (effect.kind) {
      case "trigger":
        driver.beganMs = clock.nowMs();
        this.#tell(driver, {
          kind: "triggerCheckpoint",
          checkpoint: effect.checkpoint,
          completed: effect.completed,
        });
        break;
      case "record":
        void this.#record(driver, effect);
        break;
      case "tell":
        this.#tell(driver, { kind: "checkpointComplete", checkpoint: effect.checkpoint });
        break;
      case "final":
        changed(queryId);
        break;
      case "givenUp": {
        const seconds = timeoutMsOf(driver.plan) / 1_000;
        const message = `checkpoint ${effect.checkpoint} of epoch ${epoch} lacked ${effect.missing.join(", ")} after ${seconds} s`;
        this.#fail(driver, new OperatingError("query_failed", "backoff", message));
        break;
      }
    }
  }

  #tell(
    { queryId: query, epoch, workers }: Driver,
    about:
      | { kind: "triggerCheckpoint"; checkpoint: number; completed: number }
      | { kind: "checkpointComplete"; checkpoint: number },
  ): void {
    for (const workerId of workers) this.#options.fleet.send(workerId, { query, epoch, ...about });
  }

  async #record(
    driver: Driver,
    { checkpoint, savepoint, fragments }: Extract<CheckpointEffect, { readonly kind: "record" }>,
  ): Promise<void> {
    const { lake, lease, write, clock } = this.#options;
    const { queryId, epoch, plan } = driver;
    const durationMs = clock.nowMs() - driver.beganMs;
    try {
      await recordCheckpoint({
        lake,
        lease,
        write,
        queryId,
        epoch,
        plan,
        checkpoint,
        savepoint,
        fragments,
        durationMs,
      });
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      this.#fail(driver, thrown);
      return;
    }
    this.#perform(driver, driver.checkpoints.recorded(clock.nowMs()));
  }

  #fail(driver: Driver, thrown: unknown): void {
    const { logger, changed } = this.#options;
    const { queryId, epoch } = driver;
    if (this.#drivers.get(queryId) !== driver) return;
    const error = thrown instanceof OperatingError ? thrown : undefined;
    const message = messageOf(thrown);
    logger.warn({ query_id: queryId, epoch }, `a checkpoint failed: ${message}`);
    // A conflict with a newer epoch or leader is nobody's fault: this driver is forgotten soon.
    driver.fault = {
      code: error?.code ?? "query_failed",
      number: error?.number,
      message,
      retry: error?.code === "conflict" || error === undefined ? "backoff" : error.retry,
    };
    driver.timer?.cancel();
    changed(queryId);
  }
}
