/** What is known about labels, as a Parquet file of one column: a text for each series, name or value. */
import {
  ChunkReader,
  chunkBytes,
  columnIndex,
  parquetRuntime,
  readFooter,
  writeParquet,
} from "../../parquet/index.ts";
import { compareLabels, compareText, Labels } from "../../promql/core/index.ts";

const column = "item";
const rowsPerGroup = 100_000;

export function encodeList(items: readonly string[]): Uint8Array {
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

/** Of several shards: each once, in order, at most `limit` (0: all). */
export function mergeLists(
  op: "series" | "names" | "values",
  lists: readonly (readonly string[])[],
  limit: number,
): { readonly items: readonly string[]; readonly truncated: boolean } {
  const items = [...new Set(lists.flat())];
  const sorted = op === "series" ? sortSeries(items) : items.sort(compareText);
  const truncated = limit > 0 && sorted.length > limit;
  return { items: truncated ? sorted.slice(0, limit) : sorted, truncated };
}

/** A series travels as `["name","value",…]`. */
export function seriesItem(labels: Labels): string {
  return JSON.stringify(labels.pairs);
}

export function labelsOfItem(item: string): Labels {
  return new Labels(JSON.parse(item) as string[]);
}

function sortSeries(items: readonly string[]): readonly string[] {
  const parsed = items.map((item) => ({ item, labels: labelsOfItem(item) }));
  return parsed.sort((a, b) => compareLabels(a.labels, b.labels)).map(({ item }) => item);
}

function* groupsOf(items: readonly string[]): Generator<[readonly string[]]> {
  for (let start = 0; start < items.length; start += rowsPerGroup) {
    yield [items.slice(start, start + rowsPerGroup)];
  }
}
