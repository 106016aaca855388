/**
 * The hash of the values of some columns of a row: 64 bits, stable for ever, because key groups of
 * exchanges and stored state depend on it. Test vectors pin it.
 *
 * The hash is two lanes of 32 bits. A lane starts from its seed, takes words one after the other,
 * and is finished by murmur3's mixer:
 *
 *   take(w):  h = (h xor w) * M mod 2^32;  h = h xor (h >>> 15)
 *   finish:   h ^= h >>> 16; h *= 0x85ebca6b; h ^= h >>> 13; h *= 0xc2b2ae35; h ^= h >>> 16
 *   low lane:  seed 0x2545f491, M 0x9e3779b1       high lane: seed 0x6c62272e, M 0x27d4eb2f
 *
 * The words of a value: an integer, BOOLEAN or CHAR is extended to 64 bits (with its sign where its
 * type has one), low word first; a float is the two words of its FLOAT64 value, with -0 as 0 and
 * every NaN as 0x7ff8000000000000; a text is its bytes by four, the first one lowest, the rest
 * filled with zeros, and then its length in bytes; NULL is the word 0x5bd1e995. So equal values of
 * different widths have equal hashes.
 *
 * Tables inside an operator use the low lane and exchanges the high one, so that the keys that one
 * instance receives still spread over its tables.
 */
import { isSigned, type TypeName } from "../../../language/core/index.ts";
import { type ColumnView, is64Bit } from "./column-view.ts";

const lanes = {
  low: { seed: 0x2545f491, factor: 0x9e3779b1 },
  high: { seed: 0x6c62272e, factor: 0x27d4eb2f },
} as const;

export type HashLane = keyof typeof lanes;

/** Writes the lane of the hash of row `rows[i]` to `out[i]`, as a signed 32-bit number. */
export type HashRows = (
  views: readonly ColumnView[],
  rows: Int32Array,
  count: number,
  out: Int32Array,
) => void;

/** The key groups of a query, over which exchanges spread its keys. */
export const keyGroupCount = 256;

/** The key group of a row by the high lane of the hash of its keys. */
export function keyGroupOf(high: number): number {
  return high >>> 24;
}

const compiled = new Map<string, HashRows>();

/** The loop for columns of these types. Loops are made once for each list of types. */
export function hashRowsOf(types: readonly TypeName[], lane: HashLane = "low"): HashRows {
  const shape = `${lane} ${types.join(" ")}`;
  let found = compiled.get(shape);
  if (found === undefined) {
    found = compile(types, lane);
    compiled.set(shape, found);
  }
  return found;
}

function compile(types: readonly TypeName[], lane: HashLane): HashRows {
  const { seed, factor } = lanes[lane];
  const take = (word: string) => `h = Math.imul(h ^ ${word}, ${factor | 0}); h ^= h >>> 15;`;
  const lines: string[] = [];
  for (const [i, type] of types.entries()) {
    lines.push(`if (v${i} !== undefined && ((v${i}[r >> 3] >> (r & 7)) & 1) === 0) {`);
    lines.push(`${take("0x5bd1e995")} } else { ${wordsOf(type, i, take)} }`);
  }
  const heads = types.map(
    (_, i) =>
      `const d${i} = views[${i}].data, o${i} = views[${i}].offsets, v${i} = views[${i}].validity;`,
  );
  const body = `
    const float = new Float64Array(1), bits = new Int32Array(float.buffer);
    return function hashRows(views, rows, count, out) {
      ${heads.join("\n")}
      for (let i = 0; i < count; i += 1) {
        const r = rows[i];
        let h = ${seed | 0};
        ${lines.join("\n")}
        h ^= h >>> 16; h = Math.imul(h, ${0x85ebca6b | 0});
        h ^= h >>> 13; h = Math.imul(h, ${0xc2b2ae35 | 0});
        out[i] = h ^ (h >>> 16);
      }
    };`;
  return new Function(body)() as HashRows;
}

function wordsOf(type: TypeName, i: number, take: (word: string) => string): string {
  if (is64Bit(type)) return `${take(`d${i}[2 * r]`)} ${take(`d${i}[2 * r + 1]`)}`;
  if (type === "VARSIZED") {
    const at = (n: number) => `d${i}[p + ${n}]`;
    return `
      const end = o${i}[r + 1]; let p = o${i}[r];
      for (; p + 4 <= end; p += 4) {
        ${take(`(${at(0)} | (${at(1)} << 8) | (${at(2)} << 16) | (${at(3)} << 24))`)}
      }
      if (p < end) {
        let w = 0;
        for (let s = 0; p < end; p += 1, s += 8) w |= d${i}[p] << s;
        ${take("w")}
      }
      ${take(`(end - o${i}[r])`)}`;
  }
  if (type === "FLOAT32" || type === "FLOAT64") {
    return `
      const x = d${i}[r];
      float[0] = x === 0 ? 0 : x;
      if (x !== x) { bits[0] = 0; bits[1] = 0x7ff80000; }
      ${take("bits[0]")} ${take("bits[1]")}`;
  }
  return `${take(`d${i}[r]`)} ${take(isSigned(type) ? `(d${i}[r] >> 31)` : "0")}`;
}
