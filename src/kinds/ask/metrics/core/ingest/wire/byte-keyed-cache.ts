/**
 * Remembers what runs of bytes mean: senders repeat the same labels in every request, and decoding
 * text costs a hundred times more than recognising its bytes. Keys are equal only when their bytes
 * are; the hash only finds the slot.
 *
 * The cache is cleared when it would exceed `entriesMax` entries or `keyBytesMax` bytes of keys.
 */
export interface ByteKeyedCacheLimits {
  readonly entriesMax: number;
  readonly keyBytesMax: number;
}

const slotsAtFirst = 1_024;

export class ByteKeyedCache<T> {
  readonly #limits: ByteKeyedCacheLimits;
  /** The entry's index + 1, or 0. The length is a power of two; at most half is used. */
  #slots = new Uint32Array(slotsAtFirst);
  #hashes: number[] = [];
  #keyStarts: number[] = [];
  #keyEnds: number[] = [];
  #values: T[] = [];
  #keyBytes = new Uint8Array(16_384);
  #keys = new DataView(this.#keyBytes.buffer);
  #keyBytesUsed = 0;

  constructor(limits: ByteKeyedCacheLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#values.length;
  }

  get(bytes: DataView, start: number, end: number): T | undefined {
    const hash = hashBytes(bytes, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = (this.#slots[slot] as number) - 1;
      if (entry < 0) return undefined;
      if (this.#hashes[entry] === hash && this.#isKey(entry, bytes, start, end)) {
        return this.#values[entry];
      }
    }
  }

  /** The key must be absent. */
  set(bytes: DataView, start: number, end: number, value: T): void {
    const length = end - start;
    if (length > this.#limits.keyBytesMax) return;
    const isFull =
      this.#values.length >= this.#limits.entriesMax ||
      this.#keyBytesUsed + length > this.#limits.keyBytesMax;
    if (isFull) this.clear();
    if (this.#values.length * 2 >= this.#slots.length) this.#grow();
    const entry = this.#values.length;
    const hash = hashBytes(bytes, start, end);
    this.#hashes.push(hash);
    this.#keyStarts.push(this.#keyBytesUsed);
    this.#keyEnds.push(this.#keyBytesUsed + length);
    this.#values.push(value);
    this.#keep(bytes, start, end);
    this.#place(entry, hash);
  }

  clear(): void {
    this.#slots = new Uint32Array(slotsAtFirst);
    this.#hashes = [];
    this.#keyStarts = [];
    this.#keyEnds = [];
    this.#values = [];
    this.#keyBytesUsed = 0;
  }

  #isKey(entry: number, bytes: DataView, start: number, end: number): boolean {
    const keyStart = this.#keyStarts[entry] as number;
    if ((this.#keyEnds[entry] as number) - keyStart !== end - start) return false;
    const keys = this.#keys;
    let at = start;
    let key = keyStart;
    for (const last = end - 4; at <= last; at += 4, key += 4) {
      if (keys.getInt32(key, true) !== bytes.getInt32(at, true)) return false;
    }
    for (; at < end; at += 1, key += 1) {
      if (keys.getUint8(key) !== bytes.getUint8(at)) return false;
    }
    return true;
  }

  #keep(bytes: DataView, start: number, end: number): void {
    const needed = this.#keyBytesUsed + end - start;
    if (needed > this.#keyBytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#keyBytes.length * 2));
      larger.set(this.#keyBytes.subarray(0, this.#keyBytesUsed));
      this.#keyBytes = larger;
      this.#keys = new DataView(larger.buffer);
    }
    const key = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
    this.#keyBytes.set(key, this.#keyBytesUsed);
    this.#keyBytesUsed = needed;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 4);
    for (const [entry, hash] of this.#hashes.entries()) this.#place(entry, hash);
  }

  #place(entry: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = entry + 1;
  }
}

/** Hashes four bytes at a time; the final mix spreads all bits to the low ones. */
function hashBytes(bytes: DataView, start: number, end: number): number {
  let hash = (end - start) | 0;
  let at = start;
  for (const last = end - 4; at <= last; at += 4) {
    hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x9e3779b1);
    hash = (hash << 13) | (hash >>> 19);
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ bytes.getUint8(at), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & 0x3fff_ffff; // Stays within V8's small integers.
}
