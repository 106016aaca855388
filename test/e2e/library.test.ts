/** Capstan inside of another program: the example of docs/library.md, and what it refuses. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { buildTypes } from "../../tools/build-types.js";
import { isAlive, makeDir, removeDir, waitFor } from "./harness.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = makeDir();
after(() => removeDir(folder));

const program = process.env.CAPSTAN_PROGRAM ?? assert.fail("the tests run the built program");
const library = pathToFileURL(join(dirname(program), "library.mjs")).href;
const temporary = join(folder, "tmp");
mkdirSync(temporary);

/** Runs a program that has Capstan inside, with a temporary directory of its own. */
function start(name: string, text: string) {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, text.replace('"capstan"', JSON.stringify(library)));
  const child = spawn(process.execPath, [path], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  return { child, output: () => output };
}

async function run(name: string, text: string): Promise<string> {
  const { child, output } = start(name, text);
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, output());
  return output();
}

test("the documented program prints what the page says, and leaves nothing behind", async () => {
  const page = readFileSync(join(root, "docs", "library.md"), "utf8");
  const [, example] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? assert.fail();
  const [, wanted] = /^```text\n([\s\S]*?)^```$/m.exec(page) ?? assert.fail();
  assert.equal(await run("example", example ?? ""), wanted);
  assert.deepEqual(readdirSync(temporary), []);
});

test("errors have the code of the prompt, a directory is kept, and workers end with a killed program", async () => {
  const dataDir = join(folder, "data");
  const { child, output } = start(
    "kept",
    `import { openCapstan } from "capstan";
     const capstan = await openCapstan({ dataDir: ${JSON.stringify(dataDir)} });
     const second = await openCapstan({ dataDir: ${JSON.stringify(dataDir)} }).catch((error) => error.code);
     const failed = await capstan.run("CREATE TABLE t (a BIGINT); SELECT * FROM nowhere").catch(({ code }) => code);
     const waited = await capstan.waitForQuery("nobody").catch(({ code }) => code);
     const workers = await (await fetch(capstan.url + "/api/v1/workers")).json();
     console.log(JSON.stringify([second, failed, waited, workers.items.length]));`,
  );
  const line = await waitFor("the program's line", async () =>
    output().endsWith("\n") ? output() : undefined,
  );
  const [second, failed, waited, workers] = JSON.parse(line) as readonly unknown[];
  assert.equal(second, "data_dir_in_use");
  assert.equal(typeof failed, "string");
  assert.equal(waited, "DoesNotExist");
  assert.equal(workers, 1);
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(child.pid)], {
    encoding: "utf8",
  });
  const pids = children.trim().split(/\s+/).map(Number);
  assert.ok(pids.length >= 2, children); // A worker, and DuckDB.
  child.kill("SIGKILL");
  await waitFor("its processes to end", async () => !pids.some(isAlive) || undefined);
  assert.ok(existsSync(dataDir));
  const rows = await run(
    "again",
    `import { openCapstan } from "capstan";
     const capstan = await openCapstan({ dataDir: ${JSON.stringify(dataDir)}, workers: 1 });
     console.log(JSON.stringify(await capstan.rows("SELECT count(*) FROM t")));
     await Promise.all([capstan.close(), capstan.close()]);`,
  );
  assert.match(rows, /^\[\[("0"|0)\]\]\n$/);
});

test("the library's types stand alone, and the package names them", () => {
  const types = join(folder, "types");
  buildTypes(types);
  const file = join(folder, "typed.mts");
  writeFileSync(
    file,
    `import { openCapstan, type Capstan } from "./types/open-capstan.js";
     const capstan: Capstan = await openCapstan({ workers: 0 });
     const [row] = await capstan.rows("SELECT 1");
     const state: string = (await capstan.waitForQuery("q", "RUNNING", { timeoutMs: 1 })).state;
     // @ts-expect-error: there is no such option.
     await openCapstan({ worker: 1 });
     export { row, state };`,
  );
  execFileSync(
    join(root, "node_modules", ".bin", "tsc"),
    [
      ...["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"],
      ...["--types", "", "--lib", "es2024", file],
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: { readonly ".": { readonly types: string; readonly default: string } };
  };
  assert.deepEqual(exports["."], {
    types: "./dist/types/open-capstan.d.ts",
    default: "./dist/program/library.mjs",
  });
});
