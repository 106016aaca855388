/** What can be set about claims. */
import type { Backoff } from "../../../ground/kernel/backoff.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { SnapshotPins } from "./needed-snapshots.ts";
import { historyRowsDefault } from "./refresh-history.ts";

export interface ClaimSettings {
  /** For the jitter of pauses. */
  readonly prng: Prng;
  readonly leaseMs: number;
  readonly backoff: Backoff;
  /** A table whose refreshes have failed for so long is suspended. */
  readonly suspendAfterMs: number;
  /** A suspended table is tried at least so often. */
  readonly seldomMsMax: number;
  /** So many workers lost in a row do. More than failures: workers are also killed for reasons of their own. */
  readonly lossesMax: number;
  /** So often a subtask is given out; then its refresh has failed. */
  readonly partAttemptsMax: number;
  /** Kept for each table. */
  readonly historyRows: number;
  /** Keeps what the next refreshes read; `undefined`: nothing is kept on purpose, and they may have to read everything. */
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
