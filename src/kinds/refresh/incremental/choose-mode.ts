/**
 * Chooses between an incremental and a full refresh for AUTO, by the cost of earlier ones (TI8,
 * TI9). Pure.
 *
 * The cost of a full refresh is assumed to be proportional to the rows of its sources. An
 * incremental one has a fixed cost and a cost per changed row. Time lost by incremental refreshes
 * is counted; beyond a tenth, only change sizes that have proved cheaper are done incrementally. A
 * mode that proved slower is tried again after a while, because data and machines change.
 */
import type { RefreshCost } from "../core/index.ts";

export interface ModeChoice {
  readonly action: "FULL" | "INCREMENTAL";
  readonly reason: string;
  readonly expectedMs: number | undefined;
}

/** Without experience, the maximum share of changed rows for an incremental refresh. */
const triedShareMax = 0.05;
const windowCount = 20;
/** How many refreshes of the other kind pass before a mode is tried again. */
const retryAfterCount = 50;
const slack = 0.1;

/** `history` has the newest refresh last. */
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
    // TI8
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
    return { action: "INCREMENTAL", reason: `${percent}; tried again`, expectedMs: known.ms };
  }
  const reason = `${percent}: about ${round(fullMs)} ms instead of ${round(known.ms)} ms`;
  return { action: "FULL", reason, expectedMs: fullMs };
}

/** The median cost of recent full refreshes, in milliseconds per row. */
function fullRate(history: readonly RefreshCost[]): number | undefined {
  const rates = lastOf(history, "FULL").map(
    ({ durationMs, totalRows: rows }) => durationMs / Math.max(rows, 1),
  );
  return median(rates);
}

/**
 * Estimates rather too high: the lowest duration as fixed cost, plus the highest cost per row.
 * `isWithin` is true if as many changes or more were seen before.
 */
function expectedIncremental(
  history: readonly RefreshCost[],
  changedRows: number,
): { readonly ms: number; readonly isWithin: boolean } | undefined {
  const past = lastOf(history, "INCREMENTAL");
  if (past.length === 0) return undefined;
  const fixedMs = Math.min(...past.map(({ durationMs }) => durationMs));
  // Prefer refreshes with between half and twice as many changes.
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

/** How much more time incremental refreshes took than full ones would have, in milliseconds. */
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
