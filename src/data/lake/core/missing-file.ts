/**
 * The error for a file that the catalog names and the object store does not have. Whoever waits for
 * it to return asks for `path`.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export class MissingFile extends OperatingError {
  readonly path: string;

  constructor(path: string, message: string, cause: unknown) {
    super("store_corrupt", "never", message, { cause });
    this.path = path;
  }
}
