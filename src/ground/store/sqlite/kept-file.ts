/**
 * Checks that the open files are still those at their paths. SQLite goes on writing into a file
 * that was deleted, moved or replaced, and reports commits as successful (ST58).
 */
import { statSync } from "node:fs";
import { OperatingError } from "../../kernel/errors.ts";

export class KeptFile {
  /** Identities by path: of the database, and of its write-ahead log once there is one. */
  readonly #identities = new Map<string, string>();
  readonly #paths: readonly string[];

  /** Created after the connection has opened the file. */
  constructor(path: string) {
    this.#paths = [path, `${path}-wal`];
    for (const each of this.#paths) this.#remember(each, identityOf(each));
  }

  /** Throws `store_unavailable`. It takes microseconds, while a commit waits for the disk. */
  check(): void {
    for (const path of this.#paths) {
      const found = identityOf(path);
      const known = this.#identities.get(path);
      if (known === undefined) this.#remember(path, found);
      else if (found !== known) throw lost(found === undefined);
    }
  }

  #remember(path: string, identity: string | undefined): void {
    if (identity !== undefined) this.#identities.set(path, identity);
  }
}

function lost(isGone: boolean): OperatingError {
  const what = isGone ? "is gone" : "is another one than the one that is open";
  const message = `the store's file ${what}: what is written now would be lost`;
  return new OperatingError("store_unavailable", "backoff", message, {
    hint: "Nothing was changed. Bring the file back, or stop this process and start it where its data are.",
  });
}

/** Undefined when the file does not exist. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
