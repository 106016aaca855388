/**
 * Randomness as an argument: sfc32, seeded. Production seeds it from the operating system
 * (`kernel/node/system-random.ts`), simulation from the seed under test. Not for secrets.
 */
export interface Prng {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). */
  below(bound: number): number;
  /**
   * An independent stream from this seed and `name`, so that subsystems do not disturb each other.
   */
  fork(name: string): Prng;
}

export function createPrng(seed: number | string): Prng {
  return new Sfc32(String(seed));
}

/** Lower-case letters and digits, `length` of them: about 5.17 bits each. */
export function randomText(prng: Prng, length: number): string {
  const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  let text = "";
  for (let index = 0; index < length; index += 1) text += alphabet[prng.below(alphabet.length)];
  return text;
}

class Sfc32 implements Prng {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    this.#a = fnv1a(seed, 0x811c9dc5);
    this.#b = fnv1a(seed, 0x9e3779b9);
    this.#c = fnv1a(seed, 0x85ebca6b);
    for (let round = 0; round < 12; round += 1) this.#word();
  }

  next(): number {
    return this.#word() / 0x1_0000_0000;
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  fork(name: string): Prng {
    return new Sfc32(`${this.#seed}/${name}`);
  }

  #word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

/** FNV-1a over UTF-16 code units, with a chosen basis. */
function fnv1a(text: string, basis: number): number {
  let hash = basis | 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash;
}
