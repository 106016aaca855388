import { appendFileSync, renameSync, statSync } from "node:fs";

/** A child's log, kept in two files of at most `bytesMax` each. Older lines are deleted. */
export class LogFile {
  readonly #path: string;
  readonly #bytesMax: number;
  #bytes: number;

  constructor(path: string, bytesMax: number = 8 * 1024 * 1024) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** An error (the disk is full) is ignored, so that it does not end the process. */
  append(line: string): void {
    const text = `${line}\n`;
    try {
      if (this.#bytes + text.length > this.#bytesMax) {
        renameSync(this.#path, `${this.#path}.1`);
        this.#bytes = 0;
      }
      appendFileSync(this.#path, text, { mode: 0o600 });
      this.#bytes += Buffer.byteLength(text);
    } catch {
      this.#bytes = 0;
    }
  }
}
