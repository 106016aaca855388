/**
 * A file that the catalog names is not in the object store. Whoever waits for it to come back asks
 * for `path`.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export class MissingFile extends OperatingError {
  readonly path: string;

  constructor(path: string, message: string, cause: unknown) {
    super("store_corrupt", "never", message, { cause });
    this.path = path;
  }
}
