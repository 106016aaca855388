/**
 * Computes a table's lag over time from its history (TG9). Lag grows by one second per second and
 * falls when a refresh is published. Each publication gives two points at one moment, the lag
 * before and after it, and the line between publications is straight. A window begins with the lag
 * at that moment, if it is known, and ends with the current lag.
 */
import type { RefreshRecord } from "./model.ts";

export interface LagPoint {
  readonly atMs: number;
  readonly lagMs: number;
  readonly isEstimated: boolean;
}

/** The fields of a refresh that the lag depends on. */
export type LagRecord = Pick<RefreshRecord, "state" | "action" | "startedAtMs" | "endedAtMs"> & {
  readonly dataTimeMs: number | undefined;
  readonly repeats: number;
};

export interface LagWindow {
  readonly fromMs: number;
  /** The current time, by the clock of the records. */
  readonly toMs: number;
}

/** A longer run of NO_DATA refreshes is drawn as one line at the height of its teeth. */
const teethMax = 16;

interface Publication {
  readonly atMs: number;
  readonly dataTimeMs: number;
  readonly isEstimated: boolean;
}

/** `records` are in chronological order. */
export function lagOverTime(
  records: readonly LagRecord[],
  { fromMs, toMs }: LagWindow,
): readonly LagPoint[] {
  const points: LagPoint[] = [];
  let dataTimeMs: number | undefined;
  const add = (atMs: number, lagMs: number, isEstimated: boolean): void => {
    if (atMs >= fromMs && atMs <= toMs)
      points.push({ atMs, lagMs: Math.max(0, lagMs), isEstimated });
  };
  let hasBegun = false;
  const begin = (beforeMs: number, isEstimated: boolean): void => {
    if (hasBegun || beforeMs < fromMs) return;
    hasBegun = true;
    if (dataTimeMs !== undefined) add(fromMs, fromMs - dataTimeMs, isEstimated);
  };
  const publish = (publication: Publication): void => {
    const { atMs, isEstimated } = publication;
    begin(atMs, isEstimated);
    if (dataTimeMs !== undefined) add(atMs, atMs - dataTimeMs, isEstimated);
    dataTimeMs = publication.dataTimeMs;
    add(atMs, atMs - dataTimeMs, isEstimated);
  };
  for (const record of records) {
    if (record.state !== "SUCCEEDED" || record.dataTimeMs === undefined) continue;
    const { repeats, startedAtMs, endedAtMs } = record;
    const spacingMs = repeats < 2 ? 0 : (endedAtMs - startedAtMs) / (repeats - 1);
    if (repeats - 1 > teethMax) {
      publish({ atMs: startedAtMs, dataTimeMs: startedAtMs, isEstimated: true });
      const shownMs = Math.max(startedAtMs, fromMs);
      dataTimeMs = shownMs - spacingMs;
      if (hasBegun) add(shownMs, spacingMs, true);
      else begin(endedAtMs, true);
      dataTimeMs = endedAtMs - spacingMs;
    } else {
      for (let turn = 0; turn < repeats - 1; turn += 1) {
        const atMs = startedAtMs + turn * spacingMs; // Only the first and last times are known.
        publish({ atMs, dataTimeMs: atMs, isEstimated: true });
      }
    }
    publish({ atMs: endedAtMs, dataTimeMs: record.dataTimeMs, isEstimated: false });
  }
  begin(toMs, false);
  if (dataTimeMs !== undefined) add(toMs, toMs - dataTimeMs, false);
  return points;
}
