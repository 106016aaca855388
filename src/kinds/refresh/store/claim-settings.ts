/** Settings of claims. */
import type { Backoff } from "../../../ground/kernel/backoff.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { SnapshotPins } from "./needed-snapshots.ts";
import { historyRowsDefault } from "./refresh-history.ts";

export interface ClaimSettings {
  /** For the jitter of pauses. */
  readonly prng: Prng;
  readonly leaseMs: number;
  readonly backoff: Backoff;
  /** A table whose refreshes have failed for this long is suspended. */
  readonly suspendAfterMs: number;
  /** The maximum pause between attempts of a suspended table. */
  readonly seldomMsMax: number;
  /** The number of workers lost in a row that suspends a table. */
  readonly lossesMax: number;
  /** How often a subtask is given out before its refresh fails. */
  readonly partAttemptsMax: number;
  /** The number of history rows kept for each table. */
  readonly historyRows: number;
  /** Pins what the next refreshes read. Undefined: they may have to read everything. */
  readonly pins: SnapshotPins | undefined;
}

const suspendAfterMsDefault = 600_000;

export function claimSettings(
  given: Pick<ClaimSettings, "prng"> & Partial<ClaimSettings>,
): ClaimSettings {
  return {
    leaseMs: 120_000,
    backoff: { minMs: 1_000, maxMs: 300_000 },
    suspendAfterMs: suspendAfterMsDefault,
    seldomMsMax: 1_800_000,
    lossesMax: 10,
    partAttemptsMax: 4,
    historyRows: historyRowsDefault,
    pins: undefined,
    ...given,
  };
}
