/** The program's name and directory, in a clone (`src/`) and in a package (`dist/program/`). */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert } from "../kernel/errors.ts";

export interface PackageInfo {
  readonly root: string;
  readonly version: string;
  /** True for sources with a dashboard that can be built, false for an installed package. */
  readonly clone: boolean;
}

let cached: PackageInfo | undefined;

export function packageInfo(): PackageInfo {
  cached ??= find();
  return cached;
}

function find(): PackageInfo {
  let root = import.meta.dirname;
  while (!existsSync(join(root, "package.json"))) {
    assert(dirname(root) !== root, "the program lies inside its package");
    root = dirname(root);
  }
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
  };
  return { root, version, clone: existsSync(join(root, "src")) };
}
