/**
 * Columns of labels in artifacts. A dashboard asks for the same series again and again, in the same
 * order: the worker keeps the column that it encoded for them, and the evaluation thread keeps the
 * labels that it read from such a column. Both keep the columns that were used last.
 */
import {
  type ColumnSpec,
  type EncodedColumn,
  encodeColumn,
  parquetRuntime,
} from "../../../data/parquet/index.ts";
import type { Labels } from "../promql/core/index.ts";
import { LabelsReader, pairsJson } from "./label-texts.ts";

export const labelsColumn = { name: "labels", type: "text" } as const satisfies ColumnSpec;

/** Readers never skip parts of an artifact, and a few kilobytes are sent faster than compressed. */
export const artifactWriting = {
  zstdLevel: 1,
  statistics: false,
  compressBytesMin: 4096,
} as const;

/** The bounds of what is kept: label sets, and encoded bytes. */
export interface LabelColumnLimits {
  readonly rowsMax: number;
  readonly bytesMax: number;
}

const defaultLimits: LabelColumnLimits = { rowsMax: 200_000, bytesMax: 8 * 1024 ** 2 };

interface KeptColumn {
  readonly rowCount: number;
  readonly byteCount: number;
}

/** A map that forgets what was used the longest ago. One column alone may not fill it. */
class KeptColumns<Column extends KeptColumn> {
  readonly #byKey = new Map<string, Column>();
  readonly #limits: LabelColumnLimits;
  #rowCount = 0;
  #byteCount = 0;

  constructor(limits: LabelColumnLimits) {
    this.#limits = limits;
  }

  find(key: string): Column | undefined {
    const found = this.#byKey.get(key);
    if (found === undefined) return undefined;
    this.#byKey.delete(key);
    this.#byKey.set(key, found);
    return found;
  }

  keep(key: string, column: Column): void {
    const { rowsMax, bytesMax } = this.#limits;
    this.#drop(key);
    if (column.rowCount > rowsMax / 2 || column.byteCount > bytesMax / 2) return;
    this.#byKey.set(key, column);
    this.#rowCount += column.rowCount;
    this.#byteCount += column.byteCount;
    for (const oldest of this.#byKey.keys()) {
      if (this.#rowCount <= rowsMax && this.#byteCount <= bytesMax) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const column = this.#byKey.get(key);
    if (column === undefined) return;
    this.#byKey.delete(key);
    this.#rowCount -= column.rowCount;
    this.#byteCount -= column.byteCount;
  }
}

interface WrittenColumn extends KeptColumn {
  readonly labels: readonly Labels[];
  readonly encoded: EncodedColumn;
}

/** The worker's side. Labels are the same objects while their segment is open. */
export class WrittenLabels {
  readonly #kept: KeptColumns<WrittenColumn>;

  constructor(limits: LabelColumnLimits = defaultLimits) {
    this.#kept = new KeptColumns(limits);
  }

  column(labels: readonly Labels[]): EncodedColumn {
    const key = keyOf(labels);
    const known = this.#kept.find(key);
    if (known !== undefined && areSame(known.labels, labels)) return known.encoded;
    const texts = labels.map(pairsJson);
    const encoded = encodeColumn(labelsColumn, texts, parquetRuntime, artifactWriting);
    const { byteCount } = encoded;
    this.#kept.keep(key, { rowCount: labels.length, byteCount, labels, encoded });
    return encoded;
  }
}

/** Finds a candidate; the labels themselves are compared afterwards. */
function keyOf(labels: readonly Labels[]): string {
  const { length } = labels;
  return length === 0 ? "" : `${length} ${labels[0]?.key} ${labels[length - 1]?.key}`;
}

function areSame(left: readonly Labels[], right: readonly Labels[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) {
    if (left[index] !== right[index]) return false;
  }
  return true;
}

interface ReadColumn extends KeptColumn {
  readonly chunk: Uint8Array;
  readonly labels: readonly Labels[];
}

/** The evaluation thread's side. Equal bytes of a column have the same labels. */
export class ReadLabels {
  readonly #kept: KeptColumns<ReadColumn>;
  readonly #reader = new LabelsReader();

  constructor(limits: LabelColumnLimits = defaultLimits) {
    this.#kept = new KeptColumns(limits);
  }

  /** `texts` decodes the chunk. */
  column(chunk: Uint8Array, texts: () => readonly string[]): readonly Labels[] {
    const key = `${chunk.length} ${parquetRuntime.crc32(chunk)}`;
    const known = this.#kept.find(key);
    if (known !== undefined && Buffer.compare(known.chunk, chunk) === 0) return known.labels;
    const labels = texts().map((text) => this.#reader.read(text));
    const kept = { rowCount: labels.length, byteCount: chunk.length, labels };
    this.#kept.keep(key, { ...kept, chunk: chunk.slice() });
    return labels;
  }
}
