/**
 * How old a table's contents were, from its history. Lag grows by a second a second and falls when a refresh is published: a saw.
 * Each publication is two points at one moment, what the lag had come to and what it fell to; in between the line is straight.
 *
 *   LT1  Only what moved the data on counts: failures and cancelled refreshes leave the line rising.
 *   LT2  A run of refreshes that found nothing to do is one row of the history, of which only the first and the last moment are known.
 *        Those between are taken to be evenly spaced, and their points are marked as estimated.
 *   LT3  A window begins with the lag of that moment, if it is known, and ends with the lag of now.
 */
import type { RefreshRecord } from "./model.ts";

export interface LagPoint {
  readonly atMs: number;
  readonly lagMs: number;
  readonly isEstimated: boolean;
}

/** What is needed of a refresh. */
export type LagRecord = Pick<RefreshRecord, "state" | "action" | "startedAtMs" | "endedAtMs"> & {
  readonly dataTimeMs: number | undefined;
  readonly repeats: number;
};

export interface LagWindow {
  readonly fromMs: number;
  /** Now, by the clock of the records. */
  readonly toMs: number;
}

/** A run of more is drawn as one line at the height that its teeth have. */
const teethMax = 16;

interface Publication {
  readonly atMs: number;
  readonly dataTimeMs: number;
  readonly isEstimated: boolean;
}

/** `records` in the order in which they happened. */
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
    if (dataTimeMs !== undefined) add(fromMs, fromMs - dataTimeMs, isEstimated); // LT3
  };
  const publish = (publication: Publication): void => {
    const { atMs, isEstimated } = publication;
    begin(atMs, isEstimated);
    if (dataTimeMs !== undefined) add(atMs, atMs - dataTimeMs, isEstimated);
    dataTimeMs = publication.dataTimeMs;
    add(atMs, atMs - dataTimeMs, isEstimated);
  };
  for (const record of records) {
    if (record.state !== "SUCCEEDED" || record.dataTimeMs === undefined) continue; // LT1
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
        const atMs = startedAtMs + turn * spacingMs; // LT2
        publish({ atMs, dataTimeMs: atMs, isEstimated: true });
      }
    }
    publish({ atMs: endedAtMs, dataTimeMs: record.dataTimeMs, isEstimated: false });
  }
  begin(toMs, false);
  if (dataTimeMs !== undefined) add(toMs, toMs - dataTimeMs, false);
  return points;
}
