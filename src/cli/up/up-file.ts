import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A child that runs: its process, and where it answers HTTP once it is ready. */
export interface UpProcess {
  readonly pid: number;
  readonly url: string | undefined;
}

/**
 * `up.json` in the data directory says where the API is and which process is which: for other commands in
 * this directory, and for whoever wants to look at one of the processes.
 */
export class UpFile {
  readonly #path: string;
  readonly #processes = new Map<string, UpProcess>();
  readonly #url: string;

  constructor(dataDir: string, url: string) {
    this.#path = join(dataDir, "up.json");
    this.#url = url;
    this.#write();
  }

  set(name: string, child: UpProcess): void {
    this.#processes.set(name, child);
    this.#write();
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }

  /** Renamed into place, so that nobody reads half of it. */
  #write(): void {
    const content = { url: this.#url, processes: Object.fromEntries(this.#processes) };
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(content)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}
