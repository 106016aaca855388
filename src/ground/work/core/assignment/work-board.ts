/**
 * All work of one controller process, and its view of the workers. Events in, effects out, in the
 * order in which they must happen. It has no clock, does no I/O, and is deterministic. Nothing
 * survives the process: work belongs to the session that assigned it.
 *
 * Rules: WC11 to WC21 and WC35. Every item that is assigned, running or ready is on a worker that
 * is up; while work is queued and not held back, no worker is eligible. The board does not fetch,
 * wait, retry after a time, or remember a query that has ended.
 */
import type { Admission } from "../../../cluster/core/index.ts";
import { assert, detailsOf, unreachable } from "../../../kernel/errors.ts";
import type { Incarnation, QueryId, WorkerId } from "../../../kernel/ids.ts";
import type {
  BoardCounts,
  BoardEffect,
  BoardEvent,
  BoardLimits,
  BoardSnapshot,
  WorkerOnBoard,
  WorkOnBoard,
} from "./board-messages.ts";
import { Fifo, type FifoNode } from "./fifo.ts";
import { keyOf, type WorkReport, type WorkSpec, workKeyText } from "./messages.ts";
import { hashText, type TextHash } from "./rendezvous.ts";
import {
  defaultWorkLimits,
  isHeldBack,
  isLive,
  type Loss,
  newWork,
  stepWork,
  type Work,
  type WorkEvent,
  type WorkState,
} from "./work.ts";
import { type ViewedWorker, WorkerView } from "./worker-view.ts";

export const defaultBoardLimits: BoardLimits = {
  ...defaultWorkLimits,
  worksMax: 100_000,
  queriesMax: 1_000,
  worksPerWorkerMax: 64,
};

interface Query {
  readonly queryId: QueryId;
  readonly entries: Entry[];
  uncommitted: number;
}

interface Entry {
  readonly keyText: string;
  readonly affinity: TextHash;
  readonly query: Query;
  work: Work;
  /** The item's place in a queue while it is queued and not held back. */
  place: FifoNode<Entry> | undefined;
}

export class WorkBoard {
  readonly #limits: BoardLimits;
  readonly #workers: WorkerView<Entry>;
  readonly #queries = new Map<QueryId, Query>();
  /** Items of live queries, by `workKeyText`. */
  readonly #entries = new Map<string, Entry>();
  /** Live items with an unforgiven loss on each worker, to find them when it returns. */
  readonly #lossesByWorker = new Map<WorkerId, Set<Entry>>();
  readonly #retries = new Fifo<Entry>();
  readonly #fresh = new Fifo<Entry>();
  readonly #counts: Record<WorkState, number> = {
    queued: 0,
    assigned: 0,
    running: 0,
    ready: 0,
    committed: 0,
    failed: 0,
    cancelled: 0,
  };
  #effects: BoardEffect[] = [];

  constructor(limits: Partial<BoardLimits> = {}) {
    this.#limits = { ...defaultBoardLimits, ...limits };
    this.#workers = new WorkerView(this.#limits.worksPerWorkerMax);
  }

  step(event: BoardEvent): readonly BoardEffect[] {
    this.#effects = [];
    this.#handle(event);
    this.#assignQueued(); // WC13
    return this.#effects;
  }

  counts(): BoardCounts {
    const { queued, assigned, running, ready } = this.#counts;
    return { queued, assigned, running, ready, queries: this.#queries.size };
  }

  /** The workers that are up. */
  view(): readonly WorkerOnBoard[] {
    return this.#workers.show();
  }

  /** Everything, for tests and the simulator's checkers. */
  snapshot(): BoardSnapshot {
    let suspectCount = 0;
    for (const suspects of this.#lossesByWorker.values()) suspectCount += suspects.size;
    return {
      suspectCount,
      workers: this.view(),
      works: Array.from(this.#entries.values(), ({ work }) => showWork(work, this.#limits)),
      queries: [...this.#queries.keys()],
    };
  }

  #handle(event: BoardEvent): void {
    switch (event.kind) {
      case "workerUp":
        this.#workerUp(event.workerId, event.incarnation, event.admission);
        break;
      case "workerAdmission":
        this.#workerAdmission(event.workerId, event.admission);
        break;
      case "workerDown":
        this.#workerDown(event.workerId, false);
        break;
      case "submit":
        this.#submit(event.queryId, event.works);
        break;
      case "report":
        this.#report(event.workerId, event.report);
        break;
      case "fetched":
      case "fetchFailed": {
        const entry = this.#entries.get(workKeyText(event.key));
        if (entry !== undefined) this.#step(entry, event);
        break;
      }
      case "cancel": {
        const query = this.#queries.get(event.queryId);
        if (query === undefined) return;
        const { queryId, code, message } = event;
        this.#endQuery(query, { kind: "queryCancelled", queryId, code, message });
        break;
      }
      case "resync":
        this.#workers.forgetRejections();
        break;
      default:
        unreachable(event);
    }
  }

  #workerUp(workerId: WorkerId, incarnation: Incarnation, admission: Admission): void {
    const replaced = this.#workers.get(workerId);
    // A new session before the end of the old one: what the old one held is lost all the same.
    if (replaced !== undefined) this.#workerDown(workerId, replaced.incarnation === incarnation);
    this.#workers.add(workerId, incarnation, admission);
    const suspects = this.#lossesByWorker.get(workerId);
    if (suspects === undefined) return;
    // Another incarnation in its place proves that the earlier one died.
    this.#lossesByWorker.delete(workerId);
    for (const entry of suspects)
      this.#step(entry, { kind: "workerReturned", workerId, incarnation });
  }

  #workerAdmission(workerId: WorkerId, admission: Admission): void {
    const worker = this.#workers.get(workerId);
    if (worker === undefined) return;
    this.#workers.admit(worker, admission);
    if (!admission.draining) return;
    for (const entry of [...worker.holds]) this.#step(entry, { kind: "workerDraining", workerId });
  }

  #workerDown(workerId: WorkerId, survived: boolean): void {
    const worker = this.#workers.get(workerId);
    if (worker === undefined) return;
    const { incarnation } = worker;
    this.#workers.remove(worker);
    const failed: Entry[] = [];
    for (const entry of worker.holds) {
      this.#advance(entry, { kind: "workerLost", workerId, incarnation, survived });
      if (entry.work.state === "failed") failed.push(entry);
      else if (isLive(entry.work) && entry.work.history.losses.length > 0) this.#indexLoss(entry);
    }
    // Only now: siblings may have been on this worker too, and must not be cancelled there (WC12).
    for (const entry of failed) this.#settle(entry);
  }

  #submit(queryId: QueryId, works: readonly WorkSpec[]): void {
    assert(!this.#queries.has(queryId), `query ${queryId} is submitted once`);
    const { queriesMax, worksMax } = this.#limits;
    if (this.#queries.size >= queriesMax || this.#entries.size + works.length > worksMax) {
      const message = `${this.#queries.size} queries with ${this.#entries.size} work items are under way, and ${works.length} more do not fit`;
      this.#effects.push({ kind: "queryFailed", queryId, code: "overloaded", message });
      return;
    }
    const query: Query = { queryId, entries: [], uncommitted: works.length };
    this.#queries.set(queryId, query);
    for (const spec of works) this.#enter(query, spec);
    if (works.length === 0) this.#endQuery(query, { kind: "queryDone", queryId });
  }

  #enter(query: Query, spec: WorkSpec): void {
    assert(spec.queryId === query.queryId, `work of query ${spec.queryId} is submitted with it`);
    const keyText = workKeyText(spec);
    assert(!this.#entries.has(keyText), `work ${keyText} is submitted once`);
    const affinity = hashText(spec.affinityKey);
    const entry: Entry = { keyText, affinity, query, work: newWork(spec), place: undefined };
    entry.place = this.#fresh.push(entry);
    this.#counts.queued += 1;
    this.#entries.set(keyText, entry);
    query.entries.push(entry);
  }

  #report(workerId: WorkerId, report: WorkReport): void {
    const worker = this.#workers.get(workerId);
    // Its session is over, and so is all it held.
    if (worker === undefined) return;
    if (report.kind === "workRejected") {
      // Counts whatever the attempt, because admission frames arrive in order with this report.
      this.#workers.reject(worker);
    }
    const entry = this.#entries.get(workKeyText(report.key));
    if (entry !== undefined) {
      this.#step(entry, { ...report, workerId });
    } else if (report.kind === "workReady") {
      // The query has ended: the worker may delete the artifact.
      const { attempt } = report;
      const command = { kind: "ackArtifact", key: keyOf(report.key), attempt } as const;
      this.#effects.push({ kind: "send", workerId, command });
    }
  }

  #step(entry: Entry, event: WorkEvent): void {
    const before = entry.work;
    this.#advance(entry, event);
    if (entry.work !== before) this.#settle(entry);
  }

  /** Moves one item, and updates every index. */
  #advance(entry: Entry, event: WorkEvent): void {
    const before = entry.work;
    const [after, effects] = stepWork(before, event, this.#limits);
    for (const effect of effects) this.#effects.push(effect);
    if (after === before) return;
    entry.work = after;
    if (after.state === before.state) {
      // A loss was forgiven: the item keeps its place, or gets one if it was held back.
      if (after.state === "queued" && entry.place === undefined) this.#arrive(entry, after);
      return;
    }
    this.#counts[before.state] -= 1;
    this.#counts[after.state] += 1;
    // Still on the same worker.
    if (before.state === "assigned" && after.state === "running") return;
    this.#leave(entry, before);
    this.#arrive(entry, after);
    if (isLive(before) && !isLive(after)) this.#forgetLosses(entry, before.history.losses);
  }

  #leave(entry: Entry, before: Work): void {
    if (before.state === "queued") {
      entry.place?.home?.remove(entry.place);
      entry.place = undefined;
      return;
    }
    const worker = this.#holderOf(before);
    if (worker !== undefined) this.#workers.release(worker, entry, loadOf(before));
  }

  #arrive(entry: Entry, after: Work): void {
    if (after.state === "queued") {
      if (!isHeldBack(after, this.#limits)) entry.place = this.#retries.push(entry);
      return;
    }
    const worker = this.#holderOf(after);
    if (worker !== undefined) this.#workers.hold(worker, entry, loadOf(after));
  }

  /** Undefined when no worker that is up holds it. */
  #holderOf(work: Work): ViewedWorker<Entry> | undefined {
    const isHeld = work.state === "assigned" || work.state === "running" || work.state === "ready";
    return isHeld ? this.#workers.get(work.workerId) : undefined;
  }

  /** Applies the item's new state to its query. */
  #settle(entry: Entry): void {
    const { query, work } = entry;
    const { queryId } = query;
    if (this.#queries.get(queryId) !== query) return; // It has ended already.
    if (work.state === "committed") {
      query.uncommitted -= 1;
      if (query.uncommitted === 0) this.#endQuery(query, { kind: "queryDone", queryId });
    } else if (work.state === "failed") {
      const { code, message } = work;
      this.#endQuery(query, { kind: "queryFailed", queryId, code, message, ...detailsOf(work) });
    }
  }

  #endQuery(query: Query, verdict: BoardEffect): void {
    this.#queries.delete(query.queryId); // First, so that cancelled siblings do not end it again.
    for (const entry of query.entries) {
      if (isLive(entry.work)) this.#advance(entry, { kind: "cancel" });
      this.#counts[entry.work.state] -= 1;
      this.#entries.delete(entry.keyText);
    }
    this.#effects.push(verdict);
  }

  #indexLoss(entry: Entry): void {
    if (!isLive(entry.work)) return;
    for (const { workerId } of entry.work.history.losses) {
      // It came back as another incarnation, and is never forgiven.
      if (this.#workers.get(workerId) !== undefined) continue;
      const suspects = this.#lossesByWorker.get(workerId);
      if (suspects === undefined) this.#lossesByWorker.set(workerId, new Set([entry]));
      else suspects.add(entry);
    }
  }

  #forgetLosses(entry: Entry, losses: readonly Loss[]): void {
    for (const { workerId } of losses) {
      const suspects = this.#lossesByWorker.get(workerId);
      suspects?.delete(entry);
      if (suspects?.size === 0) this.#lossesByWorker.delete(workerId);
    }
  }

  #assignQueued(): void {
    while (this.#workers.eligibleCount > 0) {
      const entry = this.#retries.peek() ?? this.#fresh.peek(); // WC13
      if (entry === undefined) return;
      const { work } = entry;
      assert(work.state === "queued", "what is in a queue is queued");
      const { workerId, affinityHit } = this.#workers.choose(
        entry.affinity,
        work.history.avoid,
        work.spec.preferred,
      ); // WC9, WC14, WC35
      this.#advance(entry, { kind: "assign", workerId });
      const attempt = work.history.attempt + 1;
      const key = keyOf(work.spec);
      this.#effects.push({ kind: "assigned", key, attempt, workerId, affinityHit });
    }
  }
}

/** An executed item needs no slot, only a fetch. */
function loadOf(work: Work): 0 | 1 {
  return work.state === "ready" ? 0 : 1;
}

function showWork(work: Work, limits: BoardLimits): WorkOnBoard {
  const { state } = work;
  return {
    key: keyOf(work.spec),
    state,
    heldBack: state === "queued" && isHeldBack(work, limits),
    attempt: isLive(work) ? work.history.attempt : state === "committed" ? work.attempt : 0,
    workerId: "workerId" in work ? work.workerId : undefined,
  };
}
