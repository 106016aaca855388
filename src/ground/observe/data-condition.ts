/**
 * Whether the data files are sound, according to the scrubs and to failed queries: a part of the
 * process's health, and gauges.
 *
 * A query that met a damaged or missing file degrades the part at once, and the scrubs read the
 * files that it named in their next round. A scrub's findings replace its earlier ones, so a
 * repaired file no longer counts. What a query met counts until a scrub has read it. A process
 * without scrubs cannot tell that a file is repaired: it reports what a query met until no query
 * has met damage for ten minutes.
 */
import type { Clock, Timer } from "../kernel/clock.ts";
import type { HealthReporter } from "../kernel/health.ts";
import { isMissingNote } from "../kernel/scrub.ts";
import type { Metrics } from "./metrics.ts";

export type DataArea = "tables" | "metrics";

/** What a query found instead of the data that it needed. */
export type Met = "damaged" | "missing";

export interface AreaCondition {
  /** The damaged or missing files: the table or segment of each, and the scrub's note. */
  readonly damaged: readonly { readonly name: string; readonly damage: string }[];
  readonly unverified: number;
  /** Error texts of queries about files that the scrub has not read since. */
  readonly suspected: number;
}

export interface DataConditionOptions {
  readonly clock: Clock;
  /** Whether scrubs run in this process: in a coordinator, but not in a query-api. */
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
  /** Areas whose scrub has not yet read what a query met. */
  readonly #suspected = new Set<DataArea>();
  /** Areas whose scrub has not had a round in this process. */
  readonly #unseen = new Set<DataArea>(this.#areas.keys());
  readonly #options: DataConditionOptions;
  #lapse: Timer | undefined;
  #met = 0;
  #metLast: Met = "damaged";

  constructor(health: HealthReporter, options: DataConditionOptions) {
    this.#health = health;
    this.#options = options;
  }

  /** Called with what a query met. The result unsubscribes. */
  onCorrupt(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A query met a damaged or missing file. */
  met(what: Met, message: string): void {
    this.#met += 1;
    this.#metLast = what;
    if (!this.#options.verifiesHere) {
      this.#health.degraded(`${meetings[what]}; ${checkedElsewhere}`);
      this.#lapse?.cancel();
      // Without scrubs, nothing else would end the report.
      this.#lapse = this.#options.clock.after(lapseMs, () => this.#health.ok());
      return;
    }
    for (const area of this.#areas.keys()) this.#suspected.add(area);
    for (const listener of this.#listeners) listener(message);
    this.#report();
  }

  close(): void {
    this.#lapse?.cancel();
  }

  /** A scrub of `area` has had a round. */
  found(area: DataArea, condition: AreaCondition): void {
    this.#areas.set(area, condition);
    this.#unseen.delete(area);
    if (condition.suspected === 0) this.#suspected.delete(area);
    this.#report();
  }

  /** The sums over all areas; undefined until each has been scrubbed once. */
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

/** Undefined when there are none of that kind. */
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
