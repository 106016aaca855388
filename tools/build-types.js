/** The types of the library: one file, since src/cli/embedded/open-capstan.ts imports no types. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** `open-capstan.d.ts` into the directory. Throws what the compiler says. */
export function buildTypes(directory) {
  const done = spawnSync(
    join(root, "node_modules", ".bin", "tsc"),
    [
      ...["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--noCheck", "--noResolve"],
      ...["--target", "es2024", "--module", "nodenext", "--outDir", directory],
      join(root, "src", "cli", "embedded", "open-capstan.ts"),
    ],
    { cwd: root, encoding: "utf8" },
  );
  if (done.status !== 0) throw new Error(`tsc: ${done.stdout}${done.stderr}`);
}
