/**
 * What one worker measures, by operation, phase and step. The hot path of a load test ends in
 * `record`.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import { Histogram, mergeHistograms } from "./histogram.ts";
import type { QueryKind } from "./operation.ts";
import type { FailureKind } from "./target.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

export type MeasuredPhase = SeriesSnapshot["phase"];

export interface PendingArrival {
  readonly token: number;
  readonly operation: number;
  readonly waitedUs: number;
  readonly count: number;
}

/** An operation as it was recorded. */
export interface RecordedOnce {
  readonly phase: MeasuredPhase;
  readonly step: number;
  readonly operation: number;
  readonly responseUs: number;
  readonly serviceUs: number;
  readonly failure: FailureKind | undefined;
  readonly rowCount: number;
}

export class SeriesBook {
  readonly #operations: readonly { readonly name: string; readonly kind: QueryKind }[];
  readonly #pages: Page[] = [];
  #open: Page;
  /** The page that was open before `#openedMs`. */
  #before: Page;
  #openedMs = -Infinity;
  /** Announced phases, in order. */
  #cuts: { readonly atMs: number; readonly phase: MeasuredPhase }[] = [];
  #stopMs = Infinity;

  /** Begins in `phase`, step 0. */
  constructor(
    operations: readonly { readonly name: string; readonly kind: QueryKind }[],
    phase: MeasuredPhase,
  ) {
    this.#operations = operations;
    this.#open = this.#turnTo(phase, 0);
    this.#before = this.#open;
  }

  get phase(): MeasuredPhase {
    return this.#open.phase;
  }

  get step(): number {
    return this.#open.step;
  }

  /** Operations that begin from now on belong to this phase and step. */
  enter(phase: MeasuredPhase, step: number): void {
    this.#open = this.#turnTo(phase, step);
    this.#before = this.#open;
    this.#openedMs = -Infinity;
    this.#cuts = this.#cuts.filter((cut) => cut.phase !== phase);
  }

  /** When the open page was cut from the one before. Undefined when it was entered. */
  get openedMs(): number | undefined {
    return this.#openedMs === -Infinity ? undefined : this.#openedMs;
  }

  /** The token of operations that begin now. */
  get token(): number {
    return this.#open.index;
  }

  /**
   * Operations due at `atMs` or later belong to `phase`. `atMs` may be in the future or just past.
   */
  cut(phase: MeasuredPhase, atMs: number): void {
    if (this.#open.phase === phase || this.#cuts.some((cut) => cut.phase === phase)) return;
    this.#cuts.push({ atMs, phase });
    this.#cuts.sort((left, right) => left.atMs - right.atMs);
  }

  /**
   * Operations due at `atMs` or later belong to COOLDOWN, even with an earlier token (`settled`).
   */
  stopAt(atMs: number): void {
    this.#stopMs = Math.min(this.#stopMs, atMs);
    if (this.#open.phase === "COOLDOWN") return;
    this.#cuts = this.#cuts.filter((cut) => cut.atMs < atMs);
    this.cut("COOLDOWN", atMs);
  }

  /** The current token of an operation that was due at `dueMs` and got `token` then. */
  settled(token: number, dueMs: number): number {
    if (dueMs < this.#stopMs) return token;
    return this.#turnTo("COOLDOWN", this.pageOf(token).step).index;
  }

  /** Removes operations that turned out not to belong to their phase. */
  takeBack(operations: readonly RecordedOnce[]): void {
    const taken = new SeriesBook(this.#operations, "COOLDOWN");
    for (const { phase, step, operation, responseUs, serviceUs, failure, rowCount } of operations) {
      const { index } = taken.#turnTo(phase, step);
      taken.record(index, operation, responseUs, serviceUs, failure, rowCount);
    }
    for (const { phase, step, lines } of taken.#pages) {
      const page = this.#turnTo(phase, step);
      for (const [index, less] of lines.entries()) {
        const line = page.lines[index];
        if (line === undefined || less.response.count + less.failed.count === 0) continue;
        line.response = line.response.since(less.response);
        line.service = line.service.since(less.service);
        line.failed = line.failed.since(less.failed);
        line.rows -= less.rows;
        line.encoded = undefined;
        for (const [kind, count] of less.errors) {
          const rest = (line.errors.get(kind) ?? 0) - count;
          if (rest > 0) line.errors.set(kind, rest);
          else line.errors.delete(kind);
        }
      }
    }
  }

  /**
   * The token of an operation due at `ms`, kept until the operation ends: it names phase and step.
   */
  tokenAt(ms: number): number {
    const [next] = this.#cuts;
    if (next !== undefined && ms >= next.atMs) this.#turn(ms);
    return ms < this.#openedMs ? this.#before.index : this.#open.index;
  }

  pageOf(token: number): { readonly phase: MeasuredPhase; readonly step: number } {
    const page = this.#pages[token];
    assert(page !== undefined, "a token is of a page");
    return page;
  }

  record(
    token: number,
    operation: number,
    responseUs: number,
    serviceUs: number,
    failure: FailureKind | undefined,
    rowCount: number,
  ): void {
    const line = this.#pages[token]?.lines[operation];
    assert(line !== undefined, "an operation belongs to a page and has a line on it");
    line.rows += rowCount;
    line.encoded = undefined;
    if (failure === undefined) {
      line.response.record(responseUs);
      line.service.record(serviceUs);
    } else {
      line.failed.record(responseUs);
      line.errors.set(failure, (line.errors.get(failure) ?? 0) + 1);
    }
  }

  /** Response times of successes, of all operations of the open page. */
  openResponse(): Histogram {
    return mergeHistograms(this.#open.lines.map(({ response }) => response));
  }

  /** Counts arrivals that will not be served any more. */
  giveUp({ token, operation, waitedUs, count }: PendingArrival): void {
    const line = this.#pages[token]?.lines[operation];
    assert(line !== undefined, "an arrival belongs to a page and has a line on it");
    line.censored.recordMany(waitedUs, count);
    line.encoded = undefined;
  }

  /** Replaces the set of waiting arrivals. */
  setPending(pending: Iterable<PendingArrival>): void {
    for (const line of this.#pages.flatMap(({ lines }) => lines)) {
      if (line.pending.count === 0) continue;
      line.pending.clear();
      line.encoded = undefined;
    }
    for (const { token, operation, waitedUs, count } of pending) {
      const line = this.#pages[token]?.lines[operation];
      if (line === undefined) continue;
      line.pending.recordMany(waitedUs, count);
      line.encoded = undefined;
    }
  }

  /** Response times of successes, of all phases. */
  responses(): Histogram {
    return mergeHistograms(
      this.#pages.flatMap(({ lines }) => lines.map(({ response }) => response)),
    );
  }

  /** All series that were ever used; unchanged ones are cached. */
  snapshot(): readonly SeriesSnapshot[] {
    return this.#pages.flatMap(({ phase, step, lines }) =>
      lines.flatMap((line, index) => {
        const operation = this.#operations[index];
        const ops = line.response.count + line.failed.count;
        const unserved = line.censored.count + line.pending.count;
        // A series that was sent and then emptied is sent as empty, so that readers drop the old
        // one.
        if (operation === undefined || (ops + unserved === 0 && !line.isTold)) return [];
        line.isTold = true;
        line.encoded ??= {
          operation: operation.name,
          kind: operation.kind,
          phase,
          step,
          ops,
          rows: line.rows,
          errors: Object.fromEntries(line.errors),
          response: line.response.encode(),
          service: line.service.encode(),
          failed: line.failed.encode(),
          unserved,
          censored: mergeHistograms([line.censored, line.pending]).encode(),
        };
        return [line.encoded];
      }),
    );
  }

  #turn(ms: number): void {
    while (this.#cuts[0] !== undefined && ms >= this.#cuts[0].atMs) {
      const { atMs, phase } = this.#cuts[0];
      this.#cuts.shift();
      this.#before = this.#open;
      this.#open = this.#turnTo(phase, this.#open.step);
      this.#openedMs = atMs;
    }
  }

  #turnTo(phase: MeasuredPhase, step: number): Page {
    const found = this.#pages.find((page) => page.phase === phase && page.step === step);
    if (found !== undefined) return found;
    const page = {
      index: this.#pages.length,
      phase,
      step,
      lines: this.#operations.map(() => ({
        response: new Histogram(),
        service: new Histogram(),
        failed: new Histogram(),
        censored: new Histogram(),
        pending: new Histogram(),
        rows: 0,
        errors: new Map<FailureKind, number>(),
        isTold: false,
        encoded: undefined,
      })),
    };
    this.#pages.push(page);
    return page;
  }
}

interface Page {
  readonly index: number;
  readonly phase: MeasuredPhase;
  readonly step: number;
  readonly lines: readonly Line[];
}

interface Line {
  response: Histogram;
  service: Histogram;
  failed: Histogram;
  readonly censored: Histogram;
  readonly pending: Histogram;
  readonly errors: Map<FailureKind, number>;
  rows: number;
  isTold: boolean;
  encoded: SeriesSnapshot | undefined;
}
