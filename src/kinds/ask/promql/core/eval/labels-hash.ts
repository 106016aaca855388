/**
 * Prometheus's hash of labels as a number from 0 to 1: the xxHash64 of their encoding, divided by
 * the greatest hash.
 */
import type { Labels } from "../labels.ts";

const mask64 = (1n << 64n) - 1n;
const prime1 = 0x9e3779b185ebca87n;
const prime2 = 0xc2b2ae3d27d4eb4fn;
const prime3 = 0x165667b19e3779f9n;
const prime4 = 0x85ebca77c2b2ae63n;
const prime5 = 0x27d4eb2f165667c5n;

export function labelsOffset(labels: Labels): number {
  return Number(xxHash64(encodeLabels(labels))) / Number(mask64);
}

/** Each text follows its length: one byte, or 255 and three bytes. */
function encodeLabels(labels: Labels): Uint8Array {
  const encoder = new TextEncoder();
  const bytes: number[] = [];
  for (const text of labels.pairs) {
    const encoded = encoder.encode(text);
    const { length } = encoded;
    if (length < 255) bytes.push(length);
    else bytes.push(255, length & 0xff, (length >> 8) & 0xff, (length >> 16) & 0xff);
    bytes.push(...encoded);
  }
  return Uint8Array.from(bytes);
}

/** Uses seed 0. Exported for its test. */
export function xxHash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = prime5;
  if (bytes.length >= 32) {
    const lanes = [(prime1 + prime2) & mask64, prime2, 0n, -prime1 & mask64];
    for (; at + 32 <= bytes.length; at += 32) {
      for (let lane = 0; lane < 4; lane += 1) {
        lanes[lane] = round(lanes[lane] as bigint, view.getBigUint64(at + lane * 8, true));
      }
    }
    const [a = 0n, b = 0n, c = 0n, d = 0n] = lanes;
    hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & mask64;
    for (const lane of lanes) hash = ((hash ^ round(0n, lane)) * prime1 + prime4) & mask64;
  }
  hash = (hash + BigInt(bytes.length)) & mask64;
  for (; at + 8 <= bytes.length; at += 8) {
    hash ^= round(0n, view.getBigUint64(at, true));
    hash = (rotate(hash, 27n) * prime1 + prime4) & mask64;
  }
  if (at + 4 <= bytes.length) {
    hash ^= (BigInt(view.getUint32(at, true)) * prime1) & mask64;
    hash = (rotate(hash, 23n) * prime2 + prime3) & mask64;
    at += 4;
  }
  for (; at < bytes.length; at += 1) {
    hash ^= (BigInt(view.getUint8(at)) * prime5) & mask64;
    hash = (rotate(hash, 11n) * prime1) & mask64;
  }
  return avalanche(hash);
}

function avalanche(value: bigint): bigint {
  let hash = value;
  hash = ((hash ^ (hash >> 33n)) * prime2) & mask64;
  hash = ((hash ^ (hash >> 29n)) * prime3) & mask64;
  return hash ^ (hash >> 32n);
}

function round(accumulator: bigint, input: bigint): bigint {
  return (rotate((accumulator + input * prime2) & mask64, 31n) * prime1) & mask64;
}

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & mask64;
}
