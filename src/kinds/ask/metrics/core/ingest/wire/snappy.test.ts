import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MalformedInput } from "../malformed.ts";
import { compressSnappy, decompressSnappy } from "./snappy.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

const good = [
  { name: "empty", input: bytes(0), want: "" },
  { name: "a literal", input: bytes(3, 2 << 2, 97, 98, 99), want: "abc" },
  {
    name: "a copy with one byte of distance",
    input: bytes(8, 3 << 2, 97, 98, 99, 100, 1, 4),
    want: "abcdabcd",
  },
  {
    name: "a copy that overlaps itself repeats",
    input: bytes(6, 0, 97, (4 << 2) | 2, 1, 0),
    want: "aaaaaa",
  },
  {
    name: "a copy with four bytes of distance",
    input: bytes(4, 1 << 2, 97, 98, (1 << 2) | 3, 2, 0, 0, 0),
    want: "abab",
  },
  {
    name: "a literal with its length in a byte of its own",
    input: bytes(2, 60 << 2, 1, 97, 98),
    want: "ab",
  },
];
for (const { name, input, want } of good) {
  test(`[IN1] snappy: ${name}`, () => {
    assert.equal(new TextDecoder().decode(decompressSnappy(input)), want);
  });
}

const bad = [
  { name: "nothing at all", input: bytes() },
  { name: "a length without an end", input: bytes(255, 255, 255, 255, 255) },
  { name: "a length beyond 32 bits", input: bytes(255, 255, 255, 255, 127) },
  { name: "a literal beyond the input", input: bytes(3, 2 << 2, 97) },
  { name: "a literal beyond the declared length", input: bytes(1, 2 << 2, 97, 98, 99) },
  { name: "less than declared", input: bytes(4, 2 << 2, 97, 98, 99) },
  { name: "a copy from before the beginning", input: bytes(8, 3 << 2, 97, 98, 99, 100, 1, 5) },
  { name: "a copy of distance 0", input: bytes(8, 3 << 2, 97, 98, 99, 100, 1, 0) },
  { name: "a copy without its distance", input: bytes(8, 3 << 2, 97, 98, 99, 100, 2, 1) },
  { name: "a copy beyond the declared length", input: bytes(5, 3 << 2, 97, 98, 99, 100, 1, 4) },
  { name: "a large claim in a small body", input: bytes(0x80, 0x80, 0x80, 8, 0, 97) },
];
for (const { name, input } of bad) {
  test(`[IN1] snappy refuses ${name}`, () => {
    assert.throws(() => decompressSnappy(input), MalformedInput);
  });
}

test("[IN1] snappy refuses more than the limit before it allocates", () => {
  const input = compressSnappy(new Uint8Array(1_000));
  assert.equal(decompressSnappy(input, 1_000).length, 1_000);
  assert.throws(() => decompressSnappy(input, 999), /at most 999/);
});

test("[IN1] snappy: what was compressed comes back, random or repetitive, beyond a block too", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 1, max: 900 }),
      (part, times) => {
        const input = new Uint8Array(part.length * times);
        for (let index = 0; index < times; index += 1) input.set(part, index * part.length);
        const compressed = compressSnappy(input);
        assert.deepEqual(decompressSnappy(compressed), input);
      },
    ),
    { numRuns: 60 },
  );
});

test("[IN1] snappy: any byte changed or cut off gives an answer or a refusal, and ends", () => {
  const whole = compressSnappy(ascii("http_requests_total ".repeat(20)));
  for (let at = 0; at < whole.length; at += 1) {
    tolerates(whole.subarray(0, at));
    for (let bit = 0; bit < 8; bit += 1) {
      const changed = whole.slice();
      changed[at] = (changed[at] as number) ^ (1 << bit);
      tolerates(changed);
    }
  }
});

function tolerates(input: Uint8Array): void {
  try {
    decompressSnappy(input, 100_000);
  } catch (thrown) {
    assert.ok(thrown instanceof MalformedInput, String(thrown));
  }
}
