/**
 * Adding a kind of work means adding a folder, and a line in the list of each process: a kind that
 * the product does not know runs in its real coordinator, worker and command line.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createProgram, programCommands } from "../../src/cli/program.ts";
import { controllerKinds, runController } from "../../src/coordinator/main.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { chooseFreePort } from "../../src/ground/process/index.ts";
import { setupStore } from "../../src/ground/store/index.ts";
import { makeSchemaDir } from "../../src/ground/store/testing/schema-dirs.ts";
import { runWorker, workerKinds } from "../../src/worker/main.ts";
import { waitFor } from "../e2e/harness.ts";
import {
  addToyCommands,
  createToyPart,
  createToyWorkerPart,
  toySchema,
  watchedToyTables,
} from "./toy-kind.ts";

const dataDir = mkdtempSync(join(tmpdir(), "capstan-toy-"));
const schemaDir = makeSchemaDir(toySchema);
const host = "127.0.0.1";
let url = "";
let running: readonly Promise<unknown>[] = [];

before(async () => {
  const store = { kind: "sqlite", path: join(dataDir, "store.db") } as const;
  await setupStore({ ...store, schemaDir, clock: realClock, logger: silentLogger });
  const port = await chooseFreePort(host);
  url = `http://${host}:${port}`;
  const common = {
    dataDir,
    schemaDir,
    host,
    store: store.path,
    logLevel: "error",
    warmUp: "off",
    drainTimeout: 1,
  } as const;
  const watched = watchedToyTables;
  running = [
    runController({ ...common, role: "coordinator", name: "toys", port, discover: "store" }, [
      ...controllerKinds,
      { createPart: createToyPart, watched },
    ]),
    runWorker(
      { ...common, join: [url], name: "w1", grpcPort: 0, dataPort: 0, metricsPort: 0, slots: 1 },
      [...workerKinds, { createPart: createToyWorkerPart, watched }],
    ),
  ];
});

after(async () => {
  process.emit("SIGTERM");
  await Promise.all(running);
  rmSync(dataDir, { recursive: true, force: true });
});

async function ask(path: string, body?: unknown, status = 200): Promise<string> {
  const post = { method: "POST", headers: { "content-type": "application/json" } };
  const response = await fetch(
    `${url}${path}`,
    body === undefined ? {} : { ...post, body: JSON.stringify(body) },
  );
  const text = await response.text();
  assert.equal(response.status, status, text);
  return text;
}

test("a fifth kind has a table, a statement, routes, an executor, a fact, a metric, attention and a command", async () => {
  await waitFor("a worker that counts", async () => {
    const workers = await ask("/api/v1/workers").catch(() => "");
    return /"counts_toys":"yes"/.test(workers) || undefined;
  });
  const words = JSON.parse(await ask("/api/v1/toys", { toy: "bear", text: "soft and brown" }));
  assert.deepEqual(words, { toy: "bear", words: 3 });
  await ask("/api/v1/toys", { toy: "ghost", text: "" });
  const shown = (await ask("/metrics")).split("\n").find((line) => /^capstan_toys/.test(line));
  assert.match(shown ?? "", /capstan_toys_counted_total\{process="coordinator"\} 2/);
  assert.match(await ask("/api/v1/attention"), /ghost.*it has no words/);
  assert.deepEqual(await snapshotOf("toys"), [
    { toy: "bear", words: 3 },
    { toy: "ghost", words: 0 },
  ]);
  const [, ...lines] = (await ask("/api/v1/sql", { sql: "show toys;" })).split("\n");
  assert.deepEqual(lines.slice(0, 2), ['["bear",3]', '["ghost",0]']);
  assert.equal(await runCommand(["toys", "--url", url]), "bear 3\nghost 0\n");
});

test("a fifth kind has error codes of its own, with numbers and positions, from worker to caller", async () => {
  const torn = await ask("/api/v1/toys", { toy: "bear", text: "so~ft" }, 422);
  assert.deepEqual(JSON.parse(torn), {
    code: "ToyTorn",
    message: "the text is torn",
    hint: "Mend it.",
    number: 7001,
    position: { line: 1, column: 3 },
  });
});

/** Of a watched table, as its subscribers get it. */
async function snapshotOf(table: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/watch?table=${table}`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("SNAPSHOT") || !text.endsWith("\n\n")) {
    const read = await reader?.read();
    assert(read?.done === false, text);
    text += read.value;
  }
  await reader?.cancel();
  return JSON.parse(/^data: (.*SNAPSHOT.*)$/m.exec(text)?.[1] ?? "{}").data;
}

async function runCommand(argv: readonly string[]): Promise<string> {
  const run = {
    ask: (action: (signal: AbortSignal) => Promise<void>) => action(new AbortController().signal),
    serve: (action: () => Promise<void>) => action(),
    exitWith: () => undefined,
  };
  const written: string[] = [];
  const { write } = process.stdout;
  process.stdout.write = (text: string | Uint8Array) => written.push(String(text)) > 0;
  try {
    const program = createProgram("1", run, false, [...programCommands, addToyCommands]);
    await program.parseAsync(argv, { from: "user" });
  } finally {
    process.stdout.write = write;
  }
  return written.join("");
}
