/**
 * A small cluster around the real `WorkBoard` and `WorkLedger`s, for property tests: one
 * controller, several workers, ordered links, and every fault of a link or process. It checks the
 * safety rules after each step, and `heal` checks that everything ends.
 *
 * Links are as `cluster/core/link.ts` promises. A process that dies has handed its earlier frames
 * to the operating system, so they arrive; a link that is cut loses its frames.
 */
import type { Admission } from "../../../../cluster/core/index.ts";
import { assert } from "../../../../kernel/errors.ts";
import type { WorkerId } from "../../../../kernel/ids.ts";
import type { BoardEffect, BoardEvent, BoardLimits } from "../board-messages.ts";
import type { HeldId } from "../held-work.ts";
import {
  keyOf,
  type WorkCommand,
  type WorkKey,
  type WorkReport,
  type WorkSpec,
  workKeyText,
} from "../messages.ts";
import { WorkBoard } from "../work-board.ts";
import {
  type LedgerEffect,
  type LedgerEvent,
  type LedgerLimits,
  WorkLedger,
} from "../work-ledger.ts";
import { incarnation, queryId, sampleArtifact, sampleSpec, workerId } from "./samples.ts";

type FromWorker = WorkReport | { readonly kind: "admission"; readonly admission: Admission };

/** The controller's end of a session. */
interface Session {
  readonly name: string;
  readonly toWorker: WorkCommand[];
  readonly toBoard: FromWorker[];
  /** Nothing passes any more, but neither end has noticed. */
  cut: boolean;
  /** The admission that the board was last told. */
  admission: Admission;
}

interface Execution {
  readonly work: WorkSpec;
  aborted: boolean;
}

/** One run of a worker's process. */
interface Process {
  readonly run: number;
  readonly ledger: WorkLedger;
  readonly executions: Map<HeldId, Execution>;
  readonly artifacts: Set<HeldId>;
  readonly startedAttempts: Set<string>;
  /** The session that the process believes to have. */
  sessionName: string | undefined;
}

interface Node {
  readonly workerId: WorkerId;
  runs: number;
  /** Undefined when the process is dead. */
  process: Process | undefined;
  /** Undefined when the board knows that the worker is down. */
  session: Session | undefined;
  /** Reports that the board received from it, newest last, to be delivered again. */
  readonly past: WorkReport[];
}

interface Fetch {
  readonly key: WorkKey;
  readonly attempt: number;
  readonly node: Node;
  readonly run: number;
  readonly id: HeldId;
}

interface ModelQuery {
  readonly works: readonly WorkSpec[];
  readonly committed: Set<string>;
  verdict: string | undefined;
}

export class ModelCluster {
  readonly board: WorkBoard;
  readonly #boardLimits: BoardLimits;
  readonly #ledgerLimits: LedgerLimits;
  readonly #nodes: Node[];
  readonly #queries = new Map<string, ModelQuery>();
  readonly #fetches = new Map<string, Fetch>();
  /** How many workers each item has killed, by `workKeyText`. */
  readonly deaths = new Map<string, number>();
  /** Deaths, or what may lead to one, that the board cannot learn of: see WC33. */
  hidingCount = 0;
  committedCount = 0;
  #sessionCount = 0;

  constructor(workerCount: number, boardLimits: BoardLimits, ledgerLimits: LedgerLimits) {
    this.board = new WorkBoard(boardLimits);
    this.#boardLimits = boardLimits;
    this.#ledgerLimits = ledgerLimits;
    this.#nodes = Array.from({ length: workerCount }, (_, index) => ({
      workerId: workerId(`worker-${index}`),
      runs: 0,
      process: undefined,
      session: undefined,
      past: [],
    }));
  }

  get verdicts(): ReadonlyMap<string, string | undefined> {
    return new Map(Array.from(this.#queries, ([name, { verdict }]) => [name, verdict]));
  }

  // Operations. Each does nothing where it is not possible.

  submit(workCount: number, poisonous: boolean): void {
    const name = `q${this.#queries.size}`;
    const works = Array.from({ length: workCount }, (_, index) => ({
      ...sampleSpec(name, `w${index}`, `shard-${index}`),
      body: poisonous && index === 0 ? "poison" : "",
    }));
    this.#queries.set(name, { works, committed: new Set(), verdict: undefined });
    this.#tellBoard({ kind: "submit", queryId: queryId(name), works });
  }

  cancel(pick: number): void {
    const name = `q${pick % Math.max(1, this.#queries.size)}`;
    this.#tellBoard({ kind: "cancel", queryId: queryId(name), code: "cancelled", message: "" });
  }

  resync(): void {
    this.#tellBoard({ kind: "resync" });
  }

  start(pick: number): void {
    const node = this.#node(pick);
    if (node.process !== undefined) return;
    node.runs += 1;
    node.process = {
      run: node.runs,
      ledger: new WorkLedger(this.#ledgerLimits),
      executions: new Map(),
      artifacts: new Set(),
      startedAttempts: new Set(),
      sessionName: undefined,
    };
  }

  /** Opens a new session; the board may not have noticed the end of the old one. */
  connect(pick: number): void {
    const node = this.#node(pick);
    const { process, session } = node;
    if (process === undefined) return;
    if (session !== undefined && !session.cut && session.name === process.sessionName) return;
    if (session !== undefined && !session.cut) this.#flush(node);
    this.#loseSession(process);
    this.#sessionCount += 1;
    process.sessionName = `session-${this.#sessionCount}`;
    const admission = process.ledger.admission();
    const [toWorker, toBoard] = [[], []];
    node.session = { name: process.sessionName, toWorker, toBoard, cut: false, admission };
    const run = incarnation(`${node.workerId}-${process.run}`);
    this.#tellBoard({ kind: "workerUp", workerId: node.workerId, incarnation: run, admission });
  }

  /** The process dies for a reason other than its work. */
  crash(pick: number): void {
    const node = this.#node(pick);
    node.process = undefined;
  }

  cut(pick: number): void {
    const { session } = this.#node(pick);
    if (session === undefined || session.cut) return;
    session.cut = true;
    session.toWorker.length = 0;
    session.toBoard.length = 0;
  }

  /** The board learns that a session is over. */
  boardNotices(pick: number): void {
    const node = this.#node(pick);
    const { session, process } = node;
    if (session === undefined) return;
    if (!session.cut && process?.sessionName === session.name) return;
    if (!session.cut) this.#flush(node);
    node.session = undefined;
    this.#tellBoard({ kind: "workerDown", workerId: node.workerId });
  }

  /** The worker learns that its session is over. */
  workerNotices(pick: number): void {
    const { session, process } = this.#node(pick);
    if (process === undefined) return;
    if (session !== undefined && !session.cut && session.name === process.sessionName) return;
    this.#loseSession(process);
  }

  setDraining(pick: number, draining: boolean): void {
    const node = this.#node(pick);
    if (node.process?.ledger.admission().draining === true && !draining) this.hidingCount += 1;
    this.#tellLedger(node, { kind: "setDraining", draining });
  }

  deliverToWorker(pick: number): void {
    const node = this.#node(pick);
    const command = node.session?.toWorker.shift();
    if (command === undefined || node.session?.name !== node.process?.sessionName) return;
    this.#tellLedger(node, { ...command, session: node.session?.name ?? "" });
  }

  deliverToBoard(pick: number): void {
    const node = this.#node(pick);
    const frame = node.session?.toBoard.shift();
    if (node.session === undefined || frame === undefined) return;
    const { workerId: id } = node;
    if (frame.kind === "admission") {
      node.session.admission = frame.admission;
      this.#tellBoard({ kind: "workerAdmission", workerId: id, admission: frame.admission });
    } else {
      node.past.push(frame);
      this.#tellBoard({ kind: "report", workerId: id, report: frame });
    }
  }

  /** Delivers an old report again, of any session. */
  repeatReport(pick: number, which: number): void {
    const node = this.#node(pick);
    const report = node.past[node.past.length - 1 - (which % 12)];
    if (node.session === undefined || report === undefined) return;
    this.#tellBoard({ kind: "report", workerId: node.workerId, report });
  }

  /**
   * Ends an execution as `how` says, or with the death of the process when the work is poisonous.
   */
  endExecution(
    pick: number,
    which: number,
    how: "well" | "answered" | "retryable" | "badly",
  ): void {
    const node = this.#node(pick);
    const { process } = node;
    const ids = [...(process?.executions.keys() ?? [])];
    const id = ids[which % Math.max(1, ids.length)];
    const execution = id === undefined ? undefined : process?.executions.get(id);
    if (process === undefined || id === undefined || execution === undefined) return;
    if (execution.work.body === "poison") {
      const keyText = workKeyText(execution.work);
      this.deaths.set(keyText, (this.deaths.get(keyText) ?? 0) + 1);
      if (execution.aborted) this.hidingCount += 1;
      node.process = undefined;
      return;
    }
    process.executions.delete(id);
    if (how === "well") {
      process.artifacts.add(id);
      const url = `${process.run}/${id}`;
      const artifact = sampleArtifact(execution.work, url);
      this.#tellLedger(node, { kind: "executed", id, artifact });
    } else if (how === "answered") {
      this.#tellLedger(node, { kind: "answered", id, answer: new Uint8Array() });
    } else {
      const retryable = how === "retryable" || execution.aborted;
      this.#tellLedger(node, {
        kind: "executionFailed",
        id,
        code: "bad_sql",
        message: "",
        retryable,
      });
    }
  }

  dropArtifact(pick: number, which: number, kind: "expired" | "evicted"): void {
    const node = this.#node(pick);
    const ids = [...(node.process?.artifacts ?? [])];
    const id = ids[which % Math.max(1, ids.length)];
    if (id !== undefined) this.#tellLedger(node, { kind, id });
  }

  endFetch(which: number, well: boolean): void {
    const fetches = [...this.#fetches.values()];
    const fetch = fetches[which % Math.max(1, fetches.length)];
    if (fetch === undefined) return;
    this.#fetches.delete(workKeyText(fetch.key));
    const { process } = fetch.node;
    const isThere = process?.run === fetch.run && process.artifacts.has(fetch.id);
    const { key, attempt } = fetch;
    if (isThere && well) this.#tellBoard({ kind: "fetched", key, attempt });
    else this.#tellBoard({ kind: "fetchFailed", key, attempt, code: "artifact_lost", message: "" });
  }

  /** Ends all faults: everything must finish, and nothing may be left behind. */
  heal(): void {
    const roundsMax = 60;
    for (let round = 0; ; round += 1) {
      assert(round < roundsMax, `not healed after ${roundsMax} rounds`);
      this.#healRound();
      const isOver = [...this.#queries.values()].every(({ verdict }) => verdict !== undefined);
      if (isOver && this.#isQuiet()) break;
    }
    for (const { process } of this.#nodes) {
      const { queued, executing, aborting, ready, acked } = process?.ledger.counts() ?? never();
      assert(queued + executing + aborting + ready === 0, "a worker holds work that nobody owns");
      assert(acked === process?.artifacts.size, "every artifact is accounted for");
    }
    const { queued, assigned, running, ready, queries } = this.board.counts();
    assert(queued + assigned + running + ready + queries === 0, "the board is empty");
    assert(this.board.snapshot().suspectCount === 0, "no suspicion outlives its query");
    assert(this.#fetches.size === 0, "no fetch is left");
  }

  #healRound(): void {
    for (const [index, node] of this.#nodes.entries()) {
      if (node.process?.ledger.admission().draining === true) this.crash(index);
      this.start(index);
      this.boardNotices(index);
      this.connect(index);
      this.resync();
      while ((node.session?.toWorker.length ?? 0) > 0) this.deliverToWorker(index);
      const executionCount = node.process?.executions.size ?? 0;
      for (let nth = 0; nth < executionCount; nth += 1) this.endExecution(index, 0, "well");
      while ((node.session?.toBoard.length ?? 0) > 0) this.deliverToBoard(index);
    }
    while (this.#fetches.size > 0) this.endFetch(0, true);
  }

  #isQuiet(): boolean {
    return this.#nodes.every(({ process, session }) => {
      if (process === undefined || session === undefined || session.cut) return false;
      const pending = session.toBoard.length + session.toWorker.length + process.executions.size;
      return pending === 0 && session.name === process.sessionName;
    });
  }

  #node(pick: number): Node {
    return this.#nodes[pick % this.#nodes.length] ?? never();
  }

  /** Frames that a dead process sent arrive before its end is noticed. */
  #flush(node: Node): void {
    while ((node.session?.toBoard.length ?? 0) > 0) {
      this.deliverToBoard(this.#nodes.indexOf(node));
    }
  }

  #loseSession(process: Process): void {
    if (process.sessionName === undefined) return;
    const session = process.sessionName;
    process.sessionName = undefined;
    for (const effect of process.ledger.step({ kind: "sessionLost", session })) {
      assert(effect.kind !== "report", "nothing is reported to a session that is lost");
      this.#performOnWorker(process, undefined, effect);
    }
    for (const held of process.ledger.snapshot()) {
      const isOrphan = held.session === session && held.state !== "aborting";
      assert(!isOrphan, `${held.state} work outlived its session`);
    }
  }

  #tellLedger(node: Node, event: LedgerEvent): void {
    const { process, session } = node;
    if (process === undefined) return;
    for (const effect of process.ledger.step(event)) {
      this.#performOnWorker(process, session, effect);
    }
    const { queued, executing, aborting } = process.ledger.counts();
    assert(executing + aborting <= this.#ledgerLimits.slots, "no more executions than slots");
    assert(executing + aborting === process.executions.size, "every execution holds a slot");
    assert(queued <= this.#ledgerLimits.queueMax, "the worker's queue is bounded");
    assert(queued === 0 || executing + aborting === this.#ledgerLimits.slots, "no slot is idle");
  }

  #performOnWorker(process: Process, session: Session | undefined, effect: LedgerEffect): void {
    const isConnected = session?.name === process.sessionName && session?.cut === false;
    switch (effect.kind) {
      case "report":
        assert(effect.session === process.sessionName, "reports go to the owner's live session");
        if (isConnected) session.toBoard.push(effect.report);
        return;
      case "admissionChanged":
        if (isConnected) session.toBoard.push({ kind: "admission", admission: effect.admission });
        return;
      case "startExecution": {
        const attemptText = `${effect.session} ${workKeyText(effect.work)} ${effect.attempt}`;
        assert(!process.startedAttempts.has(attemptText), "an attempt is executed once");
        process.startedAttempts.add(attemptText);
        process.executions.set(effect.id, { work: effect.work, aborted: false });
        return;
      }
      case "abortExecution": {
        const execution = process.executions.get(effect.id);
        assert(execution?.aborted === false, "what runs is aborted, once");
        execution.aborted = true;
        return;
      }
      case "deleteArtifact":
        assert(process.artifacts.delete(effect.id), "an artifact is deleted once");
        return;
      case "keepArtifact":
        assert(process.artifacts.has(effect.id), "an artifact that is kept exists");
        return;
      case "drained":
        assert(process.executions.size === 0, "drained means that nothing runs");
        return;
    }
  }

  #tellBoard(event: BoardEvent): void {
    for (const effect of this.board.step(event)) this.#performOnBoard(effect);
    this.#checkBoard();
  }

  #performOnBoard(effect: BoardEffect): void {
    switch (effect.kind) {
      case "send": {
        const { session } = this.#nodeOf(effect.workerId);
        assert(session !== undefined, `${effect.command.kind} for a worker that is down`);
        if (effect.command.kind === "assignWork") {
          const { accepting, draining } = session.admission;
          assert(accepting && !draining, "work for a worker that is not in rotation");
          this.#liveQuery(effect.command.work);
        }
        if (!session.cut) session.toWorker.push(effect.command);
        return;
      }
      case "fetch": {
        const keyText = workKeyText(effect.key);
        assert(!this.#fetches.has(keyText), "one fetch for an item at a time");
        this.#liveQuery(effect.key);
        const [run, id] = effect.artifact.url.split("/").map(Number);
        const node = this.#nodeOf(effect.workerId);
        const { key, attempt } = effect;
        this.#fetches.set(keyText, { key, attempt, node, run: run ?? 0, id: id ?? 0 });
        return;
      }
      case "abortFetch": {
        const keyText = workKeyText(effect.key);
        assert(this.#fetches.get(keyText)?.attempt === effect.attempt, "that fetch is under way");
        this.#fetches.delete(keyText);
        return;
      }
      case "workCommitted": {
        const query = this.#liveQuery(effect.key);
        const keyText = workKeyText(effect.key);
        assert(!query.committed.has(keyText), `${keyText} was committed twice`);
        query.committed.add(keyText);
        this.committedCount += 1;
        return;
      }
      case "queryDone":
        this.#endQuery(effect.queryId, "done");
        return;
      case "queryFailed":
        this.#endQuery(effect.queryId, effect.code);
        return;
      case "queryCancelled":
        this.#endQuery(effect.queryId, "cancelled");
        return;
      case "assigned":
      case "accepted":
      case "reassigned":
        return;
    }
  }

  #nodeOf(id: WorkerId): Node {
    return this.#nodes.find((node) => node.workerId === id) ?? never();
  }

  #liveQuery(key: WorkKey): ModelQuery {
    const query = this.#queries.get(key.queryId);
    assert(query !== undefined && query.verdict === undefined, `query ${key.queryId} is live`);
    return query;
  }

  #endQuery(name: string, verdict: string): void {
    const query = this.#queries.get(name);
    assert(query !== undefined && query.verdict === undefined, `query ${name} ends once`);
    query.verdict = verdict;
    const isComplete = query.works.every((work) => query.committed.has(workKeyText(keyOf(work))));
    assert(verdict !== "done" || isComplete, `query ${name} is done with all its work`);
    for (const fetch of this.#fetches.values()) {
      assert(fetch.key.queryId !== name, "a query ends with its fetches");
    }
  }

  /** Checks that the board's snapshot is consistent. */
  #checkBoard(): void {
    const { workers, works } = this.board.snapshot();
    const counts = { queued: 0, assigned: 0, running: 0, ready: 0 };
    let heldBackCount = 0;
    const loads = new Map(workers.map((worker) => [worker.workerId, 0]));
    for (const { state, workerId: holder, heldBack } of works) {
      if (state === "committed" || state === "failed" || state === "cancelled") continue;
      counts[state] += 1;
      if (heldBack) heldBackCount += 1;
      if (holder === undefined) continue;
      const load = loads.get(holder);
      assert(load !== undefined, `${state} work is on a worker that is up`);
      if (state !== "ready") loads.set(holder, load + 1);
    }
    const { queued, assigned, running, ready } = this.board.counts();
    assert(queued === counts.queued && assigned === counts.assigned, "the counts are right");
    assert(running === counts.running && ready === counts.ready, "the counts are right");
    for (const { workerId: id, load, admission, rejecting } of workers) {
      assert(load === loads.get(id), "the loads are right");
      assert(load <= this.#boardLimits.worksPerWorkerMax, "a worker's load is bounded");
      const hasRoom = load < this.#boardLimits.worksPerWorkerMax;
      const isEligible = admission.accepting && !admission.draining && !rejecting && hasRoom;
      assert(queued === heldBackCount || !isEligible, "no work waits while a worker could take it");
    }
  }
}

function never(): never {
  throw new Error("the model is wrong");
}
