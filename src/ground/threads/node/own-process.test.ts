import assert from "node:assert/strict";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { realClock } from "../../kernel/node/real-clock.ts";
import { OwnProcess } from "./own-process.ts";

const node = (script: string) => [process.execPath, "-e", script] as const;

test("[TK7] its output comes line by line, and how it ended once", async () => {
  const lines: string[] = [];
  const child = new OwnProcess(
    node("console.log('a\\nb'); console.error('c'); process.exitCode = 3"),
    {
      output: (line) => lines.push(line),
    },
  );
  await child.started;
  assert.ok(child.pid !== undefined);
  assert.deepEqual(await child.ended, { code: 3, how: "exit status 3" });
  assert.equal(child.pid, undefined);
  while (lines.length < 3) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    lines.toSorted((a, b) => a.localeCompare(b)),
    ["a", "b", "c"],
  );
});

test("[TK7] its output goes to a file, and it has the environment that it is given", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-own-process-"));
  const file = openSync(join(dir, "log"), "a");
  const child = new OwnProcess(node("console.log(process.env.WORD, process.env.HOME)"), {
    output: file,
    env: { WORD: "given" },
    detached: true,
  });
  await child.ended;
  assert.equal(readFileSync(join(dir, "log"), "utf8"), "given undefined\n");
  rmSync(dir, { recursive: true });
});

test("[TK7] it is asked to end, and killed when it does not", async () => {
  const started = async (script: string): Promise<OwnProcess> => {
    const told = Promise.withResolvers<void>();
    const child = new OwnProcess(
      node(`${script}; setInterval(() => {}, 1000); process.send("up")`),
      {
        output: "errors",
        onMessage: () => told.resolve(),
      },
    );
    await told.promise;
    return child;
  };
  const heeds = await started("0");
  assert.equal(await heeds.stop(realClock, 10_000), "ended");
  assert.deepEqual(await heeds.ended, { code: undefined, how: "SIGTERM" });
  const stays = await started("process.on('SIGTERM', () => {})");
  assert.equal(await stays.stop(realClock, 50), "killed");
  assert.deepEqual(await stays.ended, { code: undefined, how: "SIGKILL" });
});

test("[TK7] what cannot be started says why", async () => {
  const child = new OwnProcess(["/nowhere/program"], { output: "errors" });
  await assert.rejects(child.started, /ENOENT/);
  assert.match((await child.ended).how, /ENOENT/);
});
