/**
 * Answers label queries in a compute thread. They read many series and no samples, so they pause
 * every few milliseconds (`Rest`), whatever is asked, and other queries go on (QP31). The labels of
 * a series are read once, however many matcher sets select it.
 */
import type { SegmentInfo } from "../metrics/core/index.ts";
import type { SegmentReader } from "../metrics/index.ts";
import {
  compareLabels,
  compareText,
  type Labels,
  metricNameLabel,
  type RawSeries,
} from "../promql/core/index.ts";
import type { LabelsWork } from "./core/work-body.ts";
import type { LeafOutputBytes } from "./leaf-runner.ts";
import { encodeList, seriesItem } from "./list-artifact.ts";
import { type Rest, sortAtPace } from "./pace.ts";
import type { SegmentShelf } from "./segment-shelf.ts";

const restEvery = 512;

/** `headSeries` are the head's series of the work's shard that match at least one set. */
export async function runLabels(
  work: LabelsWork,
  headSeries: readonly RawSeries[],
  shelf: Pick<SegmentShelf, "open">,
  rest: Rest,
): Promise<LeafOutputBytes> {
  const byKey = new Map<string, Labels>();
  const readers = await openAll(work.segments, shelf, rest);
  for (const [reader, rows] of await markRows(work, readers, rest)) {
    for (let row = 0; row < rows.length; row += 1) {
      if (row % restEvery === 0) await rest();
      if (rows[row] !== 1) continue;
      const labels = reader.series.labelsOf(row);
      byKey.set(labels.key, labels);
    }
  }
  for (const [index, { labels }] of headSeries.entries()) {
    if (index % restEvery === 0) await rest();
    byKey.set(labels.key, labels);
  }
  const all = [...byKey.values()];
  const items =
    work.op === "series"
      ? await firstSeries(all, work.limit, rest)
      : await namesOrValues(all, work, rest);
  return {
    bytes: encodeList(items),
    rowCount: items.length,
    minTs: work.startMs,
    maxTs: work.endMs,
  };
}

async function openAll(
  segments: readonly SegmentInfo[],
  shelf: Pick<SegmentShelf, "open">,
  rest: Rest,
): Promise<readonly SegmentReader[]> {
  const readers: SegmentReader[] = [];
  for (const segment of segments) {
    await rest();
    readers.push(...shelf.open([segment], () => undefined));
  }
  return readers;
}

/** Goes set by set, so that a set's decision about a label set is reused for all segments. */
async function markRows(
  { matcherSets, shard, shardCount, startMs, endMs }: LabelsWork,
  readers: readonly SegmentReader[],
  rest: Rest,
): Promise<ReadonlyMap<SegmentReader, Uint8Array>> {
  const range = { minMs: startMs - 1, maxMs: endMs };
  const marks = new Map(
    readers.map((reader) => [reader, new Uint8Array(reader.series.count)] as const),
  );
  for (const matchers of matcherSets.length === 0 ? [[]] : matcherSets) {
    for (const [{ series }, rows] of marks) {
      await rest();
      const matches = series.interner.matcher(matchers);
      for (const row of series.select(matchers, matches, shard, shardCount, range)) rows[row] = 1;
    }
  }
  return marks;
}

/** Sorted by labels. One item more than the limit shows that there are more; 0 means no limit. */
async function firstSeries(
  all: readonly Labels[],
  limit: number,
  rest: Rest,
): Promise<readonly string[]> {
  const sorted = await sortAtPace(all, compareLabels, rest);
  const items: string[] = [];
  for (const labels of limit > 0 ? sorted.slice(0, limit + 1) : sorted) {
    if (items.length % restEvery === 0) await rest();
    items.push(seriesItem(labels));
  }
  return items;
}

async function namesOrValues(
  all: readonly Labels[],
  { op, label }: LabelsWork,
  rest: Rest,
): Promise<readonly string[]> {
  const items = new Set<string>();
  for (const [index, labels] of all.entries()) {
    if (index % restEvery === 0) await rest();
    if (op === "names") {
      for (let at = 0; at < labels.pairs.length; at += 2) items.add(labels.pairs[at] as string);
    } else {
      const value = label === metricNameLabel ? labels.name : labels.get(label);
      if (value !== "") items.add(value);
    }
  }
  return await sortAtPace([...items], compareText, rest);
}
