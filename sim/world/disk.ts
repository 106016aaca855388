/** A process's disk: file names and their content. A worker's spool on it is wiped when it starts. */
export type Damage = "lost" | "corrupt";

export class SimDisk {
  readonly #files = new Map<string, string>();
  #damage: Damage = "lost";
  #damageCount = 0;

  write(path: string, content: string): void {
    if (this.#damageCount === 0) {
      this.#files.set(path, content);
      return;
    }
    this.#damageCount -= 1;
    if (this.#damage === "corrupt") this.#files.set(path, `${content.slice(0, -1)}?`);
  }

  read(path: string): string | undefined {
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

  /** What is written next, `count` times, does not stay as it was written, and nobody notices. */
  damageNext(count: number, damage: Damage): void {
    this.#damageCount = count;
    this.#damage = damage;
  }
}
