/** Texts with few distinct values, as codes. Written as a dictionary (RLE_DICTIONARY). */
import { assert } from "../../../ground/kernel/errors.ts";
import { ByteSink } from "./byte-sink.ts";
import type { ParquetRuntime } from "./parquet-types.ts";
import { encodeTexts } from "./plain.ts";

export class CodedTexts {
  readonly texts: readonly string[];
  /** The values, each an index of `texts`. */
  readonly codes: Uint16Array;

  constructor(texts: readonly string[], codes: Uint16Array) {
    this.texts = texts;
    this.codes = codes;
  }

  static constant(text: string, length: number): CodedTexts {
    return new CodedTexts([text], new Uint16Array(length));
  }

  get length(): number {
    return this.codes.length;
  }

  /** The texts that occur, in order. */
  used(): readonly string[] {
    return this.#places().map((place) => this.texts[place] ?? "");
  }

  /** The plain dictionary of texts that occur, and the page of codes that refer to it. */
  encode(runtime: ParquetRuntime): {
    readonly dictionary: Uint8Array;
    readonly dictionaryLength: number;
    readonly bytes: Uint8Array;
  } {
    const places = this.#places();
    const dictionary = encodeTexts(
      places.map((place) => this.texts[place] ?? ""),
      runtime,
    );
    const newCodes = new Uint16Array(this.texts.length);
    for (const [code, place] of places.entries()) newCodes[place] = code;
    const bytes = places.length === 1 ? oneRun(this.length) : packed(this.codes, newCodes, places);
    return { dictionary, dictionaryLength: places.length, bytes };
  }

  #places(): readonly number[] {
    if (this.texts.length === 1 && this.length > 0) return [0];
    const occurs = new Uint8Array(this.texts.length);
    const { codes } = this;
    // By index: an iterator costs several times as much.
    for (let at = 0; at < codes.length; at += 1) occurs[codes[at] as number] = 1;
    return [...this.texts.keys()].filter((place) => occurs[place] === 1);
  }
}

/** A run of one code. */
function oneRun(count: number): Uint8Array {
  const sink = new ByteSink(16);
  sink.byte(1); // Bit width of a code.
  sink.varint(count * 2);
  sink.byte(0);
  return sink.view();
}

/** One run of packed codes, lowest bits first, padded to a multiple of eight. */
function packed(codes: Uint16Array, newCodes: Uint16Array, places: readonly number[]): Uint8Array {
  const width = 32 - Math.clz32(Math.max(1, places.length - 1));
  assert(width <= 16, "numbers of texts have at most 16 bits");
  const groups = Math.ceil(codes.length / 8);
  const sink = new ByteSink(groups * width + 16);
  sink.byte(width);
  sink.varint(groups * 2 + 1);
  let bits = 0;
  let held = 0;
  for (let at = 0; at < groups * 8; at += 1) {
    bits |= (newCodes[codes[at] ?? 0] ?? 0) << held;
    held += width;
    while (held >= 8) {
      sink.byte(bits & 0xff);
      bits >>>= 8;
      held -= 8;
    }
  }
  return sink.view();
}
