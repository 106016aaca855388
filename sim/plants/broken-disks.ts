/** Bugs of code that writes files: a missing sync, a wrong order, a forgotten failure. */

import type { ObjectStore } from "../../src/data/lake/core/index.ts";
import type { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Files, OpenFile } from "../../src/ground/kernel/files.ts";
import { findLog, readLog } from "../../src/kinds/ask/metrics/fs/read-log.ts";
import { type Log, Wal, type WalOptions } from "../../src/kinds/ask/metrics/fs/wal.ts";
import type { DiskSeams } from "../disk/disk-seams.ts";
import { withMethods } from "../disk/with-methods.ts";

/** Skips the sync of paths for which `isDone` is false, but reports success. */
export function syncOnly(isDone: (path: string) => boolean): (files: Files) => Files {
  return (files) =>
    withMethods<Files>(files, {
      sync: (path) => (isDone(path) ? files.sync(path) : Promise.resolve()),
      open: async (path, mode) => {
        const file = await files.open(path, mode);
        return isDone(path) ? file : withMethods<OpenFile>(file, { sync: () => Promise.resolve() });
      },
    });
}

/** A new file of the log is listed at once; its name gets to the disk with the list's. */
export function listAtOnce(files: Files): Files {
  let isBegun = false;
  return withMethods<Files>(files, {
    open: (path, mode) => {
      isBegun ||= mode === "new" && path.endsWith(".wal");
      return files.open(path, mode);
    },
    rename: (from, to) => {
      isBegun = false;
      return files.rename(from, to);
    },
    sync: (path) => (isBegun && path.endsWith("/wal") ? Promise.resolve() : files.sync(path)),
  });
}

/** What a start replays counts as written, and may be in memory alone. */
export function replayUnsafely(files: Files): Files {
  return withMethods<Files>(files, {
    open: async (path, mode) => {
      const file = await files.open(path, mode);
      if (mode !== "change") return file;
      const nothing = { write: () => Promise.resolve(), sync: () => Promise.resolve() };
      return withMethods<OpenFile>(file, nothing);
    },
  });
}

/** After a failed sync, a second one reports success. */
export function syncAgain(files: Files): Files {
  return withMethods<Files>(files, {
    open: async (path, mode) => {
      const file = await files.open(path, mode);
      return withMethods<OpenFile>(file, { sync: () => file.sync().catch(() => file.sync()) });
    },
  });
}

/** Files get their names in the lake before their bytes are on the disk. */
export function syncAfterRename(files: Files): Files {
  let skipped: string[] = [];
  return withMethods<Files>(files, {
    sync: async (path) => {
      if (path.includes("/staging/")) skipped.push(path);
      else await files.sync(path);
    },
    rename: async (from, to) => {
      await files.rename(from, to);
      if (!skipped.includes(from)) return;
      skipped = skipped.filter((path) => path !== from);
      // In the background: the caller does not wait for it.
      void files.sync(to).catch(() => undefined);
    },
  });
}

/** Acknowledges writes before they are done. */
export class HastyLog implements Log {
  readonly #log: Wal;

  constructor(options: WalOptions) {
    this.#log = new Wal(options);
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  get failure(): OperatingError | undefined {
    return this.#log.failure;
  }

  get refusal(): OperatingError | undefined {
    return this.#log.refusal;
  }

  append(generation: number, payload: Uint8Array | undefined): Promise<void> {
    this.#log.append(generation, payload).catch(() => undefined);
    return Promise.resolve();
  }

  forget(generation: number): Promise<void> {
    return this.#log.forget(generation);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

/** Only the writes that met a failure fail; the next go to the next file. */
export class ForgivingLog implements Log {
  readonly #options: WalOptions;
  #log: Wal;
  readonly failure = undefined;

  constructor(options: WalOptions) {
    this.#options = options;
    this.#log = new Wal(options);
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  get refusal(): OperatingError | undefined {
    return this.#log.refusal;
  }

  async append(generation: number, payload: Uint8Array | undefined): Promise<void> {
    const log = this.#log;
    try {
      await log.append(generation, payload);
    } catch (thrown) {
      if (log === this.#log && log.failure !== undefined) {
        const { files, directory, term } = this.#options;
        const found = await findLog(files, directory, term + 1);
        const { files: read } = await readLog(files, directory, found, () => true);
        const existing = read.map(({ file, bytes }) => ({ ...file, bytes }));
        if (log === this.#log) this.#log = new Wal({ ...this.#options, existing });
      }
      throw thrown;
    }
  }

  forget(generation: number): Promise<void> {
    return this.#log.forget(generation);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

/** Puts a file later, in the background. */
export function putLater(objects: ObjectStore): ObjectStore {
  return withMethods<ObjectStore>(objects, {
    put: async (path, localFile, signal) => {
      void objects.put(path, localFile, signal).catch(() => undefined);
      return { crc32: 0 };
    },
  });
}

/** Reports segments as published, and publishes them with the next ones. */
export function commitLater(): DiskSeams["publish"] {
  let waiting: (() => Promise<unknown>) | undefined;
  return async (commit) => {
    waiting?.().catch(() => undefined);
    waiting = commit;
    return [];
  };
}
