/**
 * A process's disk: file names and their content. A worker's spool on it is wiped when it starts.
 */
export type Damage = "lost" | "corrupt";

export class SimDisk {
  readonly #files = new Map<string, Uint8Array>();
  #damage: Damage = "lost";
  #damageCount = 0;

  /** `content` must not change any more. */
  write(path: string, content: Uint8Array): void {
    if (this.#damageCount === 0) {
      this.#files.set(path, content);
      return;
    }
    this.#damageCount -= 1;
    if (this.#damage === "corrupt") this.#files.set(path, this.#damaged(content));
  }

  read(path: string): Uint8Array | undefined {
    return this.#files.get(path);
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  wipe(): void {
    this.#files.clear();
  }

  get fileCount(): number {
    return this.#files.size;
  }

  paths(): readonly string[] {
    return [...this.#files.keys()];
  }

  /** Silently damages the next `count` writes. */
  damageNext(count: number, damage: Damage): void {
    this.#damageCount = count;
    this.#damage = damage;
  }

  /** A misdirected write, so that another file's content is read; or else one flipped bit. */
  #damaged(content: Uint8Array): Uint8Array {
    const [other] = this.#files.values();
    if (this.#damageCount % 2 === 0 && other !== undefined) return other;
    const damaged = new Uint8Array(content); // A `Buffer` would share its bytes with a slice.
    const at = damaged.length >> 1;
    damaged[at] = (damaged[at] as number) ^ 0x10;
    return damaged;
  }
}
