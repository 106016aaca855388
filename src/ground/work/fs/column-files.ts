/**
 * Files of decoded columns, as a tenant of the worker's disk budget: they are evicted first. A file
 * that the budget does not admit, or evicts, is deleted. Files of an earlier incarnation are
 * deleted at the start, because the accounts begin empty.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { DiskBudget, Eviction } from "../core/index.ts";
import { translateFsError } from "./fs-error.ts";

export class ColumnFiles {
  readonly dir: string;
  readonly #budget: DiskBudget;
  readonly #logger: Logger;
  readonly #deletions = new Set<Promise<void>>();

  constructor(dir: string, budget: DiskBudget, logger: Logger) {
    this.dir = dir;
    this.#budget = budget;
    this.#logger = logger;
  }

  usedBytes(): number {
    return this.#budget.usage().byTenant.decoded_columns;
  }

  /** Called when a thread has written the file. */
  written(name: string, sizeBytes: number): void {
    if (this.#budget.has("decoded_columns", name)) {
      // Another thread wrote the same file.
      this.#budget.touch("decoded_columns", name);
      return;
    }
    const admission = this.#budget.admit("decoded_columns", name, sizeBytes);
    if (admission.kind === "refused") this.#delete(name);
    else for (const eviction of admission.evict) this.evicted(eviction);
  }

  used(name: string): void {
    this.#budget.touch("decoded_columns", name);
  }

  /** Called when the budget no longer counts the file. */
  evicted({ tenant, name }: Eviction): void {
    if (tenant === "decoded_columns") this.#delete(name);
  }

  async close(): Promise<void> {
    await Promise.all(this.#deletions);
    await rm(this.dir, { recursive: true, force: true });
  }

  #delete(name: string): void {
    const deletion = rm(join(this.dir, name), { force: true })
      .catch((thrown: unknown) => {
        this.#logger.warn({ column: name }, `not deleted: ${messageOf(thrown)}`);
      })
      .finally(() => this.#deletions.delete(deletion));
    this.#deletions.add(deletion);
  }
}

/** `dir` belongs to this worker alone. */
export async function openColumnFiles(
  dir: string,
  budget: DiskBudget,
  logger: Logger,
): Promise<ColumnFiles> {
  try {
    await mkdir(dir, { recursive: true });
    for (const name of await readdir(dir)) await rm(join(dir, name), { force: true });
  } catch (thrown) {
    throw translateFsError(thrown);
  }
  return new ColumnFiles(dir, budget, logger);
}
