/**
 * Figures of the last seconds, computed from cumulative ones, for guardrails and the histogram of
 * each second.
 */
import { type Figures, figuresFor, figuresOf, figuresSince } from "../core/figures.ts";
import type { RunUpdateWorker } from "../core/run-update.ts";

interface Moment {
  readonly atMs: number;
  readonly phase: string;
  /** Each worker's elapsed time, by its own clock, when it sent its figures. */
  readonly elapsed: ReadonlyMap<string, number>;
  /** Merged once on arrival, because histograms are large. */
  readonly figures: ReadonlyMap<string, Figures>;
}

const windowMs = 5_000;

export class LoadWindow {
  readonly #names: readonly string[];
  readonly #moments: Moment[] = [];

  /** Each name is an operation, a kind, or `ALL`. */
  constructor(names: readonly string[]) {
    this.#names = [...new Set(["ALL", ...names])];
  }

  /**
   * Workers that are lost, too: their figures stay what they were, and nothing seems to be taken
   * back.
   */
  add(atMs: number, phase: string, workers: readonly RunUpdateWorker[]): void {
    if (this.#moments.at(-1)?.phase !== phase) this.#moments.length = 0;
    const series = workers.flatMap(
      ({ snapshot }) => snapshot?.series.filter((each) => each.phase === phase) ?? [],
    );
    const figures = this.#names.map((of) => [of, figuresFor(series, of)] as const);
    const elapsed = workers.flatMap(({ workerId, snapshot }) =>
      snapshot === undefined ? [] : [[workerId, snapshot.elapsed_seconds] as const],
    );
    const moment = { atMs, phase, elapsed: new Map(elapsed), figures: new Map(figures) };
    this.#moments.push(moment);
    while ((this.#moments[1]?.atMs ?? atMs) <= atMs - windowMs) this.#moments.shift();
  }

  /**
   * Since the moment before, and of how many seconds of the workers' own that is; `null`: not
   * known. Looks and workers' seconds are not in step, so that between two looks there are figures
   * of none, one or two of them.
   */
  lastInterval(): { readonly figures: Figures; readonly seconds: number | null } {
    const [before, now] = [this.#moments.at(-2), this.#moments.at(-1)];
    const passed = [...(now?.elapsed ?? [])].flatMap(([workerId, seconds]) => {
      const earlier = before?.elapsed.get(workerId);
      return earlier === undefined ? [] : [seconds - earlier];
    });
    const seconds = passed.reduce((sum, each) => sum + each, 0) / Math.max(1, passed.length);
    const isKnown = before !== undefined && passed.length > 0;
    return { figures: this.#since(before, "ALL"), seconds: isKnown ? seconds : null };
  }

  /** Figures of one of the names. */
  figures(of: string): Figures {
    return this.#since(this.#moments[0], of);
  }

  get seconds(): number {
    return ((this.#moments.at(-1)?.atMs ?? 0) - (this.#moments[0]?.atMs ?? 0)) / 1000;
  }

  #since(from: Moment | undefined, of: string): Figures {
    const now = this.#moments.at(-1)?.figures.get(of) ?? figuresOf([]);
    return figuresSince(now, from?.figures.get(of) ?? figuresOf([]));
  }
}
