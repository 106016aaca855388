/** What one worker measures, by operation, phase and step. The hot path of a load test ends in `record`. */
import { assert } from "../../kernel/errors.ts";
import { Histogram } from "./histogram.ts";
import type { QueryKind } from "./operation.ts";
import type { FailureKind } from "./target.ts";
import type { SeriesKey, SeriesSnapshot } from "./worker-snapshot.ts";

export type MeasuredPhase = SeriesKey["phase"];

export class SeriesBook {
  readonly #operations: readonly { readonly name: string; readonly kind: QueryKind }[];
  readonly #pages: Page[] = [];
  #open: Page;

  /** Begins in `phase`, step 0. */
  constructor(
    operations: readonly { readonly name: string; readonly kind: QueryKind }[],
    phase: MeasuredPhase,
  ) {
    this.#operations = operations;
    this.#open = this.#turnTo(phase, 0);
  }

  get phase(): MeasuredPhase {
    return this.#open.phase;
  }

  get step(): number {
    return this.#open.step;
  }

  /** From now on what begins belongs here. `token` of `record` says what an operation belonged to when it began. */
  enter(phase: MeasuredPhase, step: number): void {
    this.#open = this.#turnTo(phase, step);
  }

  /** To be kept with an operation from its beginning to its end. */
  get token(): number {
    return this.#open.index;
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
    line.response.record(responseUs);
    line.service.record(serviceUs);
    line.rows += rowCount;
    line.encoded = undefined;
    if (failure === undefined) return;
    line.errors.set(failure, (line.errors.get(failure) ?? 0) + 1);
  }

  /** Operations that ended, of all phases. */
  get ops(): number {
    return this.#pages.reduce(
      (sum, { lines }) => sum + lines.reduce((ops, { response }) => ops + response.count, 0),
      0,
    );
  }

  /** All that were ever used; those that did not change cost nothing. */
  snapshot(): readonly SeriesSnapshot[] {
    return this.#pages.flatMap(({ phase, step, lines }) =>
      lines.flatMap((line, index) => {
        const operation = this.#operations[index];
        if (operation === undefined || line.response.count === 0) return [];
        line.encoded ??= {
          operation: operation.name,
          kind: operation.kind,
          phase,
          step,
          ops: line.response.count,
          rows: line.rows,
          errors: Object.fromEntries(line.errors),
          response: line.response.encode(),
          service: line.service.encode(),
        };
        return [line.encoded];
      }),
    );
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
        rows: 0,
        errors: new Map<FailureKind, number>(),
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
  readonly response: Histogram;
  readonly service: Histogram;
  readonly errors: Map<FailureKind, number>;
  rows: number;
  encoded: SeriesSnapshot | undefined;
}
