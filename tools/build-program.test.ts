/** What a thread or process of the built program loads at its start. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { siblingModule } from "../src/ground/kernel/node/sibling-module.ts";
import { ensureProgram } from "./build-program.js";
import { readSources } from "./tidy/sources.ts";

const root = dirname(import.meta.dirname);
const loads = /^import[^"\n]*"\.\/([^"]+)";$/gm;
const bareImport = /^import "(\.[^"]+)";$/gm;

/** The file, and every file that it imports at once, however far. */
function loadedWith(directory: string, file: string): string {
  const seen = new Set([file]);
  let text = "";
  for (const each of seen) {
    const own = readFileSync(join(directory, each), "utf8");
    // Visited by this loop, too.
    for (const [, next] of own.matchAll(loads)) seen.add(`${next}`);
    text += own;
  }
  return text;
}

process.env.CAPSTAN_PROGRAM ??= await ensureProgram();
const program = dirname(process.env.CAPSTAN_PROGRAM);

test("a thread of the sources is the built one, where the environment names the program", () => {
  const engine = pathToFileURL(join(root, "src/data/duckdb/engine.ts")).href;
  const built = pathToFileURL(join(program, "engine-process.mjs")).href;
  assert.equal(siblingModule(engine, "./engine-process").href, built);
  const ofTests = siblingModule(engine, "./testing/test-engine").href;
  assert.equal(ofTests, new URL("./testing/test-engine.ts", engine).href);
});

test("a thread loads no package that it does not use, though it imports a room by its index", () => {
  const parts = { kysely: /\bvar Kysely = class/, protobuf: /\bfunction fileDesc\(/ };
  const whole = loadedWith(program, "execution-thread.mjs");
  assert.match(whole, parts.kysely); // It would be found: this thread has a store.
  for (const thread of ["engine-process.mjs", "eval-thread.mjs", "ingest-thread.mjs"]) {
    for (const part of Object.values(parts)) {
      assert.doesNotMatch(loadedWith(program, thread), part, thread);
    }
  }
});

test("what is imported for what it does when it is loaded stays in the program", () => {
  const sources = new Map(readSources(root).map(({ path, text }) => [path, text]));
  const wanted = [...sources]
    .filter(([path]) => path.startsWith("src/") && !path.endsWith(".test.ts"))
    .flatMap(([path, text]) =>
      [...text.matchAll(bareImport)].map(([, module]) => join(dirname(path), `${module}`)),
    );
  assert.ok(wanted.length > 0);
  const left = wanted.filter(
    (path) => !path.endsWith("/error-codes.ts") && !sources.get(path)?.match(bareImport),
  );
  assert.deepEqual(left, [], "build-program.js takes these for modules without effects");
});
