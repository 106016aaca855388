/**
 * Whether the files that answers are computed from are sound, as the scrubs and failed queries say:
 * a part of the process's health, and gauges.
 *
 *   DN1  A query that met damage makes the part degraded at once, and has the scrubs look at what
 *        it named in their next round.
 *   DN2  What a scrub found takes the place of what it found before; a file that is sound again
 *        counts no more. What a query met counts until the scrub has read it: a round that could
 *        not, clears nothing.
 */
import type { HealthReporter } from "../kernel/health.ts";
import type { Metrics } from "../observe/index.ts";

export type DataArea = "tables" | "metrics";

export interface AreaCondition {
  /** Tables or segments with damaged files, a name for each file. */
  readonly damaged: readonly string[];
  readonly unverified: number;
  /** Texts of queries that met damage, about files that the scrub has not read since. */
  readonly suspected: number;
}

const nothingFound: AreaCondition = { damaged: [], unverified: 0, suspected: 0 };

export class DataCondition {
  readonly #health: HealthReporter;
  readonly #areas = new Map<DataArea, AreaCondition>([
    ["tables", nothingFound],
    ["metrics", nothingFound],
  ]);
  readonly #listeners = new Set<(message: string) => void>();
  /** Whose scrub has not looked yet at what a query met. */
  readonly #suspected = new Set<DataArea>();
  /** Whose scrub has not had a round in this process. */
  readonly #unseen = new Set<DataArea>(this.#areas.keys());
  #met = 0;

  constructor(health: HealthReporter) {
    this.#health = health;
  }

  /** Told what a query met. Gives what ends that. */
  onCorrupt(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** DN1 */
  corrupt(message: string): void {
    this.#met += 1;
    for (const area of this.#areas.keys()) this.#suspected.add(area);
    for (const listener of this.#listeners) listener(message);
    this.#report();
  }

  /** DN2 */
  found(area: DataArea, condition: AreaCondition): void {
    this.#areas.set(area, condition);
    this.#unseen.delete(area);
    if (condition.suspected === 0) this.#suspected.delete(area);
    this.#report();
  }

  /** Of all areas; `undefined` until each was looked at: nobody knows yet. */
  counts(): { readonly damaged: number; readonly unverified: number } | undefined {
    if (this.#unseen.size > 0) return undefined;
    const all = [...this.#areas.values()];
    return {
      damaged: all.reduce((sum, { damaged }) => sum + damaged.length, 0),
      unverified: all.reduce((sum, { unverified }) => sum + unverified, 0),
    };
  }

  show(metrics: Metrics): void {
    const areas = (of: (condition: AreaCondition) => number) => () =>
      [...this.#areas].map(([area, condition]) => ({ labels: { area }, value: of(condition) }));
    metrics.gauges(
      "damaged_files",
      "Files of tables, and segments, whose bytes are not those that were committed.",
      ["area"],
      areas(({ damaged }) => damaged.length),
    );
    metrics.gauges(
      "unverified_files",
      "Files of tables, and segments, that have no checksum yet.",
      ["area"],
      areas(({ unverified }) => unverified),
    );
    metrics.gauges("corrupt_reads", "Works that met damaged data since the start.", [], () => [
      { labels: {}, value: this.#met },
    ]);
  }

  #report(): void {
    const damaged = [...this.#areas].flatMap(([area, condition]) =>
      condition.damaged.map((name) => (area === "tables" ? `table ${name}` : `segment ${name}`)),
    );
    if (damaged.length === 0 && this.#suspected.size === 0) {
      this.#health.ok();
      return;
    }
    const names = [...new Set(damaged)];
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    const reason =
      damaged.length === 0
        ? "a query met damaged data; its files are being read"
        : `damaged files (${damaged.length}) of ${names.slice(0, 3).join(", ")}${more}; capstan lake check names them`;
    this.#health.degraded(reason);
  }
}
