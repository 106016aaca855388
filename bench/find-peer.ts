/**
 * Finds a package to compare with that is not a dependency of this project. The user installs it in
 * a directory of its own, named by `CAPSTAN_PEERS`.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

/** Undefined when it is not installed. */
export function findPeer<T>(name: string): T | undefined {
  const dir = process.env.CAPSTAN_PEERS;
  if (dir === undefined) return undefined;
  try {
    return createRequire(join(dir, "package.json"))(name) as T;
  } catch {
    return undefined;
  }
}
