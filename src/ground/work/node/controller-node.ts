/**
 * A process that dials workers, built from ports only: a coordinator or a query-api. `main.ts`
 * gives it gRPC, HTTP and a database; the simulator gives it its own. A query-api has a private
 * view of the workers and writes nothing. A coordinator dials and writes as CN1 to CN5 say.
 */
import {
  type ChannelOffer,
  type ControllerRole,
  cancelDrain,
  type Dialer,
  type Discovery,
  dropWorker,
  Membership,
  registerWorker,
  requestDrain,
  type SessionObserver,
  SessionPool,
  type SessionTiming,
  storeDiscovery,
  type WorkerRegistration,
  type WorkerRow,
} from "../../cluster/index.ts";
import { type Clock, sleep, waitAtMost } from "../../kernel/clock.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";
import type { Health } from "../../kernel/health.ts";
import type { ControllerId, LeaseEpoch, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { type LeaseGrant, LeaseKeeper, StepDown, type Store } from "../../store/index.ts";
import {
  type ApiQueryObserver,
  type ApiWorkLimits,
  ApiWorkManager,
  type ArtifactFetcher,
  defaultApiWorkLimits,
  WorkBoard,
} from "../core/index.ts";
import { workChannel, workPoolOf } from "../wire/work-channel.ts";

/** The classes that a controller is built from. The simulator's planted bugs subclass them. */
export interface ControllerParts {
  readonly ApiWorkManager: typeof ApiWorkManager;
  readonly LeaseKeeper: typeof LeaseKeeper;
  readonly Membership: typeof Membership;
  readonly SessionPool: typeof SessionPool;
  readonly WorkBoard: typeof WorkBoard;
}

/** How a coordinator requests the lease. */
export interface LeaseOptions {
  /** Unique to this coordinator, and stable over its restarts. */
  readonly holder: string;
  /** The address of this coordinator's API, which a standby names to its callers. */
  readonly apiUrl: string;
  readonly name?: string;
  readonly leaseMs?: number;
  readonly renewMs?: number;
}

export interface ControllerNodeOptions {
  readonly role: ControllerRole;
  readonly controllerId: ControllerId;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly dialer: Dialer;
  /** What kinds of work speak over the sessions, beside the channel of work. */
  readonly channels?: readonly ChannelOffer[];
  readonly fetcher: ArtifactFetcher;
  /** Required for a coordinator, and for a query-api without `discovery`. */
  readonly store?: Store;
  /** Default: the store's workers table. */
  readonly discovery?: Discovery;
  /** Required for coordinators; not for a query-api. */
  readonly lease?: LeaseOptions;
  readonly limits?: Partial<ApiWorkLimits>;
  readonly timing?: SessionTiming;
  readonly queryObserver?: Partial<ApiQueryObserver>;
  readonly sessionObserver?: Partial<SessionObserver>;
  readonly health?: Health;
  /** CN4. Default 10 s. */
  readonly stepDownMs?: number;
  readonly parts?: Partial<ControllerParts>;
}

/** The limit of each stop step once queries have drained. */
const stopStepMsMax = 2_000;
const noLease = 0 as LeaseEpoch;

export class ControllerNode {
  readonly role: ControllerRole;
  readonly pool: SessionPool;
  readonly manager: ApiWorkManager;
  /** Coordinators only. */
  readonly lease: LeaseKeeper | undefined;
  readonly membership: Membership | undefined;
  readonly #options: ControllerNodeOptions;
  readonly #discovery: Discovery;
  readonly #store: Store | undefined;
  /** The epoch of the last grant, also after its loss: workers refuse it after a newer one. */
  #leaseEpoch: LeaseEpoch = noLease;
  readonly #stepDown: StepDown;
  #stopping: Promise<void> | undefined;
  #unsubscribe: () => void = () => undefined;

  constructor(options: ControllerNodeOptions) {
    const { clock, prng, logger, store } = options;
    this.#options = options;
    this.#store = store;
    this.#stepDown = new StepDown({
      clock,
      stepDownMs: options.stepDownMs,
      standsAsOurs: () => this.lease?.standsAsOurs() === true, // CN5
      onStepDown: () => this.#steppedDown(),
    });
    this.role = options.role;
    this.#discovery = options.discovery ?? discoveryOf(options);
    const parts: ControllerParts = {
      ApiWorkManager,
      LeaseKeeper,
      Membership,
      SessionPool,
      WorkBoard,
      ...options.parts,
    };
    this.pool = new parts.SessionPool({
      clock,
      prng: prng.fork("pool"),
      logger,
      dialer: options.dialer,
      controllerId: options.controllerId,
      role: options.role,
      leaseEpoch: () => this.#leaseEpoch,
      channels: [workChannel, ...(options.channels ?? [])],
      ...(options.timing === undefined ? {} : { timing: options.timing }),
      ...(options.sessionObserver === undefined ? {} : { observer: options.sessionObserver }),
    });
    this.manager = new parts.ApiWorkManager({
      pool: workPoolOf(this.pool),
      fetcher: options.fetcher,
      clock,
      logger,
      board: new parts.WorkBoard({ ...defaultApiWorkLimits, ...options.limits }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.queryObserver === undefined ? {} : { observer: options.queryObserver }),
    });
    if (options.role === "query_api") return;
    assert(store !== undefined, "a coordinator has a store");
    assert(options.lease !== undefined, "a coordinator asks for the lease");
    const lease = new parts.LeaseKeeper({
      store,
      clock,
      prng: prng.fork("lease"),
      logger,
      name: "coordinator",
      ...(options.health === undefined ? {} : { health: options.health.part("store") }),
      ...options.lease,
    });
    this.lease = lease;
    this.membership = new parts.Membership({
      store,
      lease: () => lease.grant(),
      standsAsOurs: () => lease.grant() === undefined && lease.standsAsOurs(),
      pool: this.pool,
      discovery: this.#discovery,
      clock,
      prng: prng.fork("membership"),
      logger,
    });
  }

  /** Whether this process is the coordinator that holds the lease; never for a query-api. */
  leading(): boolean {
    return this.lease?.grant() !== undefined;
  }

  start(): void {
    if (this.lease === undefined) {
      this.#discovery.start((targets) => this.pool.setTargets(targets));
      return;
    }
    const unsubscribe = [
      this.lease.onChange((grant) => this.#leaseChanged(grant)),
      this.lease.onStanding((epoch) => this.#leaseStands(epoch)),
    ];
    this.#unsubscribe = () => {
      for (const each of unsubscribe) each();
    };
    this.membership?.start();
    this.lease.start();
  }

  /**
   * Waits up to `drainMs` for running queries, then cancels the rest, says goodbye to the workers
   * and releases the lease, each within 2 s.
   */
  stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  /** Throws `not_leader` unless this process holds the lease; so do the next three. */
  async registerWorker(registration: WorkerRegistration): Promise<WorkerRow> {
    const { store, grant } = this.#underLease();
    const row = await registerWorker(store, grant, registration);
    this.pool.poke(registration.workerId);
    return row;
  }

  async requestDrain(workerId: WorkerId): Promise<WorkerRow> {
    const { store, grant } = this.#underLease();
    return await requestDrain(store, grant, workerId);
  }

  async cancelDrain(workerId: WorkerId): Promise<WorkerRow> {
    const { store, grant } = this.#underLease();
    return await cancelDrain(store, grant, workerId);
  }

  async dropWorker(workerId: WorkerId): Promise<WorkerRow> {
    const { store, grant } = this.#underLease();
    return await dropWorker(store, grant, workerId);
  }

  #underLease(): { readonly store: Store; readonly grant: LeaseGrant } {
    const grant = this.lease?.grant();
    if (this.#store === undefined || grant === undefined) {
      throw new OperatingError("not_leader", "backoff", "this process does not hold the lease");
    }
    return { store: this.#store, grant };
  }

  #leaseChanged(grant: LeaseGrant | undefined): void {
    if (grant === undefined) this.#stepDown.lost();
    else this.#stepDown.cancel();
    if (grant !== undefined && grant.epoch !== this.#leaseEpoch) {
      this.#leaseEpoch = grant.epoch;
      // CN3: membership sets them again once it has taken over.
      this.pool.setTargets([]);
    }
    this.membership?.leaseChanged();
  }

  /** CN5 */
  #leaseStands(epoch: LeaseEpoch): void {
    this.#leaseEpoch = epoch;
    this.#stepDown.stands();
    this.membership?.leaseChanged();
  }

  #steppedDown(): void {
    this.#options.logger.warn({}, "the lease is lost: stepping down");
    this.pool.setTargets([]);
    for (const query of this.manager.list()) {
      if (query.state !== "queued" && query.state !== "running") continue;
      const message = "this coordinator lost its lease while the query ran; try again";
      this.manager.cancelFor(query.queryId, new OperatingError("not_leader", "backoff", message));
    }
  }

  async #stop(drainMs: number): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + drainMs;
    while (this.manager.counts().running > 0 && clock.nowMs() < untilMs) await sleep(clock, 50);
    this.manager.close();
    this.#discovery.stop();
    this.#stepDown.cancel();
    await this.#stopWithin(this.membership);
    this.pool.close();
    // Last, so that a process that released the lease writes and commands nothing.
    this.#unsubscribe();
    await this.#stopWithin(this.lease);
  }

  /** A store that does not answer must not delay the end of the process. */
  async #stopWithin(part: { stop(): Promise<void> } | undefined): Promise<void> {
    if (part !== undefined) await waitAtMost(this.#options.clock, stopStepMsMax, part.stop());
  }
}

function discoveryOf({ store, clock, logger }: ControllerNodeOptions): Discovery {
  assert(store !== undefined, "without a store there is another discovery");
  return storeDiscovery({ store, clock, logger });
}
