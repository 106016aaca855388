/**
 * How QUERY_HISTORY is read: it gives at most `limit` rows, the latest of the window, of
 * everybody's queries. Pages go from the window's end to its start.
 *
 *   1  Pages overlap, since many queries end within one moment and the history's order within it is
 *      not promised.
 *   2  A query is given once, by its id; only queries with the tag, and only those that ended
 *      within the window.
 *   3  Every page ends before the one before, so that it ends.
 */
import type { HistoryWindow } from "../../core/target.ts";

export interface HistoryRow {
  readonly queryId: string;
  readonly tag: string;
  readonly endMs: number;
}

export interface HistoryPaging {
  readonly window: HistoryWindow;
  readonly tag: string;
  readonly limit: number;
  readonly overlapMs: number;
  /** Where the next page ends; `undefined`: there is none. */
  readonly nextEndMs: number | undefined;
  readonly seen: ReadonlySet<string>;
  /** More queries ended within one millisecond than a page has: some are not known. */
  readonly isIncomplete: boolean;
}

export function beginPaging(
  window: HistoryWindow,
  tag: string,
  options: { readonly limit: number; readonly overlapMs: number },
): HistoryPaging {
  const nextEndMs = window.endMs < window.startMs ? undefined : window.endMs;
  return { window, tag, ...options, nextEndMs, seen: new Set(), isIncomplete: false };
}

export function stepPaging<Row extends HistoryRow>(
  paging: HistoryPaging,
  page: readonly Row[],
): readonly [next: HistoryPaging, fresh: readonly Row[]] {
  const { window, tag, limit, overlapMs, nextEndMs } = paging;
  if (nextEndMs === undefined) return [paging, []];
  const seen = new Set(paging.seen);
  const fresh: Row[] = [];
  for (const row of page) {
    const isOurs = row.tag === tag && row.endMs >= window.startMs && row.endMs <= window.endMs;
    if (!isOurs || seen.has(row.queryId)) continue; // 2
    seen.add(row.queryId);
    fresh.push(row);
  }
  const isLast = page.length < limit;
  const earliestMs = page.reduce((least, { endMs }) => Math.min(least, endMs), nextEndMs);
  const isStuck = !isLast && earliestMs >= nextEndMs;
  // 3: the overlap, or less of it, or none.
  const endMs = Math.min(earliestMs + overlapMs, nextEndMs - 1);
  const next = {
    ...paging,
    seen,
    nextEndMs: isLast || endMs < window.startMs ? undefined : endMs,
    isIncomplete: paging.isIncomplete || isStuck,
  };
  return [next, fresh];
}
