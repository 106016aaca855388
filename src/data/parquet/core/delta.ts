/**
 * DELTA_BINARY_PACKED: integers as differences in blocks of 128, each with the bits that its
 * differences need. Works on doubles that hold integers, which is exact, because columns with too
 * wide values or differences are written plain (`fitsDelta`). The loops are long and plain on
 * purpose: this is the time column of every query.
 */
import type { ByteSink } from "./byte-sink.ts";
import { ByteSource } from "./byte-source.ts";
import { corrupt, unsupported } from "./parquet-error.ts";

const blockSize = 128;
const miniBlocks = 4;
const miniBlockSize = blockSize / miniBlocks;
/** Up to seven bits are pending when this many are added: 52 in all, an exact double. */
const widthMax = 45;
/** Four bytes hold this many bits, at any bit offset in the first byte. */
const narrowMax = 25;
const spanMax = 2 ** (widthMax - 1);

export function fitsDelta(values: Float64Array | Int32Array): boolean {
  let min = Infinity;
  let max = -Infinity;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (values instanceof Int32Array) return max - min < 2 ** 30; // Other readers use 32 bits.
  return max - min < spanMax && Math.abs(min) < 2 ** 51 && Math.abs(max) < 2 ** 51;
}

export function encodeDelta(values: Float64Array | Int32Array, sink: ByteSink): void {
  sink.varint(blockSize);
  sink.varint(miniBlocks);
  sink.varint(values.length);
  sink.zigzag(values[0] ?? 0);
  const deltas = new Float64Array(blockSize);
  const packed = new Uint8Array((blockSize * widthMax) / 8 + 16);
  for (let start = 1; start < values.length; start += blockSize) {
    const count = Math.min(blockSize, values.length - start);
    let min = Infinity;
    for (let index = 0; index < count; index += 1) {
      const at = start + index;
      const delta = (values[at] as number) - (values[at - 1] as number);
      deltas[index] = delta;
      if (delta < min) min = delta;
    }
    sink.zigzag(min);
    let length = 0;
    for (let mini = 0; mini < miniBlocks; mini += 1) {
      const from = mini * miniBlockSize;
      const to = Math.min(from + miniBlockSize, count);
      let most = 0;
      for (let index = from; index < to; index += 1) {
        const above = (deltas[index] as number) - min;
        deltas[index] = above;
        if (above > most) most = above;
      }
      const width = bitsOf(most);
      sink.byte(width);
      length = packMiniBlock(deltas, from, to, width, packed, length);
    }
    sink.bytes(packed.subarray(0, length));
  }
}

/** Packs a miniblock, padded with zeros. Returns the length of `packed` afterwards. */
function packMiniBlock(
  deltas: Float64Array,
  from: number,
  to: number,
  width: number,
  packed: Uint8Array,
  start: number,
): number {
  if (width === 0) return start;
  const end = start + (miniBlockSize * width) / 8;
  let at = start;
  let waiting = 0;
  let waitingBits = 0;
  for (let index = from; index < to; index += 1) {
    waiting += (deltas[index] as number) * 2 ** waitingBits;
    waitingBits += width;
    while (waitingBits >= 8) {
      packed[at] = waiting % 256;
      at += 1;
      waiting = Math.floor(waiting / 256);
      waitingBits -= 8;
    }
  }
  if (waitingBits > 0) {
    packed[at] = waiting;
    at += 1;
  }
  packed.fill(0, at, end);
  return end;
}

function bitsOf(value: number): number {
  if (value < 2 ** 32) return 32 - Math.clz32(value);
  return 64 - Math.clz32(Math.floor(value / 2 ** 32));
}

/** Fills `out`, whose length is the number of values that the page claims to have. */
export function decodeDelta(bytes: Uint8Array, out: Float64Array | Int32Array): void {
  const source = new ByteSource(bytes);
  const size = source.varint();
  const minis = source.varint();
  if (size !== blockSize || minis !== miniBlocks) throw unsupported("delta blocks of another size");
  if (source.varint() !== out.length) throw corrupt("a delta page has another number of values");
  let value = source.zigzag();
  if (out.length > 0) out[0] = value;
  const scratch = new Uint8Array((miniBlockSize * widthMax) / 8 + 8);
  let at = 1;
  while (at < out.length) {
    const min = source.zigzag();
    const widths = source.take(miniBlocks);
    for (let mini = 0; mini < miniBlocks && at < out.length; mini += 1) {
      const width = widths[mini] as number;
      const end = Math.min(at + miniBlockSize, out.length);
      if (width === 0) {
        for (; at < end; at += 1) {
          value += min;
          out[at] = value;
        }
        continue;
      }
      if (width > widthMax) throw unsupported(`differences of ${width} bits`);
      const begin = source.position;
      const packed = source.take((miniBlockSize * width) / 8);
      let data = bytes;
      let base = begin;
      // Reading a value may touch bytes behind it, so there must be some at the end.
      if (source.left < 8) {
        scratch.set(packed);
        data = scratch;
        base = 0;
      }
      if (width <= narrowMax) {
        const mask = 2 ** width - 1;
        for (let bit = 0; at < end; at += 1, bit += width) {
          const byte = base + (bit >>> 3);
          const word =
            (data[byte] as number) |
            ((data[byte + 1] as number) << 8) |
            ((data[byte + 2] as number) << 16) |
            ((data[byte + 3] as number) << 24);
          value += min + ((word >>> (bit & 7)) & mask);
          out[at] = value;
        }
      } else {
        for (let bit = 0; at < end; at += 1, bit += width) {
          value += min + readWide(data, base, bit, width);
          out[at] = value;
        }
      }
    }
  }
  if (!Number.isSafeInteger(value)) throw corrupt("a delta page leaves the safe range");
}

/** Lowest bits first. Seven bytes exceed a double, so the last gives only the needed bits. */
function readWide(data: Uint8Array, base: number, bit: number, width: number): number {
  const byte = base + (bit >>> 3);
  const needed = (bit & 7) + width;
  let word = needed > 48 ? (data[byte + 6] as number) & (2 ** (needed - 48) - 1) : 0;
  for (let index = 5; index >= 0; index -= 1) word = word * 256 + (data[byte + index] as number);
  return Math.floor(word / 2 ** (bit & 7)) % 2 ** width;
}
