/**
 * One query from its submission until its caller has read the results.
 *
 *   working ──▶ reading ──▶ ended
 *      └────────────────────▲
 *
 * `results` settles once: with all results when the last work is committed, or with the error.
 * Until then, committed artifacts belong to the query and are deleted with it; afterwards they
 * belong to the caller. `signal` aborts when the query ends other than by a `finish` without an
 * error.
 */
import { assert, type OperatingError } from "../../kernel/errors.ts";
import type { QueryId, WorkerId } from "../../kernel/ids.ts";
import { type WorkKey, type WorkSpec, workKeyText } from "./assignment/index.ts";
import type { LocalArtifact, WorkResult } from "./ports.ts";
import type { QueryOutcome } from "./query-observer.ts";

/** Who completed a work item, in which attempt, and how long its artifact took to arrive. */
export interface Completion {
  readonly workerId: WorkerId;
  readonly attempt: number;
  readonly fetchMs: number;
}

export interface QueryRequest {
  readonly queryId: QueryId;
  readonly works: readonly WorkSpec[];
  /** How long from now until all results must be here. */
  readonly deadlineMs: number;
  /** The query's text, for people. */
  readonly text?: string;
  /** Whether it only runs code before real queries do: no list, total, metric or log has it. */
  readonly isRehearsal?: boolean;
  /** Called once for each artifact as it arrives. The artifact still belongs to the query. */
  readonly onCommitted?: (work: WorkSpec, artifact: LocalArtifact, by: Completion) => void;
}

/** What happened to a query, for people. */
export interface QueryRecord {
  readonly queryId: QueryId;
  readonly kind: string;
  readonly text: string;
  /** `queued`: no worker has accepted any of its work yet. */
  readonly state: "queued" | "running" | "done" | "failed" | "cancelled";
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The rows of the artifacts that are here. */
  readonly rowCount: number | undefined;
  /** The last worker that took part. */
  readonly workerId: WorkerId | undefined;
  /** The attempts of the work that needed the most. */
  readonly attempts: number;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

const textLengthMax = 1_000;

export class LiveQuery {
  readonly queryId: QueryId;
  readonly kind: string;
  readonly isRehearsal: boolean;
  readonly results: Promise<readonly WorkResult[]>;
  readonly startedMs: number;
  phase: "working" | "reading" | "ended" = "working";
  readonly #request: QueryRequest;
  readonly #startedAtMs: number;
  readonly #controller = new AbortController();
  readonly #works = new Map<string, { readonly spec: WorkSpec; readonly index: number }>();
  readonly #committed: (WorkResult | undefined)[];
  #committedCount = 0;
  #resolve: (results: readonly WorkResult[]) => void = () => undefined;
  #reject: (error: OperatingError) => void = () => undefined;
  #accepted: boolean = false;
  #workerId: WorkerId | undefined;
  #attempts = 0;
  #rowCount: number | undefined;

  constructor(request: QueryRequest, nowMs: number, wallMs: number) {
    this.#request = request;
    this.queryId = request.queryId;
    this.kind = request.works[0]?.kind ?? "empty";
    this.isRehearsal = request.isRehearsal === true;
    this.startedMs = nowMs;
    this.#startedAtMs = wallMs;
    this.#committed = request.works.map(() => undefined);
    for (const [index, spec] of request.works.entries()) {
      this.#works.set(workKeyText(spec), { spec, index });
    }
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // An unawaited error is no bug.
    this.results.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** `workKeyText` of each work. */
  keyTexts(): Iterable<string> {
    return this.#works.keys();
  }

  assigned(workerId: WorkerId, attempt: number): void {
    this.#workerId = workerId;
    this.#attempts = Math.max(this.#attempts, attempt);
  }

  accepted(): void {
    this.#accepted = true;
  }

  /** Returns whether it was the first commit of this work. */
  committed(key: WorkKey, by: Completion, result: WorkResult): boolean {
    const work = this.#works.get(workKeyText(key));
    assert(work !== undefined, "only work of the query is committed to it");
    assert(this.#committed[work.index] === undefined, "a work item is committed once");
    this.#committed[work.index] = result;
    this.#committedCount += 1;
    this.#workerId = by.workerId;
    if (!(result instanceof Uint8Array)) {
      this.#rowCount = (this.#rowCount ?? 0) + result.artifact.rowCount;
      this.#request.onCommitted?.(work.spec, result, by);
    }
    return this.#committedCount === 1;
  }

  /** Every work is committed: the results go to the caller. */
  done(): void {
    assert(this.phase === "working", "a query is done once");
    this.phase = "reading";
    const results = this.#committed.map((result) => {
      assert(result !== undefined, "a query is done when all its work is committed");
      return result;
    });
    this.#resolve(results);
  }

  /** Returns the artifacts that now have no owner. */
  end(error: OperatingError | undefined): readonly LocalArtifact[] {
    const wasWorking = this.phase === "working";
    this.phase = "ended";
    if (error !== undefined) {
      this.#reject(error);
      this.#controller.abort(error);
    }
    if (!wasWorking) return [];
    return this.#committed.flatMap((result) =>
      result === undefined || result instanceof Uint8Array ? [] : [result],
    );
  }

  record(nowMs: number, outcome?: QueryOutcome, error?: OperatingError): QueryRecord {
    const text = this.#request.text ?? "";
    return {
      queryId: this.queryId,
      kind: this.kind,
      text: text.length > textLengthMax ? `${text.slice(0, textLengthMax)}…` : text,
      state: outcome ?? (this.#accepted ? "running" : "queued"),
      startedAtMs: this.#startedAtMs,
      durationMs: Math.max(0, nowMs - this.startedMs),
      rowCount: this.#rowCount,
      workerId: this.#workerId,
      attempts: this.#attempts,
      error: error === undefined ? undefined : { code: error.code, message: error.message },
    };
  }
}
