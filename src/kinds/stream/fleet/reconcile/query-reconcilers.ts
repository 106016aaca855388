/**
 * Brings the workers to what the catalog wants of each query. A wake-up only names the query: the
 * catalog is read, the workers' reports are looked at, `decideQuery` says what is next, and changes
 * of the catalog are committed before anything is commanded that follows from them. Whoever loses
 * the lease stops at once; the next leader decides from the same rows and new reports.
 *
 * Refuses to run without the lease. Rules: SD10 to SD22.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import { KeyedQueue } from "../../../../ground/reconcile/index.ts";
import type { LeaseGrant, Store } from "../../../../ground/store/index.ts";
import { type FragmentRow, hasEnded } from "../../catalog/core/index.ts";
import type { Plan } from "../../language/core/index.ts";
import type { FragmentSpec, ManifestFragment } from "../../run/core/index.ts";
import {
  CheckpointDrivers,
  type CheckpointDriversOptions,
} from "../checkpoint/checkpoint-drivers.ts";
import { objectsOf } from "../checkpoint/kept-checkpoints.ts";
import { CommandDesk } from "../core/command-desk.ts";
import type { FragmentReport, StreamCommand, StreamReport } from "../core/commands.ts";
import {
  decideGone,
  decideQuery,
  type QueryChange,
  type QueryCommand,
  type QueryDecision,
} from "../core/decide-query.ts";
import type { FleetPort } from "../core/fleet-port.ts";
import { FleetView } from "../core/fleet-view.ts";
import {
  type CheckpointView,
  type FleetLimits,
  fleetLimits,
  type QueryView,
  type WorkerView,
} from "../core/query-view.ts";
import { whatIsLost } from "../core/what-is-lost.ts";
import { applyChanges, type Placer } from "./apply-changes.ts";
import { CatalogWriter } from "./catalog-writer.ts";
import { ChangedQueries } from "./changed-queries.ts";
import { ReachableTimes } from "./reachable-times.ts";
import { type QueryRows, readQuery } from "./read-query.ts";

export interface QueryReconcilersOptions {
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly fleet: FleetPort;
  readonly plans: DeployedPlans;
  readonly placer: Placer;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly limits?: Partial<FleetLimits>;
  /** For how long a new leader takes silence for nothing (SD18). */
  readonly detectionMs?: number;
  /** Where checkpoints are recorded, with what Lake sinks prepared for them. */
  readonly lake: CheckpointDriversOptions["lake"];
  /** Figures of running queries. */
  readonly onStatistics?: (workerId: string, report: Statistics) => void;
}

type Statistics = Extract<StreamReport, { readonly kind: "statistics" }>;

/** The plans of queries, as fragments that can be deployed. */
export interface DeployedPlans {
  plan(queryId: string): Promise<Plan>;
  /** The fragments of the query that read sources. */
  sourceFragments(queryId: string): Promise<ReadonlySet<string>>;
  /**
   * What the worker is told of its fragments. Throws a transient error while the address of a
   * worker that they send to is not known.
   */
  specs(rows: QueryRows, workerId: string): Promise<readonly FragmentSpec[]>;
}

/** Passes of one look: each commits changes, and the last one commands. */
const passesMax = 20;
const resyncMs = 30_000;
/** While a deployment is under way, its reachable time is counted at least so often. */
const deployingLookMs = 5_000;

export class QueryReconcilers {
  readonly #options: QueryReconcilersOptions;
  readonly #limits: FleetLimits;
  readonly #queue: KeyedQueue<string>;
  readonly #view = new FleetView();
  readonly #desk = new CommandDesk();
  readonly #writer: CatalogWriter;
  readonly #changed: ChangedQueries;
  readonly #reachable: ReachableTimes;
  readonly #checkpoints: CheckpointDrivers;
  #leader: { readonly epoch: number; readonly sinceMs: number } | undefined;
  #unsubscribe: readonly (() => void)[] = [];

  constructor(options: QueryReconcilersOptions) {
    const { store, lease, clock, prng, logger, limits } = options;
    this.#options = options;
    this.#limits = { ...fleetLimits, ...limits };
    this.#writer = new CatalogWriter(store, lease, clock);
    this.#changed = new ChangedQueries(store);
    this.#reachable = new ReachableTimes(store, clock);
    this.#checkpoints = new CheckpointDrivers({
      lake: options.lake,
      lease,
      write: (body) => this.#writer.write(body),
      fleet: options.fleet,
      planOf: (queryId) => options.plans.plan(queryId),
      clock,
      logger,
      changed: (queryId) => this.#queue.add(queryId),
    });
    this.#queue = new KeyedQueue<string>({
      clock,
      prng,
      logger,
      lease,
      reconcile: (queryId, signal) => this.#reconcile(queryId, signal),
      keys: async () => [...(await this.#changed.all()), ...this.#view.queries()],
      resyncMs,
      backoff: { minMs: 100, maxMs: 10_000 },
      concurrency: 32,
      keysMax: 100_000,
      trouble: "cannot reconcile a query",
    });
  }

  start(): void {
    const { store, fleet, clock } = this.#options;
    this.#unsubscribe = [
      store.onPoke(() => void this.#poked()),
      fleet.listen({
        workerUp: (workerId) => {
          this.#view.workerUp(workerId, clock.nowMs());
          this.#checkpoints.workerUp(workerId);
          void this.#look(workerId);
        },
        facts: (workerId, facts, version) => this.#add(this.#view.facts(workerId, facts, version)),
        report: (workerId, report) => this.#reported(workerId, report),
        workerDown: (workerId) => {
          this.#desk.forgetWorker(workerId);
          this.#add(this.#view.workerDown(workerId, clock.nowMs()));
          void this.#look(workerId);
        },
      }),
    ];
    this.#queue.start();
  }

  /** Call it from the lease keeper's `onChange`. */
  leaseChanged(): void {
    if (this.#options.lease() === undefined) this.#checkpoints.clear();
    else this.#noteLeader(); // Its patience (SD18) begins now, and not with the first query.
    this.#queue.leaseChanged();
  }

  /** Whether nothing is left to do at the moment. */
  idle(): boolean {
    return this.#queue.idle();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#checkpoints.clear();
    await this.#queue.stop();
  }

  #add(queries: Iterable<string>): void {
    for (const query of queries) this.#queue.add(query);
  }

  async #poked(): Promise<void> {
    if (this.#options.lease() === undefined) return;
    // What this read misses, the resync finds.
    await this.#changed.next().then(
      (queries) => this.#add(queries),
      () => undefined,
    );
  }

  /** The queries that have something to do with the worker. */
  async #look(workerId: string): Promise<void> {
    if (this.#options.lease() === undefined) return;
    await this.#changed.onWorker(workerId).then(
      (queries) => this.#add(queries),
      () => undefined,
    );
  }

  #reported(workerId: string, report: StreamReport): void {
    if (report.kind === "statistics") {
      this.#options.onStatistics?.(workerId, report);
      return;
    }
    if (report.kind === "checkpointed") {
      this.#checkpoints.checkpointed(report);
      return;
    }
    if (report.kind === "answer") {
      const { query, command, error } = report;
      const answered = { query_id: query, worker_id: workerId, code: error?.code };
      this.#options.logger.debug(answered, "a command was answered");
      this.#desk.answered(workerId, query, command, error, this.#options.clock.nowMs());
    }
    this.#view.answer(workerId, report);
    this.#queue.add(report.query);
  }

  async #reconcile(
    queryId: string,
    signal: AbortSignal,
  ): Promise<{ requeueAfterMs: number } | undefined> {
    const { store, clock } = this.#options;
    this.#noteLeader();
    for (let pass = 0; pass < passesMax && !signal.aborted; pass += 1) {
      const rows = await store.read((tx) => readQuery(tx, queryId));
      if (rows === undefined) {
        this.#forget(queryId);
        this.#command(queryId, decideGone(this.#workersOf(queryId, undefined)).commands);
        return undefined;
      }
      const view = await this.#viewOf(rows);
      let decision = decideQuery(view, this.#limits);
      let againMs: number | undefined;
      if (decision.changes.length > 0) {
        if (await this.#write(rows, view, decision.changes)) continue;
        // The fragment stays on its worker and is handled there.
        decision = decideQuery({ ...view, mayMove: false }, this.#limits);
        if (decision.changes.length > 0) {
          if (await this.#write(rows, view, decision.changes)) continue;
          return { requeueAfterMs: deployingLookMs };
        }
        againMs = deployingLookMs;
      }
      await this.#commandAll(rows, decision.commands, signal);
      return this.#again(view, { ...decision, waitMs: decision.waitMs ?? againMs }, clock.nowMs());
    }
    return { requeueAfterMs: 0 };
  }

  /** The reason of a recovery says what is lost, unless the last checkpoint holds all. */
  async #withLosses(
    { query, fragments, checkpoint }: QueryView,
    changes: readonly QueryChange[],
  ): Promise<readonly QueryChange[]> {
    const hasRead = fragments.some(({ state }) => state !== "PENDING" && state !== "REGISTERED");
    const isRecovery = changes.some(({ kind }) => kind === "redeploy");
    if (!isRecovery || !hasRead || checkpoint?.isFinal === true) return changes;
    const { query_id } = query;
    const plan = await this.#options.plans.plan(query_id);
    const lost = whatIsLost(plan, await this.#checkpoints.last(query_id));
    if (lost === undefined) return changes;
    return changes.map((change) =>
      change.kind === "redeploy" ? { ...change, reason: `${change.reason}; ${lost}` } : change,
    );
  }

  /** `false`: there is no place for a query that is to be deployed again. */
  async #write(
    rows: QueryRows,
    view: QueryView,
    changes: readonly QueryChange[],
  ): Promise<boolean> {
    const { placer, logger } = this.#options;
    const isGoing = changes.some(({ kind }) => kind === "remove");
    const { query_id } = rows.query;
    const told = await this.#withLosses(view, changes);
    try {
      const objects = await this.#writer.write(async (tx) => {
        const own = isGoing ? await objectsOf(tx, query_id) : [];
        return (await applyChanges(tx, rows, told, placer)) ? own : [];
      });
      await this.#checkpoints.deleteObjects(objects);
      return true;
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || !hasNoPlace(thrown)) throw thrown;
      logger.warn({ query_id: rows.query.query_id }, `it cannot be placed: ${thrown.message}`);
      return false;
    }
  }

  #noteLeader(): void {
    const { lease, clock } = this.#options;
    const epoch = lease()?.epoch;
    if (epoch === undefined || epoch === this.#leader?.epoch) return;
    this.#leader = { epoch, sinceMs: clock.nowMs() };
    this.#desk.clear();
    this.#checkpoints.clear();
  }

  async #viewOf(rows: QueryRows): Promise<QueryView> {
    const { plans, clock, detectionMs = 3_500 } = this.#options;
    const { query, fragments, cleanups, predecessor, leaving } = rows;
    const workers = this.#workersOf(query.query_id, rows);
    const isReachable = fragments.every(
      ({ worker_id, state }) =>
        hasEnded(state) || (this.#view.isUp(worker_id) && !leaving.includes(worker_id)),
    );
    const isEnding =
      query.state === "STOPPING" || (query.state === "RUNNING" && this.#isEnding(rows));
    const isDeploying = query.state === "DEPLOYING";
    const { replaceAfterMs } = isReachable ? {} : (await plans.plan(query.query_id)).settings;
    return {
      query,
      fragments,
      cleanups,
      predecessor,
      leaving: new Set(leaving),
      mayMove: true,
      endingMs: this.#desk.endingMs(query.query_id, query.epoch, clock.nowMs()),
      checkpoint: await this.#checkpointOf(rows),
      workers: new Map(workers.map((worker) => [worker.workerId, worker])),
      sourceFragments: isEnding ? await plans.sourceFragments(query.query_id) : new Set(),
      replaceAfterMs,
      reachableMs: isDeploying
        ? await this.#reachable.count(query.query_id, query.epoch, isReachable)
        : 0,
      nowMs: rows.nowMs,
      isJudged: this.#leader !== undefined && clock.nowMs() - this.#leader.sinceMs >= detectionMs,
    };
  }

  /** Whether sources of the running query have to read no more, or have been told so (SD31). */
  #isEnding({ fragments, leaving }: QueryRows): boolean {
    return leaving.length > 0 || fragments.some((row) => this.#hasReport(row, "STOPPED"));
  }

  /** A query that is being recovered in its epoch keeps its driver, and begins no checkpoint. */
  async #checkpointOf(rows: QueryRows): Promise<CheckpointView | undefined> {
    const { state, stop_mode, previous_state, query_id } = rows.query;
    // A preview has no checkpoints: it is never deployed again, and nothing is kept of it.
    if (rows.query.is_preview === 1) return { isFinal: true, fault: undefined };
    const isEnding = state === "STOPPING" && stop_mode !== "HARD" && previous_state === "RUNNING";
    if (state === "RUNNING" || isEnding) {
      return await this.#checkpoints.drive(
        rows,
        rows.fragments.every((row) => this.#isOver(row)),
      );
    }
    if (state !== "DEPLOYING") this.#checkpoints.forget(query_id);
    return undefined;
  }

  /** Whether its worker says that the fragment has ended, and still has its last state. */
  #isOver(row: FragmentRow): boolean {
    return this.#hasReport(row, "STOPPED", "TERMINATED");
  }

  #hasReport(
    { query_id, worker_id, fragment, epoch }: FragmentRow,
    ...states: readonly FragmentReport["state"][]
  ): boolean {
    return this.#view
      .reports(worker_id, query_id)
      .some(
        (report) =>
          report.fragment === fragment && report.epoch === epoch && states.includes(report.state),
      );
  }

  #workersOf(queryId: string, rows: QueryRows | undefined): readonly WorkerView[] {
    const nowMs = this.#options.clock.nowMs();
    const named = [
      ...(rows?.fragments.map(({ worker_id }) => worker_id) ?? []),
      ...(rows?.cleanups.map(({ workerId }) => workerId) ?? []),
      ...this.#view.workersWith(queryId),
    ];
    const epoch = rows?.query.epoch ?? 0;
    return [...new Set(named)].map((workerId) => {
      const isUp = this.#view.isUp(workerId);
      const sinceMs = this.#view.sinceMs(workerId) ?? this.#leader?.sinceMs ?? nowMs;
      return {
        workerId,
        isUp,
        unreachableMs: isUp ? 0 : nowMs - sinceMs,
        reports: this.#view.reports(workerId, queryId),
        isBusy: this.#desk.isBusy(workerId, queryId, nowMs),
        refusal: this.#desk.refusal(workerId, queryId, epoch, nowMs),
        isDraining: this.#desk.isDraining(workerId, queryId, epoch),
      };
    });
  }

  async #commandAll(
    rows: QueryRows,
    commands: readonly QueryCommand[],
    signal: AbortSignal,
  ): Promise<void> {
    const { query_id: queryId } = rows.query;
    const registered = commands.filter(({ kind }) => kind === "register");
    const restored =
      registered.length === 0 ? undefined : await this.#checkpoints.restored(queryId);
    const given = new Map<string, Given>();
    for (const { workerId } of registered) {
      const fragments = await this.#options.plans.specs(rows, workerId);
      const names = new Set(fragments.map(({ fragment }) => fragment));
      const restore = restored?.filter(({ fragment }) => names.has(fragment));
      given.set(workerId, { fragments, restore });
    }
    if (!signal.aborted) this.#command(queryId, commands, given);
  }

  #command(
    query: string,
    commands: readonly QueryCommand[],
    given: ReadonlyMap<string, Given> = new Map(),
  ): void {
    const { fleet, clock, logger } = this.#options;
    for (const command of commands) {
      const { workerId, kind, epoch } = command;
      const number = this.#desk.send(query, command, clock.nowMs());
      const frame = frameOf(command, number, query, given.get(workerId));
      const isSent = fleet.send(workerId, frame);
      logger.debug({ query_id: query, worker_id: workerId, epoch, is_sent: isSent }, kind);
    }
  }

  #again(
    { query, isJudged }: QueryView,
    { waitMs }: QueryDecision,
    nowMs: number,
  ): { requeueAfterMs: number } | undefined {
    const waits = [waitMs];
    if (query.state === "DEPLOYING") waits.push(deployingLookMs);
    const { detectionMs = 3_500 } = this.#options;
    if (!isJudged) waits.push(detectionMs - (nowMs - (this.#leader?.sinceMs ?? nowMs)));
    const given = waits.filter((wait) => wait !== undefined);
    return given.length === 0 ? undefined : { requeueAfterMs: Math.max(10, Math.min(...given)) };
  }

  #forget(queryId: string): void {
    this.#desk.forgetQuery(queryId);
    this.#reachable.forget(queryId);
  }
}

/** What a `register` brings. */
interface Given {
  readonly fragments: readonly FragmentSpec[];
  readonly restore: readonly ManifestFragment[] | undefined;
}

function frameOf(
  { kind, epoch }: QueryCommand,
  command: number,
  query: string,
  given: Given | undefined,
): StreamCommand {
  const about = { query, epoch, command };
  switch (kind) {
    case "register":
      return { ...about, kind, fragments: given?.fragments ?? [], restore: given?.restore };
    case "stopSoft":
      return { ...about, kind: "stop", mode: "soft" };
    case "suspend":
      return { ...about, kind: "stop", mode: "suspend" };
    default:
      return { ...about, kind };
  }
}

function hasNoPlace({ code }: OperatingError): boolean {
  return code === "PlacementError" || code === "InsufficientCapacity";
}
