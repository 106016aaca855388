/** Samples of an import on their way to disk: columns of one block of time, in order of arrival. */
import { assert } from "../../../../../../ground/kernel/errors.ts";

export interface SamplePage {
  readonly count: number;
  /** The number that the parser gave the series. */
  readonly series: Uint32Array;
  readonly ts: Float64Array;
  readonly values: Float64Array;
  readonly startTs: Float64Array | undefined;
}

export function pageBytes(count: number, hasStart: boolean): number {
  return alignedTo8(count * 4) + count * 8 * (hasStart ? 3 : 2);
}

/** Uses this machine's byte order, because the same process reads it back. */
export function encodePage(page: SamplePage): Uint8Array {
  const { count, series, ts, values, startTs } = page;
  const buffer = new ArrayBuffer(pageBytes(count, startTs !== undefined));
  const doublesAt = alignedTo8(count * 4);
  new Uint32Array(buffer, 0, count).set(series.subarray(0, count));
  new Float64Array(buffer, doublesAt, count).set(ts.subarray(0, count));
  new Float64Array(buffer, doublesAt + count * 8, count).set(values.subarray(0, count));
  if (startTs !== undefined) {
    new Float64Array(buffer, doublesAt + count * 16, count).set(startTs.subarray(0, count));
  }
  return new Uint8Array(buffer);
}

/** The columns are views of `buffer`. */
export function decodePage(buffer: ArrayBuffer, count: number, hasStart: boolean): SamplePage {
  assert(buffer.byteLength === pageBytes(count, hasStart), "a page is as long as it was written");
  const doublesAt = alignedTo8(count * 4);
  return {
    count,
    series: new Uint32Array(buffer, 0, count),
    ts: new Float64Array(buffer, doublesAt, count),
    values: new Float64Array(buffer, doublesAt + count * 8, count),
    startTs: hasStart ? new Float64Array(buffer, doublesAt + count * 16, count) : undefined,
  };
}

function alignedTo8(bytes: number): number {
  return (bytes + 7) & ~7;
}
