import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../ground/kernel/errors.ts";

/** A running child: its process, and its HTTP address once it is ready. */
export interface UpProcess {
  readonly pid: number;
  readonly url: string | undefined;
}

/**
 * `up.json` in the data directory: the API's address and the processes, for other commands and for
 * people. If it cannot be written (the disk is full), that is reported once and `up` goes on.
 */
export class UpFile {
  readonly #path: string;
  readonly #processes = new Map<string, UpProcess>();
  readonly #url: string;
  readonly #warn: (text: string) => void;
  #warned = false;

  constructor(dataDir: string, url: string, warn: (text: string) => void) {
    this.#path = join(dataDir, "up.json");
    this.#url = url;
    this.#warn = warn;
    this.#write();
  }

  set(name: string, child: UpProcess): void {
    this.#processes.set(name, child);
    this.#write();
  }

  remove(): void {
    this.#try("removed", () => rmSync(this.#path, { force: true }));
  }

  /** Renamed into place, so that readers never see half of it. */
  #write(): void {
    const content = { url: this.#url, processes: Object.fromEntries(this.#processes) };
    this.#try("written", () => {
      writeFileSync(`${this.#path}.new`, `${JSON.stringify(content)}\n`);
      renameSync(`${this.#path}.new`, this.#path);
    });
  }

  #try(what: string, change: () => void): void {
    try {
      change();
      this.#warned = false;
    } catch (thrown) {
      if (!this.#warned) this.#warn(`${this.#path} could not be ${what}: ${messageOf(thrown)}`);
      this.#warned = true;
    }
  }
}
