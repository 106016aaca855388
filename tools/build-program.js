/**
 * The program in a few files, its packages included. Loading 1,800 modules one by one is most of
 * what a process costs at its start: so it halves that, for whoever installs Capstan, and for the
 * hundreds of processes that the end-to-end tests start.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { builtProgram, programCache } from "./built-program.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, "src/");
/** Packages with native parts, or so large that few processes load them. */
const external = [/^@duckdb\/node-bindings/, /^@aws-sdk\//, /^snowflake-sdk$/, /^pg-native$/];
const siblingCall = /siblingModule\(import\.meta\.url, "\.\/([a-z-]+)"\)/g;

/** Into a directory that it empties first; `main.mjs` is where it begins, `library.mjs` the library. */
export async function buildProgram(directory) {
  const bundle = await rolldown({
    input: {
      main: join(root, "src", "cli", "main.ts"),
      library: join(root, "src", "cli", "library.ts"),
    },
    platform: "node",
    external,
    plugins: [threadsBesideMain, usedModulesOnly],
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
  const main = builtProgram();
  if (existsSync(main)) return main;
  const staged = join(programCache, `staged-${process.pid}`);
  mkdirSync(programCache, { recursive: true });
  await buildProgram(staged);
  try {
    renameSync(staged, dirname(main));
  } catch (error) {
    rmSync(staged, { recursive: true, force: true });
    if (!existsSync(main)) throw error; // Otherwise somebody else was faster.
  }
  removeOldPrograms();
  return main;
}

/** Keeps the newest three: an older one may still run, and loads some of its files late. */
function removeOldPrograms() {
  const paths = readdirSync(programCache).map((name) => join(programCache, name));
  const builtMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const oldestLast = paths.sort((a, b) => builtMs(b) - builtMs(a));
  for (const path of oldestLast.slice(3)) rmSync(path, { recursive: true, force: true });
}

/**
 * A module that `siblingModule` names becomes a file of its own; since all files are in one
 * directory, it is a sibling again.
 */
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

/**
 * A module of ours that uses none of another's exports does not need it: a thread would load the
 * whole program otherwise, since it reaches rooms through their index. What is imported by name of
 * file alone (`import "./core/error-codes.ts"`) does something when it is loaded, and stays.
 */
const usedModulesOnly = {
  name: "used-modules-only",
  transform(code, id) {
    if (!id.startsWith(sources)) return undefined;
    return { moduleSideEffects: id.endsWith("/error-codes.ts") || /^import "/m.test(code) };
  },
};
