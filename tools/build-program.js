/**
 * The program in a few files, its packages included. Loading 1,800 modules one by one is most of what a process costs at its
 * start: so it halves that, for whoever installs Capstan, and for the hundreds of processes that the end-to-end tests start.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inputs = ["src", "package-lock.json", "tools/build-program.js"];
/** Packages with native parts, or so large that few processes load them. */
const external = [/^@duckdb\/node-bindings/, /^@aws-sdk\//, /^snowflake-sdk$/, /^pg-native$/];
const siblingCall = /siblingModule\(import\.meta\.url, "\.\/([a-z-]+)"\)/g;

/** Into a directory that it empties first; `main.mjs` is where it begins. */
export async function buildProgram(directory) {
  const bundle = await rolldown({
    input: { main: join(root, "src", "cli", "main.ts") },
    platform: "node",
    external,
    plugins: [threadsBesideMain],
    logLevel: "warn",
  });
  await bundle.write({
    dir: directory,
    format: "esm",
    cleanDir: true,
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  await bundle.close();
}

/** The path of a program that is as new as its sources. */
export async function ensureProgram() {
  const cache = join(root, "node_modules", ".cache", "capstan");
  const directory = join(cache, "program");
  const main = join(directory, "main.mjs");
  const builtMs = statSync(main, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (inputs.some((input) => isNewer(join(root, input), builtMs))) {
    const staged = join(cache, `program-${process.pid}`);
    mkdirSync(cache, { recursive: true });
    await buildProgram(staged);
    rmSync(directory, { recursive: true, force: true });
    renameSync(staged, directory);
  }
  return main;
}

/** A module that `siblingModule` names becomes a file of its own; since all files are in one directory, it is a sibling again. */
const threadsBesideMain = {
  name: "threads-beside-main",
  transform(code, id) {
    if (!code.includes("siblingModule(import.meta.url")) return undefined;
    return code.replace(siblingCall, (_, name) => {
      const thread = join(dirname(id), `${name}.ts`);
      this.emitFile({ type: "chunk", id: thread, fileName: `${name}.mjs` });
      return `new URL("./${name}.mjs", import.meta.url)`;
    });
  },
};

function isNewer(path, timeMs) {
  const found = statSync(path);
  if (found.mtimeMs > timeMs) return true;
  return found.isDirectory() && readdirSync(path).some((name) => isNewer(join(path, name), timeMs));
}
