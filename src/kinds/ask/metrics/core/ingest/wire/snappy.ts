/**
 * Snappy's block format: a length, then literals and copies of earlier output.
 *
 * The input is not trusted: the declared length is limited, every element must lie inside the input
 * and write inside the declared length, a copy must begin in earlier output, and the output must
 * have exactly the declared length.
 */
import { MalformedInput } from "../malformed.ts";

/** Prometheus's receivers accept no more; its senders stay far below. */
export const decompressedBytesMax: number = 32 * 1024 * 1024;

/**
 * The best element gives 64 bytes for 3 (a copy), so a longer claim is refused before allocating.
 */
const expansionMax = 22;

export function decompressSnappy(
  input: Uint8Array,
  bytesMax: number = decompressedBytesMax,
): Uint8Array {
  const { length, offset } = readLength(input);
  if (length > bytesMax) {
    throw new MalformedInput(`snappy: ${length} bytes decompressed, at most ${bytesMax} are taken`);
  }
  if (length > (input.length - offset) * expansionMax) throw corrupt();
  const output = new Uint8Array(length);
  const end = inflate(input, offset, output);
  if (end !== length) throw corrupt();
  return output;
}

function readLength(input: Uint8Array): { length: number; offset: number } {
  let length = 0;
  let scale = 1;
  for (let offset = 0; offset < 5; offset += 1) {
    const byte = input[offset];
    if (byte === undefined) throw corrupt();
    length += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) {
      if (length > 0xffff_ffff) throw corrupt();
      return { length, offset: offset + 1 };
    }
  }
  throw corrupt();
}

/** Decodes all elements in one loop, for speed. Returns the number of bytes written. */
function inflate(input: Uint8Array, start: number, output: Uint8Array): number {
  const inputEnd = input.length;
  const outputEnd = output.length;
  let from = start;
  let to = 0;
  while (from < inputEnd) {
    const tag = input[from] as number;
    from += 1;
    const kind = tag & 3;
    let length: number;
    let distance: number;
    if (kind === 0) {
      length = (tag >> 2) + 1;
      if (length > 60) {
        const lengthBytes = length - 60;
        if (from + lengthBytes > inputEnd) throw corrupt();
        length = littleEndian(input, from, lengthBytes) + 1;
        from += lengthBytes;
      }
      if (length > inputEnd - from || length > outputEnd - to) throw corrupt();
      if (length < 24) {
        for (const last = to + length; to < last; to += 1, from += 1) {
          output[to] = input[from] as number;
        }
      } else {
        output.set(input.subarray(from, from + length), to);
        to += length;
        from += length;
      }
      continue;
    }
    if (kind === 1) {
      if (from >= inputEnd) throw corrupt();
      length = ((tag >> 2) & 7) + 4;
      distance = ((tag >> 5) << 8) | (input[from] as number);
      from += 1;
    } else {
      const distanceBytes = kind === 2 ? 2 : 4;
      if (from + distanceBytes > inputEnd) throw corrupt();
      length = (tag >> 2) + 1;
      distance = littleEndian(input, from, distanceBytes);
      from += distanceBytes;
    }
    if (distance === 0 || distance > to || length > outputEnd - to) throw corrupt();
    // A copy may overlap its own output; then it repeats.
    for (const last = to + length; to < last; to += 1) {
      output[to] = output[to - distance] as number;
    }
  }
  return to;
}

function littleEndian(input: Uint8Array, offset: number, byteCount: number): number {
  let value = 0;
  for (let index = byteCount - 1; index >= 0; index -= 1) {
    value = value * 256 + (input[offset + index] as number);
  }
  return value;
}

function corrupt(): MalformedInput {
  return new MalformedInput("snappy: corrupt input");
}

const hashBits = 14;
const blockBytes = 65_536;

/** For tests, benchmarks and writes to other receivers: greedy matches within blocks of 64 KiB. */
export function compressSnappy(input: Uint8Array): Uint8Array {
  const output = new Uint8Array(6 + input.length + Math.ceil(input.length / 6));
  let to = writeLength(output, input.length);
  const table = new Int32Array(1 << hashBits);
  for (let start = 0; start < input.length; start += blockBytes) {
    table.fill(-1);
    to = compressBlock(input, start, Math.min(start + blockBytes, input.length), table, output, to);
  }
  return output.subarray(0, to);
}

function writeLength(output: Uint8Array, length: number): number {
  let to = 0;
  let rest = length;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) {
    output[to] = (rest % 128) | 0x80;
    to += 1;
  }
  output[to] = rest;
  return to + 1;
}

function compressBlock(
  input: Uint8Array,
  start: number,
  end: number,
  table: Int32Array,
  output: Uint8Array,
  outputStart: number,
): number {
  let to = outputStart;
  let literalStart = start;
  let at = start;
  while (at + 4 <= end) {
    const word = word32(input, at);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - hashBits);
    const candidate = table[slot] as number;
    table[slot] = at;
    if (candidate < start || word32(input, candidate) !== word) {
      at += 1;
      continue;
    }
    let length = 4;
    while (at + length < end && length < 64 && input[candidate + length] === input[at + length]) {
      length += 1;
    }
    to = writeLiteral(input, literalStart, at, output, to);
    const distance = at - candidate;
    output[to] = ((length - 1) << 2) | 2;
    output[to + 1] = distance & 0xff;
    output[to + 2] = distance >> 8;
    to += 3;
    at += length;
    literalStart = at;
  }
  return writeLiteral(input, literalStart, end, output, to);
}

function writeLiteral(
  input: Uint8Array,
  start: number,
  end: number,
  output: Uint8Array,
  outputStart: number,
): number {
  if (start === end) return outputStart;
  let to = outputStart;
  const last = end - start - 1;
  if (last < 60) {
    output[to] = last << 2;
    to += 1;
  } else {
    const lengthBytes = last < 0x100 ? 1 : last < 0x1_0000 ? 2 : 3;
    output[to] = (59 + lengthBytes) << 2;
    to += 1;
    for (let index = 0; index < lengthBytes; index += 1) {
      output[to] = (last >> (8 * index)) & 0xff;
      to += 1;
    }
  }
  output.set(input.subarray(start, end), to);
  return to + (end - start);
}

function word32(input: Uint8Array, at: number): number {
  return (
    (input[at] as number) |
    ((input[at + 1] as number) << 8) |
    ((input[at + 2] as number) << 16) |
    ((input[at + 3] as number) << 24)
  );
}
