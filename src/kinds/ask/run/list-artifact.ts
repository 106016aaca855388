/**
 * The result of a label query as a Parquet file of one column: a text for each series, name or
 * value.
 */
import {
  ChunkReader,
  chunkBytes,
  columnIndex,
  parquetRuntime,
  readFooter,
  writeParquet,
} from "../../../data/parquet/index.ts";
import { compareLabels, compareText, Labels } from "../promql/core/index.ts";
import { JsonSink } from "./json-sink.ts";
import { metricJson } from "./label-texts.ts";
import { type Rest, sortAtPace } from "./pace.ts";
import { answerTooLarge } from "./query-errors.ts";

const column = "item";
const rowsPerGroup = 100_000;

export function encodeList(items: readonly string[]): Uint8Array<ArrayBuffer> {
  const schema = [{ name: column, type: "text" as const }];
  return writeParquet(schema, groupsOf(items), parquetRuntime, { zstdLevel: 1 });
}

export function decodeList(bytes: Uint8Array): readonly string[] {
  const footer = readFooter(bytes);
  const index = columnIndex(footer, column, "text");
  return footer.rowGroups.flatMap(({ chunks }, group) => {
    const chunk = chunks[index];
    if (chunk === undefined) return [];
    const page = chunkBytes(bytes, chunk);
    return new ChunkReader(footer, group, index, page, parquetRuntime).texts();
  });
}

/**
 * Merges the lists of several shards: sorted, without duplicates, at most `limit` items (0 means no
 * limit).
 */
export async function mergeLists(
  lists: readonly (readonly string[])[],
  limit: number,
  rest: Rest,
): Promise<{ readonly items: readonly string[]; readonly truncated: boolean }> {
  return cut(await sortAtPace([...new Set(lists.flat())], compareText, rest), limit);
}

/** Like `mergeLists`, for lists of `seriesItem`s. */
export async function mergeSeries(
  lists: readonly (readonly string[])[],
  limit: number,
  rest: Rest,
): Promise<{ readonly items: readonly Labels[]; readonly truncated: boolean }> {
  const all: Labels[] = [];
  for (const item of new Set(lists.flat())) {
    if (all.length % restEvery === 0) await rest();
    all.push(labelsOfItem(item));
  }
  return cut(await sortAtPace(all, compareLabels, rest), limit);
}

const restEvery = 1_024;

/** `[{"name":"value",…},…]`. Throws `query_too_large`. */
export async function seriesJson(
  series: readonly Labels[],
  bytesMax: number,
  rest: Rest,
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new JsonSink();
  sink.ascii("[");
  for (const [index, labels] of series.entries()) {
    if (index % restEvery === 0) await rest();
    if (index > 0) sink.ascii(",");
    sink.json(metricJson(labels));
    if (sink.length > bytesMax) throw answerTooLarge(bytesMax);
  }
  sink.ascii("]");
  return sink.take();
}

/** The text form of a series: `["name","value",…]`. */
export function seriesItem(labels: Labels): string {
  return JSON.stringify(labels.pairs);
}

function labelsOfItem(item: string): Labels {
  return new Labels(JSON.parse(item) as string[]);
}

function cut<T>(items: readonly T[], limit: number): { items: readonly T[]; truncated: boolean } {
  const truncated = limit > 0 && items.length > limit;
  return { items: truncated ? items.slice(0, limit) : items, truncated };
}

function* groupsOf(items: readonly string[]): Generator<[readonly string[]]> {
  for (let start = 0; start < items.length; start += rowsPerGroup) {
    yield [items.slice(start, start + rowsPerGroup)];
  }
}
