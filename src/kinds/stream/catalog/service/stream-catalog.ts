/**
 * The requests of the catalog: statements are planned, then applied in one transaction, and planned
 * anew where what they were planned from has changed. What a transaction wrote wakes the
 * reconcilers, which deploy and stop; no request waits for that.
 */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { scanTokens } from "../../../../data/sql/core/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  awaitState,
  type LeaseGrant,
  type Store,
  type Tx,
} from "../../../../ground/store/index.ts";
import type {
  CatalogBody,
  CatalogObject,
  ChangeAnswer,
  CheckpointBody,
  QueryBody,
  QueryDetailBody,
} from "../core/bodies.ts";
import type { CatalogChange, CatalogQuestion, ShowFilter } from "../core/changes.ts";
import type { CatalogSnapshot, Planned, PlannerInput, StreamPlanner } from "../core/planner.ts";
import { applyChanges, type RepeatKey, readRepeated } from "../store/apply-changes.ts";
import type { DialledWorker } from "../store/applying.ts";
import { readCheckpoints, readSavepoint } from "../store/checkpoint-rows.ts";
import { addressOf } from "../store/create-worker.ts";
import { readHeldSlots } from "../store/read-held-slots.ts";
import { readObjects, readQueryById, readQueryDetail } from "../store/read-rows.ts";
import { systemBodies } from "../store/system-bodies.ts";
import type { DialWorker } from "./dial-worker.ts";
import { drainWorker, type UndoDrain } from "./drain-worker.ts";

export interface StreamCatalogDeps {
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly planner: StreamPlanner;
  readonly readSnapshot: (tx: Tx) => Promise<CatalogSnapshot>;
  readonly dialWorker: DialWorker;
  readonly clock: Clock;
  /** Requests that are waited for at one time (SC14). */
  readonly requestsMax?: number;
}

export interface CatalogRequest {
  /** All of one bundle: they are done as a whole or not at all (SC10). */
  readonly statements: readonly PlannerInput[];
  /** SC13 */
  readonly requestId?: string | undefined;
  /** Throws when the statements make a request that the caller does not accept. */
  readonly check?: (planned: readonly Planned[]) => void;
  /** For how long savepoints that it asks for are waited for. */
  readonly savepointWaitMsMax?: number;
}

export interface CatalogReading {
  readonly revision: number;
  /** By the database's clock, as all times of the rows (SC90). */
  readonly nowMs: number;
  readonly rows: ReadonlyMap<CatalogObject, readonly CatalogBody[]>;
}

/** The answer of one statement. */
export type StatementAnswer =
  | ChangeAnswer
  | { readonly kind: "explained"; readonly text: string; readonly format: "text" | "json" }
  | {
      readonly kind: "shown";
      readonly object: CatalogObject;
      readonly rows: readonly CatalogBody[];
      readonly format: "text" | "json";
      readonly asStatement: boolean;
    }
  | {
      readonly kind: "checkpoints";
      readonly rows: readonly CheckpointBody[];
      readonly format: "text" | "json";
    }
  /** SHOW QUERY name. */
  | { readonly kind: "query"; readonly query: QueryDetailBody; readonly format: "text" | "json" };

const requestsMaxDefault = 64;
const savepointWaitMsMaxDefault = 30_000;
const triesMax = 5;

export class StreamCatalog {
  readonly #deps: StreamCatalogDeps;
  #requests = 0;

  constructor(deps: StreamCatalogDeps) {
    this.#deps = deps;
  }

  /**
   * One answer for each statement. Throws `not_leader` for a change without the lease, and
   * `TooManyRequests`.
   */
  async execute(request: CatalogRequest, signal: AbortSignal): Promise<readonly StatementAnswer[]> {
    const answers = await this.#executeCounted(request, signal);
    const waitMsMax = request.savepointWaitMsMax ?? savepointWaitMsMaxDefault;
    return await this.#awaitSavepoints(answers, waitMsMax, signal);
  }

  async read(object: CatalogObject, filter: ShowFilter): Promise<readonly CatalogBody[]> {
    return await this.#deps.store.read((tx) => readObjects(tx, object, filter));
  }

  /** Everything that is asked for, as of one moment, with the catalog's revision (SC43). */
  async readTogether(objects: readonly CatalogObject[]): Promise<CatalogReading> {
    return await this.#deps.store.read(async (tx) => {
      const rows = new Map<CatalogObject, readonly CatalogBody[]>();
      for (const object of objects) rows.set(object, await readObjects(tx, object, {}));
      const { revision, now_ms: nowMs } = await tx.db
        .selectFrom("catalog_revision")
        .select(["revision", sql<number>`now_ms()`.as("now_ms")])
        .executeTakeFirstOrThrow();
      return { revision, nowMs, rows };
    });
  }

  /** Throws `DoesNotExist`. */
  async checkpoints(name: string | undefined): Promise<readonly CheckpointBody[]> {
    return await this.#deps.store.read((tx) => readCheckpoints(tx, name));
  }

  /** Throws `DoesNotExist`. */
  async query(name: string): Promise<QueryDetailBody> {
    return await this.#deps.store.read((tx) => readQueryDetail(tx, name));
  }

  /**
   * The query once it is in the state, has ended, or the time is over: the caller sees where it got
   * to. Without a state it is the query as it is. `undefined` when it is gone.
   */
  async waitFor(
    queryId: string,
    state: QueryBody["state"] | undefined,
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<QueryBody | undefined> {
    let last: QueryBody | undefined;
    const look = async (tx: Tx) => {
      last = await readQueryById(tx, queryId);
      if (last === undefined || state === undefined) return undefined;
      return last.state === state || hasEnded.has(last.state) ? undefined : notYet(state);
    };
    await awaitState(this.#deps, { waitMsMax, signal, look }).catch((thrown: unknown) => {
      const isLate = thrown instanceof OperatingError && thrown.code === "deadline_exceeded";
      if (!isLate) throw thrown;
    });
    return last;
  }

  async #executeCounted(
    request: CatalogRequest,
    signal: AbortSignal,
  ): Promise<readonly StatementAnswer[]> {
    const { requestsMax = requestsMaxDefault } = this.#deps;
    if (this.#requests >= requestsMax) {
      const message = `${requestsMax} requests of the catalog are under way`;
      throw new OperatingError("TooManyRequests", "backoff", message, { hint: "Try again." });
    }
    this.#requests += 1;
    try {
      return await this.#execute(request, signal);
    } finally {
      this.#requests -= 1;
    }
  }

  /** With the numbers of the savepoints that are taken in time. */
  async #awaitSavepoints(
    answers: readonly StatementAnswer[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<readonly StatementAnswer[]> {
    const all: StatementAnswer[] = [];
    for (const answer of answers) {
      const isOpen = answer.kind === "savepoint" && answer.checkpoint === null;
      const checkpoint = isOpen ? await this.#savepoint(answer, waitMsMax, signal) : null;
      all.push(isOpen ? { ...answer, checkpoint } : answer);
    }
    return all;
  }

  /** `null`: it is not taken yet, or will never be. */
  async #savepoint(
    { id, request }: Extract<ChangeAnswer, { readonly kind: "savepoint" }>,
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<number | null> {
    let found: number | null = null;
    const look = async (tx: Tx) => {
      const outcome = await readSavepoint(tx, id ?? "", request);
      found = outcome?.checkpoint ?? null;
      return outcome === undefined ? notYet("checkpointed") : undefined;
    };
    await awaitState(this.#deps, { waitMsMax, signal, look }).catch((thrown: unknown) => {
      const isLate = thrown instanceof OperatingError && thrown.code === "deadline_exceeded";
      if (!isLate) throw thrown;
    });
    return found;
  }

  async #execute(
    { statements, requestId, check }: CatalogRequest,
    signal: AbortSignal,
  ): Promise<readonly StatementAnswer[]> {
    const repeat = requestId === undefined ? undefined : repeatKeyOf(requestId, statements);
    const { store } = this.#deps;
    const repeated = repeat && (await store.read((tx) => readRepeated(tx, repeat)));
    if (repeated !== undefined) return repeated;
    if (!statements.every(isQuestion)) this.#requireLease();
    const dialled = new Map<string, DialledWorker>();
    for (let tries = 1; ; tries += 1) {
      const snapshot = await store.read((tx) => this.#snapshot(tx, statements));
      const planned = await this.#deps.planner.plan(statements, snapshot, signal);
      check?.(planned);
      const changes = planned.flatMap((each) => (each.kind === "change" ? [each.change] : []));
      if (changes.length === 0) return await this.#answerQuestions(planned, []);
      await this.#dialAll(changes, dialled);
      const undo = await this.#drainAll(changes, signal);
      const lease = this.#requireLease();
      const { version, topology } = snapshot;
      const asked = { changes, version, links: topology.links, dialled, repeat };
      const outcome = await applyChanges(store, lease, asked).catch(async (thrown: unknown) => {
        await undo();
        throw thrown;
      });
      if (outcome.kind === "applied") return await this.#answerQuestions(planned, outcome.answers);
      await undo();
      if (tries === triesMax) throw outcome.cause;
      if (signal.aborted)
        throw new OperatingError("cancelled", "never", "the request was given up");
    }
  }

  async #snapshot(tx: Tx, statements: readonly PlannerInput[]): Promise<CatalogSnapshot> {
    const snapshot = await this.#deps.readSnapshot(tx);
    return statements.some(mayReplace) ? { ...snapshot, held: await readHeldSlots(tx) } : snapshot;
  }

  /** All that is shown is of one moment, after the changes. */
  async #answerQuestions(
    planned: readonly Planned[],
    answers: readonly ChangeAnswer[],
  ): Promise<readonly StatementAnswer[]> {
    const left = [...answers];
    return await this.#deps.store.read(async (tx) => {
      const all: StatementAnswer[] = [];
      for (const each of planned) {
        const answer =
          each.kind === "change" ? left.shift() : await answerQuestion(tx, each.question);
        assert(answer !== undefined, "each change has its answer");
        all.push(answer);
      }
      return all;
    });
  }

  /** Each worker once, however often the request is planned, and before anything is stored. */
  async #dialAll(
    changes: readonly CatalogChange[],
    dialled: Map<string, DialledWorker>,
  ): Promise<void> {
    for (const change of changes) {
      if (change.kind !== "createWorker") continue;
      const address = addressOf(change);
      if (dialled.has(address)) continue;
      dialled.set(address, await this.#deps.dialWorker(change));
    }
  }

  async #drainAll(changes: readonly CatalogChange[], signal: AbortSignal): Promise<UndoDrain> {
    const undos: UndoDrain[] = [];
    const undoAll = async (): Promise<void> => {
      for (const undo of undos) await undo();
    };
    for (const change of changes) {
      if (change.kind !== "drop" || change.object !== "worker") continue;
      const lease = this.#requireLease();
      try {
        undos.push(await drainWorker(this.#deps, lease, change.name, signal));
      } catch (thrown) {
        await undoAll();
        throw thrown;
      }
    }
    return undoAll;
  }

  #requireLease(): LeaseGrant {
    const lease = this.#deps.lease();
    if (lease !== undefined) return lease;
    throw new OperatingError("not_leader", "backoff", "this process does not hold the lease");
  }
}

/** Whether the statement changed something; other statements only read. */
export function isChange(answer: StatementAnswer): answer is ChangeAnswer {
  return ["created", "dropped", "desired", "savepoint"].includes(answer.kind);
}

const hasEnded: ReadonlySet<QueryBody["state"]> = new Set(["FAILED", "TERMINATED", "STOPPED"]);

async function answerQuestion(tx: Tx, question: CatalogQuestion): Promise<StatementAnswer> {
  if (question.kind === "explain") {
    return { kind: "explained", text: question.answer, format: question.format };
  }
  if (question.kind === "checkpoints") {
    const { query, format } = question;
    return { kind: "checkpoints", rows: await readCheckpoints(tx, query), format };
  }
  const { object, filter, format, asStatement, name } = question;
  if (object === "query" && name !== undefined && !asStatement) {
    return { kind: "query", query: await readQueryDetail(tx, name), format };
  }
  const rows = await readShown(tx, object, filter);
  return { kind: "shown", object, rows, format, asStatement };
}

/** What the catalog has, and what is there without a row (SC70). */
async function readShown(
  tx: Tx,
  object: CatalogObject,
  filter: ShowFilter,
): Promise<readonly CatalogBody[]> {
  if (object !== "logical source") return await readObjects(tx, object, filter);
  const { byName } = filter;
  const system = systemBodies(byName);
  if (byName !== undefined && system.length > 0) return system;
  return [...(await readObjects(tx, object, filter)), ...system];
}

/** Whether it can only be a question: those are answered without the lease. */
function isQuestion(statement: PlannerInput): boolean {
  if (typeof statement !== "string") {
    return ["show", "showCheckpoints", "explain"].includes(statement.kind);
  }
  const [first] = scanTokens(statement).tokens;
  return ["SHOW", "EXPLAIN"].includes(first?.text.toUpperCase() ?? "");
}

/** Whether a query may take the place of another one, whose slots it then gets. */
function mayReplace(statement: PlannerInput): boolean {
  return typeof statement !== "string" || /\b(REPLACE|DROP)\b/i.test(statement);
}

function repeatKeyOf(requestId: string, statements: readonly PlannerInput[]): RepeatKey {
  const fingerprint = createHash("sha256").update(JSON.stringify(statements)).digest("hex");
  return { requestId, fingerprint };
}

function notYet(state: string): OperatingError {
  return new OperatingError("deadline_exceeded", "backoff", `the query is not ${state} yet`);
}
