/**
 * The health of the parts of a process: the store, the lease, the metrics log, a directory.
 * `/readyz`, the status and a gauge show it. Each part reports its state when it changes; it is
 * never polled. Rules: HE1 to HE4.
 */
import type { Clock } from "./clock.ts";
import { isoTime } from "./iso-time.ts";
import { type Logger, silentLogger } from "./logger.ts";

export type HealthState = "ok" | "degraded" | "failed";

/** How a part reports its health. It begins as ok. */
export interface HealthReporter {
  ok(): void;
  /** The part works only partly, or slowly. Strangers may read `reason`: no paths, no secrets. */
  degraded(reason: string): void;
  failed(reason: string): void;
  /** Removes the part; its last report no longer counts. Idempotent. */
  close(): void;
}

/** The port that parts are given. */
export interface Health {
  /** When a `vital` part has failed, this process is not ready. */
  part(name: string, options?: { readonly vital?: boolean }): HealthReporter;
}

export interface PartHealth {
  readonly name: string;
  readonly state: HealthState;
  /** Absent while the part is ok. */
  readonly reason?: string;
  /** Wall-clock time. */
  readonly sinceMs: number;
  readonly vital: boolean;
}

const rank: Readonly<Record<HealthState, number>> = { ok: 0, degraded: 1, failed: 2 };

export class HealthBoard implements Health {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reports = new Set<{ current: PartHealth }>();
  readonly #listeners = new Set<() => void>();

  constructor(options: { readonly clock: Clock; readonly logger?: Logger }) {
    this.#clock = options.clock;
    this.#logger = options.logger ?? silentLogger;
  }

  part(name: string, options: { readonly vital?: boolean } = {}): HealthReporter {
    const { vital = false } = options;
    const report = {
      current: { name, state: "ok", sinceMs: this.#clock.wallMs(), vital } as PartHealth,
    };
    this.#reports.add(report);
    const change = (state: HealthState, reason?: string): void => {
      const before = report.current;
      if (before.state === state && before.reason === reason) return;
      const sinceMs = before.state === state ? before.sinceMs : this.#clock.wallMs(); // HE3
      report.current = { name, state, sinceMs, vital, ...(reason === undefined ? {} : { reason }) };
      if (!this.#reports.has(report)) return;
      if (state === "ok") this.#logger.info({ part: name }, `${name} is ok again`);
      else this.#logger.warn({ part: name, state }, `${name} is ${state}: ${reason}`);
      this.#tell();
    };
    return {
      ok: () => change("ok"),
      degraded: (reason) => change("degraded", reason),
      failed: (reason) => change("failed", reason),
      close: () => {
        if (this.#reports.delete(report)) this.#tell();
      },
    };
  }

  /** HE4. Call the result to unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Sorted by name. */
  parts(): readonly PartHealth[] {
    const worst = new Map<string, PartHealth>();
    for (const { current } of this.#reports) {
      const other = worst.get(current.name);
      if (other === undefined || isWorse(current, other)) worst.set(current.name, current); // HE1
    }
    return [...worst.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** HE2. Why this process can serve nothing; undefined when no part says so. */
  blocker(): PartHealth | undefined {
    return this.parts().find(({ state, vital }) => vital && state === "failed");
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function isWorse(one: PartHealth, other: PartHealth): boolean {
  if (rank[one.state] !== rank[other.state]) return rank[one.state] > rank[other.state];
  return one.vital && !other.vital;
}

/**
 * A part that is not ok, as a worker reports it to its coordinator: one line that people read too.
 */
export type PartTrouble = Pick<PartHealth, "name" | "state" | "sinceMs"> & {
  readonly reason: string;
};

const factPrefix = "part_";
const reasonCharsMax = 300;

export function partFactKey(name: string): string {
  return `${factPrefix}${name}`;
}

/** `failed since 2026-01-01T00:00:00.000Z: the disk is full` */
export function showPartFact({ state, sinceMs, reason = "" }: PartHealth): string {
  return `${state} since ${isoTime(sinceMs)}: ${reason.slice(0, reasonCharsMax)}`;
}

/** The inverse of `showPartFact`; undefined for every other fact. */
export function parsePartFact(key: string, value: string): PartTrouble | undefined {
  if (!key.startsWith(factPrefix)) return undefined;
  const [, state, since = "", reason = ""] =
    /^(degraded|failed) since (\S+): (.*)$/s.exec(value) ?? [];
  const sinceMs = Date.parse(since);
  if (state === undefined || Number.isNaN(sinceMs)) return undefined;
  return { name: key.slice(factPrefix.length), state: state as HealthState, sinceMs, reason };
}
