/**
 * Where a clone keeps the program that was built of its sources. Plain JavaScript without packages:
 * bin/capstan.js asks it at every start. Each state of the sources has a directory of its own, so
 * that a program that runs keeps its files.
 */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inputs = ["src", "package-lock.json", "tools/build-program.js"];

export const programCache = join(root, "node_modules", ".cache", "capstan");

/** Its first file. Nobody may have built it yet. */
export function builtProgram() {
  const newestMs = Math.max(...inputs.map((input) => newestIn(join(root, input))));
  return join(programCache, `program-${Math.floor(newestMs)}`, "main.mjs");
}

/** Directories count too: a file that was removed changes its directory. */
function newestIn(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  return readdirSync(path).reduce(
    (newest, name) => Math.max(newest, newestIn(join(path, name))),
    found.mtimeMs,
  );
}
