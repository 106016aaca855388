/**
 * Whether the files that answers are computed from are sound, as the scrubs and failed queries say:
 * a part of the process's health, and gauges.
 *
 *   DN1  A query that met damage, or missed a file, makes the part degraded at once, and has the
 *        scrubs look at what it named in their next round.
 *   DN2  What a scrub found takes the place of what it found before; a file that is sound again
 *        counts no more. What a query met counts until the scrub has read it: a round that could
 *        not, clears nothing.
 *   DN3  Where no scrubs run nobody can say that it is mended: what a query met is told, and who
 *        looks at it, until none met any for ten minutes.
 */
import type { Clock, Timer } from "../kernel/clock.ts";
import type { HealthReporter } from "../kernel/health.ts";
import { isMissingNote } from "../kernel/scrub.ts";
import type { Metrics } from "./metrics.ts";

export type DataArea = "tables" | "metrics";

/** What a query met in the place of the data that it wanted. */
export type Met = "damaged" | "missing";

export interface AreaCondition {
  /** Each damaged or missing file: the table or segment that it is of, and the scrub's note. */
  readonly damaged: readonly { readonly name: string; readonly damage: string }[];
  readonly unverified: number;
  /** Texts of queries that met damage, about files that the scrub has not read since. */
  readonly suspected: number;
}

export interface DataConditionOptions {
  readonly clock: Clock;
  /** Whether scrubs run in this process. They do in a coordinator, and not in a query-api. */
  readonly verifiesHere: boolean;
}

const lapseMs = 10 * 60_000;
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
  readonly #options: DataConditionOptions;
  #lapse: Timer | undefined;
  #met = 0;
  #metLast: Met = "damaged";

  constructor(health: HealthReporter, options: DataConditionOptions) {
    this.#health = health;
    this.#options = options;
  }

  /** Told what a query met. Gives what ends that. */
  onCorrupt(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** DN1 */
  met(what: Met, message: string): void {
    this.#met += 1;
    this.#metLast = what;
    if (!this.#options.verifiesHere) {
      this.#health.degraded(`${meetings[what]}; ${checkedElsewhere}`);
      this.#lapse?.cancel();
      this.#lapse = this.#options.clock.after(lapseMs, () => this.#health.ok()); // DN3
      return;
    }
    for (const area of this.#areas.keys()) this.#suspected.add(area);
    for (const listener of this.#listeners) listener(message);
    this.#report();
  }

  close(): void {
    this.#lapse?.cancel();
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
      "Files of tables, and segments, that are missing or have other bytes than were committed.",
      ["area"],
      areas(({ damaged }) => damaged.length),
    );
    metrics.gauges(
      "unverified_files",
      "Files of tables, and segments, that have no checksum yet.",
      ["area"],
      areas(({ unverified }) => unverified),
    );
    metrics.gauges(
      "corrupt_reads",
      "Works that met damaged or missing data since the start.",
      [],
      () => [{ labels: {}, value: this.#met }],
    );
  }

  #report(): void {
    const found = [...this.#areas].flatMap(([area, { damaged }]) =>
      damaged.map(({ name, damage }) => ({
        owner: area === "tables" ? `table ${name}` : `segment ${name}`,
        isMissing: isMissingNote(damage),
      })),
    );
    if (found.length === 0 && this.#suspected.size === 0) {
      this.#health.ok();
      return;
    }
    const kinds = [
      countOwners("damaged", found, false),
      countOwners("missing", found, true),
      found.length === 0
        ? `${meetings[this.#metLast]}; its files are being read again`
        : "capstan lake check names them",
    ];
    this.#health.degraded(kinds.filter((text) => text !== undefined).join("; "));
  }
}

const meetings: Readonly<Record<Met, string>> = {
  damaged: "a query met damaged data",
  missing: "a query met a file that is missing",
};

const checkedElsewhere =
  "this process checks no files: the coordinator's scrub does, and capstan lake check names what is damaged or missing";

/** `undefined`: there are none of that kind. */
function countOwners(
  word: string,
  found: readonly { readonly owner: string; readonly isMissing: boolean }[],
  isMissing: boolean,
): string | undefined {
  const owners = found.filter((each) => each.isMissing === isMissing).map(({ owner }) => owner);
  if (owners.length === 0) return undefined;
  const names = [...new Set(owners)];
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return `${word} files (${owners.length}) of ${names.slice(0, 3).join(", ")}${more}`;
}
