import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { exitCodes } from "../../ground/command/exit-codes.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { LogFile } from "./log-file.ts";
import { SupervisedChild } from "./supervised-child.ts";
import { UpFile } from "./up-file.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-child-"));
after(() => rmSync(dir, { recursive: true, force: true }));

interface Seen {
  readonly child: SupervisedChild;
  readonly events: string[];
  /** Resolves when an event with this prefix has been seen `times` times. */
  until(prefix: string, times?: number): Promise<void>;
}

function supervise(script: string): Seen {
  const events: string[] = [];
  const waiting = new Set<() => void>();
  const note = (event: string): void => {
    events.push(event);
    for (const check of waiting) check();
  };
  const file = join(dir, `child-${events.length}-${script.length}.mjs`);
  writeFileSync(file, script);
  const child = new SupervisedChild({
    name: "child",
    command: [process.execPath, file],
    env: { ...process.env, CAPSTAN_SUPERVISED: "1" },
    clock: realClock,
    events: {
      started: () => note("started"),
      ready: (_pid, url, again) => note(`ready ${url} ${again ? "again" : "first"}`),
      line: (text) => note(`line ${text}`),
      died: (how) => note(`died ${how}`),
      dropped: () => note("dropped"),
      hopeless: ({ code }) => note(`hopeless ${code}`),
    },
  });
  const until = async (prefix: string, times = 1): Promise<void> => {
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (events.filter((event) => event.startsWith(prefix)).length < times) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  };
  return { child, events, until };
}

const lives = 'process.send({ kind: "ready", url: "u" }); setInterval(() => undefined, 1000);';

test("[CM9] a child that is killed is started again, and says when it is back", async () => {
  const { child, events, until } = supervise(lives);
  child.start();
  await until("ready u first");
  process.kill(child.pid ?? 0, "SIGKILL");
  await until("ready u again");
  assert.ok(events.includes("died SIGKILL"));
  assert.equal(await child.stop(60_000), "ended");
  assert.equal(events.filter((event) => event === "started").length, 2);
});

test("[CM9] a child whose command line is refused is not started again", async () => {
  const { child, events, until } = supervise("process.exit(2);");
  child.start();
  await until("hopeless usage");
  assert.equal(events.filter((event) => event === "started").length, 1);
  assert.equal(await child.stop(60_000), "ended");
});

test("[CM9] a child that ends well without being asked is started again", async () => {
  const { child, until } = supervise(`process.on("SIGTERM", () => process.exit(0)); ${lives}`);
  child.start();
  await until("ready u first");
  process.kill(child.pid ?? 0, "SIGTERM");
  await until("died exit status 0");
  await until("ready u again");
  assert.equal(await child.stop(60_000), "ended");
});

test("[CM9] a worker that was dropped stays down", async () => {
  const script = `process.stdout.write("bye\\n"); process.exitCode = ${exitCodes.dropped};`;
  const { child, events, until } = supervise(script);
  child.start();
  await until("dropped");
  await child.stop(1_000);
  assert.deepEqual(events, ["started", "line bye", "dropped"]);
});

test("[CM9] a file that cannot be written is said to be so, once, and ends nothing", () => {
  const place = join(dir, "gone");
  mkdirSync(place);
  const warnings: string[] = [];
  const file = new UpFile(place, "http://u", (text) => warnings.push(text));
  rmSync(place, { recursive: true });
  file.set("worker-1", { pid: 1, url: undefined });
  file.set("worker-1", { pid: 1, url: "http://w" });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /up\.json could not be written: ENOENT/);
  mkdirSync(place);
  file.set("worker-2", { pid: 2, url: undefined });
  const { processes } = JSON.parse(readFileSync(join(place, "up.json"), "utf8"));
  assert.deepEqual(Object.keys(processes), ["worker-1", "worker-2"]);
  file.remove();
});

test("[CM9] a child that cannot start is given up, unless trying again may help", async () => {
  const failed = (final: boolean) =>
    `process.send({ kind: "failed", code: "port_in_use", message: "m", final: ${final} }, () => process.exit(1));`;
  const given = supervise(failed(true));
  given.child.start();
  await given.until("hopeless port_in_use");
  assert.ok(!given.events.some((event) => event.startsWith("died")));
  const tried = supervise(failed(false));
  tried.child.start();
  await tried.until("died m", 2);
  await tried.child.stop(1_000);
});

test("[CM10] a child that does not end in time is killed", async () => {
  const { child, until } = supervise(`process.on("SIGTERM", () => undefined); ${lives}`);
  child.start();
  await until("ready");
  assert.equal(await child.stop(200), "killed");
});

test("[CM9] a log keeps two files of its size", () => {
  const path = join(dir, "x.log");
  const log = new LogFile(path, 100);
  for (let line = 0; line < 30; line += 1) log.append(`line ${String(line).padStart(2, "0")}`);
  assert.ok(readFileSync(path, "utf8").endsWith("line 29\n"));
  assert.ok(readFileSync(path).length <= 100);
  assert.ok(readFileSync(`${path}.1`).length <= 100);
});
