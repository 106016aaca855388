export interface BenchOptions {
  readonly trials: number;
  readonly queries: number;
  /** The number of simulated workers. */
  readonly workers: number;
  readonly busySeconds: number;
  /** Runs one part of a bench only. */
  readonly only: string | undefined;
  /** The number of samples in the data set. */
  readonly samples: number;
  /** How often a query runs warm, and right after a start. */
  readonly repetitions: number;
  readonly coldTrials: number;
  /** The time between a start and the cold query. */
  readonly settleMs: number;
  /** The time between a start and measuring an idle system's memory. */
  readonly idleMs: number;
  /** The number of rows of the refreshed tables, and of their groups. */
  readonly rows: number;
  readonly groups: number;
  /** The number of events that continuous queries read. */
  readonly events: number;
  /** The length of the run whose memory is compared with that of 10 M events. */
  readonly longEvents: number;
  /**
   * Of a load: pairs of runs, how long each is, how long the one is that memory is watched in, and
   * operations a second.
   */
  readonly rounds: number;
  readonly seconds: number;
  readonly minutes: number;
  readonly rate: number;
  /** The target lag of a graph of tables. */
  readonly targetMs: number;
  /** Runs only the comparison's cells with this text in their name (`select_c8_d1`). */
  readonly cell: string | undefined;
  /** Where the data set is kept between runs; defaults to a temporary directory. */
  readonly dir: string | undefined;
}

/** Rejects an unknown part, which would measure nothing and report success. */
export function checkPart({ only }: BenchOptions, names: readonly string[]): void {
  if (only === undefined || names.includes(only)) return;
  process.stderr.write(`capstan: there is no part ${only}; there are ${names.join(", ")}\n`);
  process.exit(2);
}

/** A figure that has a goal, or none. */
export interface Goal {
  readonly atMost: number;
}

/** One of several figures in a line, with its goal. */
export type Judged = { readonly value: number } & (
  | { readonly atMost: number }
  | { readonly atLeast: number }
);

/** Writes a bench's figures as JSON lines and counts the goals that were missed. */
export class Report {
  readonly #bench: string;
  #missed = 0;

  constructor(bench: string) {
    this.#bench = bench;
  }

  say(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Reports the median and the worst of `samples`; a goal applies to the worst. */
  spread(metric: string, unit: string, samples: readonly number[], goal?: Goal): void {
    const sorted = [...samples].sort((a, b) => a - b);
    const worst = sorted.at(-1) ?? Number.NaN;
    this.#line({
      metric,
      unit,
      trials: samples.length,
      p50: round(percentile(sorted, 0.5)),
      p99: round(percentile(sorted, 0.99)),
      worst: round(worst),
      ...(goal === undefined ? {} : this.#judge(worst, goal)),
    });
  }

  value(metric: string, unit: string, value: number, goal?: Goal): void {
    this.#line({
      metric,
      unit,
      value: round(value),
      ...(goal === undefined ? {} : this.#judge(value, goal)),
    });
  }

  /**
   * Several figures that belong together, in one line; those that have a goal say whether it was
   * met.
   */
  figure(
    metric: string,
    judged: Readonly<Record<string, Judged>>,
    others: Readonly<Record<string, number | readonly number[] | undefined>>,
  ): void {
    const plain = Object.entries(others).map(([name, value]) => [
      name,
      typeof value === "object" ? value.map(round) : value && round(value),
    ]);
    const withGoals = Object.entries(judged).map(([name, figure]) => {
      const met =
        "atMost" in figure ? figure.value <= figure.atMost : figure.value >= figure.atLeast;
      if (!met) this.#missed += 1;
      const goal = "atMost" in figure ? `<= ${figure.atMost}` : `>= ${figure.atLeast}`;
      return [name, { value: round(figure.value), goal, met }];
    });
    this.#line({ metric, ...Object.fromEntries(plain), ...Object.fromEntries(withGoals) });
  }

  /** Checks a condition; `problem` says why it does not hold. */
  check(metric: string, problem: string | undefined): void {
    if (problem !== undefined) this.#missed += 1;
    this.#line({ metric, met: problem === undefined, ...(problem && { problem }) });
  }

  /** Prints the last line and returns the exit code. */
  close(): number {
    const verdict = this.#missed === 0 ? "ok" : `${this.#missed} goals missed`;
    process.stdout.write(`bench ${this.#bench}: ${verdict}\n`);
    return this.#missed === 0 ? 0 : 1;
  }

  #judge(value: number, goal: Goal): { goal: string; met: boolean } {
    const met = value <= goal.atMost;
    if (!met) this.#missed += 1;
    return { goal: `<= ${goal.atMost}`, met };
  }

  #line(fields: Readonly<Record<string, unknown>>): void {
    process.stdout.write(`${JSON.stringify({ bench: this.#bench, ...fields })}\n`);
  }
}

/** Nearest rank; NaN for no samples. */
export function percentile(sorted: readonly number[], fraction: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)] as number;
}

export function median(samples: readonly number[]): number {
  return percentile(
    [...samples].sort((a, b) => a - b),
    0.5,
  );
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
