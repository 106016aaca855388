/**
 * AUTO: whether the next refresh is incremental or full, by what earlier ones took. Pure.
 *
 *   CM1  A full refresh is taken to cost in proportion to the rows of its sources; an incremental one something fixed and
 *        something by changed row. Both are learnt from the last refreshes of each kind.
 *   CM2  Without experience small changes are tried incrementally, large ones are not.
 *   CM3  In the long run AUTO takes at most 1.1 times what full refreshes alone would have: time lost by trying is counted, and
 *        beyond a tenth only what earlier refreshes of as many changes or more have shown to be cheaper is done incrementally.
 *   CM4  A mode that experience speaks against is tried again in time, within CM3: data and machines change.
 */
import type { RefreshCost } from "../core/index.ts";

export interface ModeChoice {
  readonly action: "FULL" | "INCREMENTAL";
  readonly reason: string;
  readonly expectedMs: number | undefined;
}

/** Without experience: up to this share of changed rows. */
const triedShareMax = 0.05;
const windowCount = 20;
/** So many refreshes of the other kind before it is tried again. */
const retryAfterCount = 50;
const slack = 0.1;

/** `history`: newest last. */
export function chooseMode(
  history: readonly RefreshCost[],
  changedRows: number,
  totalRows: number,
): ModeChoice {
  const rate = fullRate(history);
  const share = totalRows === 0 ? 1 : changedRows / totalRows;
  const percent = `${(share * 100).toPrecision(2)} % of the rows changed`;
  const known = expectedIncremental(history, changedRows);
  if (rate === undefined) {
    return share <= triedShareMax
      ? { action: "INCREMENTAL", reason: percent, expectedMs: known?.ms }
      : { action: "FULL", reason: percent, expectedMs: undefined };
  }
  const fullMs = rate * Math.max(totalRows, 1);
  const mayTry = lostMs(history, rate) + fullMs <= slack * spentAsFull(history, rate);
  if (known === undefined) {
    // CM2
    return share <= triedShareMax
      ? { action: "INCREMENTAL", reason: `${percent}; not tried yet`, expectedMs: undefined }
      : { action: "FULL", reason: percent, expectedMs: fullMs };
  }
  if (known.ms < fullMs && (known.isWithin || share <= triedShareMax)) {
    const reason = `${percent}: about ${round(known.ms)} ms instead of ${round(fullMs)} ms`;
    return { action: "INCREMENTAL", reason, expectedMs: known.ms };
  }
  const last = history.slice(-retryAfterCount);
  const isForgotten =
    last.length === retryAfterCount && last.every(({ action }) => action === "FULL");
  if (mayTry && (isForgotten || (!known.isWithin && known.ms < fullMs))) {
    return { action: "INCREMENTAL", reason: `${percent}; tried again`, expectedMs: known.ms }; // CM4
  }
  const reason = `${percent}: about ${round(fullMs)} ms instead of ${round(known.ms)} ms`;
  return { action: "FULL", reason, expectedMs: fullMs };
}

/** The median of the last ones, in milliseconds by row. */
function fullRate(history: readonly RefreshCost[]): number | undefined {
  const rates = lastOf(history, "FULL").map(
    ({ durationMs, totalRows: rows }) => durationMs / Math.max(rows, 1),
  );
  return median(rates);
}

/**
 * A fixed cost, the least that was seen, and the worst cost by row above it: what is expected is rather too much. `isWithin`:
 * as many changes or more have been seen.
 */
function expectedIncremental(
  history: readonly RefreshCost[],
  changedRows: number,
): { readonly ms: number; readonly isWithin: boolean } | undefined {
  const past = lastOf(history, "INCREMENTAL");
  if (past.length === 0) return undefined;
  const fixedMs = Math.min(...past.map(({ durationMs }) => durationMs));
  // The most like this one say most: those with at least half and at most twice the changes, or else all.
  const near = past.filter(
    ({ changedRows: rows }) => rows * 2 >= changedRows && rows <= changedRows * 2,
  );
  const nearMs = median(near.map(({ durationMs }) => durationMs));
  const isWithin = past.some(({ changedRows: rows }) => rows >= changedRows);
  if (nearMs !== undefined) return { ms: nearMs, isWithin: true };
  const rates = past.map(
    ({ durationMs, changedRows: rows }) => (durationMs - fixedMs) / Math.max(rows, 1),
  );
  return { ms: fixedMs + Math.max(...rates) * changedRows, isWithin };
}

/** What incremental refreshes have cost more than full ones would have. */
function lostMs(history: readonly RefreshCost[], fullMsByRow: number): number {
  return sum(
    history.map(({ action, durationMs, totalRows }) =>
      action === "FULL" ? 0 : Math.max(0, durationMs - fullMsByRow * totalRows),
    ),
  );
}

function spentAsFull(history: readonly RefreshCost[], fullMsByRow: number): number {
  return sum(history.map(({ totalRows }) => fullMsByRow * totalRows));
}

function lastOf(
  history: readonly RefreshCost[],
  action: RefreshCost["action"],
): readonly RefreshCost[] {
  return history.filter((past) => past.action === action).slice(-windowCount);
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(ms: number): string {
  return ms < 10 ? ms.toPrecision(2) : String(Math.round(ms));
}
