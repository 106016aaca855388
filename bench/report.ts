export interface BenchOptions {
  readonly trials: number;
  readonly queries: number;
  readonly busySeconds: number;
  /** Runs one part of a bench only. */
  readonly only: string | undefined;
}

/** A figure that has a goal, or none. */
export interface Goal {
  readonly atMost: number;
}

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

  /** The median and the worst of `samples`; the goal, where there is one, is for the worst. */
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

  /** Prints the last line and gives the exit code. */
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

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
