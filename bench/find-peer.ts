/**
 * A package to compare with that is no dependency of this project: a person has installed it in a
 * directory of its own, whose name is in `CAPSTAN_PEERS`.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

/** `undefined`: it is not there. */
export function findPeer<T>(name: string): T | undefined {
  const dir = process.env.CAPSTAN_PEERS;
  if (dir === undefined) return undefined;
  try {
    return createRequire(join(dir, "package.json"))(name) as T;
  } catch {
    return undefined;
  }
}
