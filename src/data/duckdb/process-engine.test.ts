import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { HealthBoard, type HealthReporter } from "../../ground/kernel/health.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../ground/kernel/testing/recording-logger.ts";
import { VirtualClock } from "../../ground/kernel/testing/virtual-clock.ts";
import type { ProcessLink } from "../../ground/threads/index.ts";
import { silentEngineObserver } from "./core/index.ts";
import { EngineProcesses } from "./engine-processes.ts";
import { ProcessEngine } from "./process-engine.ts";
import { never } from "./testing/test-engine.ts";

/** A fake engine process that does what the statement's text says. */
class FakeProcess implements ProcessLink {
  readonly sharesMemory = false;
  readonly pid: number | undefined = undefined;
  readonly asked: string[] = [];
  connected = true;
  #listener: Parameters<ProcessLink["listen"]>[0] | undefined;
  #held: number[] = [];

  listen(listener: Parameters<ProcessLink["listen"]>[0]): void {
    this.#listener = listener;
  }

  send(message: Message): void {
    queueMicrotask(() => this.#receive(message));
  }

  keepAlive(): void {}

  kill(): void {
    this.die("SIGKILL");
  }

  die(how: string): void {
    if (!this.connected) return;
    this.connected = false;
    queueMicrotask(() => this.#listener?.exited(how));
  }

  /** Finishes every waiting statement. */
  release(): void {
    for (const id of this.#held.splice(0)) this.#tell({ kind: "answer", id, answer: "done" });
  }

  #receive(message: Message): void {
    if (!this.connected) return;
    if (message.kind === "open") this.#tell({ kind: "ready" });
    else if (message.kind === "request") this.#request(message);
    else if (message.kind === "stop") this.die("closed");
    else if (message.kind === "abort") this.#abort(message.id);
  }

  #request({ id, name, argument }: Extract<Message, { kind: "request" }>): void {
    const began = (): void => this.#tell({ kind: "progress", id, progress: "began" });
    if (name === "openSession") {
      began();
      this.#tell({ kind: "answer", id, answer: 1 });
      return;
    }
    const sql = typeof argument === "object" ? (argument as { sql: string }).sql : String(argument);
    this.asked.push(sql);
    if (sql.startsWith("queued")) return void this.#held.push(id);
    began();
    const error = { type: "operating", code: "query_failed", retry: "never" } as const;
    if (sql.startsWith("wait") || sql === "deaf") this.#held.push(id);
    else if (sql === "crash") queueMicrotask(() => this.die("SIGSEGV"));
    else if (sql === "fatal") {
      this.#tell({ kind: "broken", error: { ...error, message: "invalidated" } });
    } else if (sql === "hungry") {
      const hungry = { ...error, code: "statement_too_large", message: "Out of Memory" } as const;
      this.#tell({ kind: "error", id, error: hungry });
    } else if (name === "runInSession") {
      this.#tell({ kind: "answer", id, answer: { columns: ["a"], rows: [[sql]] } });
    } else this.#tell({ kind: "answer", id, answer: "done" });
  }

  /** A waiting statement stops; a deaf one does not. */
  #abort(id: number): void {
    if (this.asked.includes("deaf")) return;
    this.#held = this.#held.filter((each) => each !== id);
    const error = { type: "operating", code: "cancelled", retry: "never", message: "" } as const;
    this.#tell({ kind: "error", id, error });
  }

  #tell(message: Message): void {
    queueMicrotask(() => this.connected && this.#listener?.heard(message));
  }
}

type Message = Parameters<ProcessLink["send"]>[0];

interface Bench {
  readonly engine: ProcessEngine;
  readonly clock: VirtualClock;
  readonly processes: FakeProcess[];
  readonly faults: string[];
  readonly losses: string[];
  readonly lines: RecordedLine[];
  /** Resolves when the statement has reached the newest process. */
  reached(sql: string): Promise<void>;
  /** For each process, whether the kernel was asked to bound it. */
  readonly bounds: readonly boolean[];
}

function bench(stillbornCount = 0, health?: HealthReporter): Bench {
  const clock = new VirtualClock();
  const processes: FakeProcess[] = [];
  const bounds: boolean[] = [];
  const faults: string[] = [];
  const losses: string[] = [];
  const lines: RecordedLine[] = [];
  const pool = new EngineProcesses({
    instance: {
      memoryLimitBytes: 1,
      threads: 1,
      spoolDir: "/nowhere",
      tempDir: "/nowhere/temp",
      tempBytesMax: 1,
      connections: 8,
      queueMax: 8,
      rowBytesMax: 1,
      readableDirs: [],
    },
    engineBytesMax: 100 * 1024 ** 2,
    treeBytesMax: Number.MAX_SAFE_INTEGER,
    idleMs: 60_000,
    spawn: (bounded) => {
      const process = new FakeProcess();
      bounds.push(bounded);
      if (processes.push(process) <= stillbornCount) process.die("exit code 1");
      return process;
    },
    clock,
    logger: recordingLogger(lines),
    observer: {
      ...silentEngineObserver,
      processLost: (reason) => losses.push(reason),
      statementAtFault: (code) => faults.push(code),
    },
    ...(health === undefined ? {} : { health }),
  });
  const engine = new ProcessEngine(pool);
  const reached = async (sql: string): Promise<void> => {
    while (!processes.some(({ asked }) => asked.includes(sql))) await clock.advance(1);
    await clock.advance(1);
  };
  return { engine, clock, processes, bounds, faults, losses, lines, reached };
}

function fails(code: string, message: RegExp): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(thrown.code, code, thrown.message);
    assert.match(thrown.message, message);
    assert.equal(thrown.retry, "never");
    return true;
  };
}

test("[QE3] the process starts with the first statement, and ends when nobody needs it", async () => {
  const { engine, clock, processes } = bench();
  assert.equal(processes.length, 0);
  await engine.parse("one", never);
  await clock.advance(59_000);
  await engine.parse("two", never);
  await clock.advance(59_000);
  assert.equal(processes.length, 1);
  assert.equal(processes[0]?.connected, true);
  await clock.advance(2_000);
  assert.equal(processes[0]?.connected, false);
  await engine.parse("three", never);
  assert.equal(processes.length, 2);
  await engine.close();
});

for (const [death, told] of [
  ["crash", /SIGSEGV/],
  ["fatal", /invalidated/],
] as const) {
  test(`[QU48] a statement of the kind ${death} costs its process; whoever else was in it is run again`, async () => {
    const { engine, processes, faults, reached, clock } = bench();
    const beside = engine.parse("wait", never);
    await reached("wait");
    const bad = assert.rejects(engine.parse(death, never), fails("query_failed", told));
    await bad;
    await clock.advance(1);
    processes.at(-1)?.release();
    assert.equal(await beside, "done");
    const asked = processes.map((process) => process.asked);
    // The newest is tried alone first, then the other one.
    assert.deepEqual(asked, [["wait", death], [death], ["wait"]]);
    assert.deepEqual(faults, ["query_failed"]);
    await engine.close();
  });
}

test("[QU48] a process that is lost once, for whatever reason, costs the statement in it nothing", async () => {
  const { engine, processes, faults, reached, clock } = bench();
  const only = engine.parse("wait", never);
  await reached("wait");
  processes[0]?.die("SIGSEGV");
  await clock.advance(1);
  processes[1]?.release();
  assert.equal(await only, "done");
  assert.deepEqual(faults, []);
  await engine.close();
});

test("[QE5] a statement that ignores its cancellation for 2 s costs the process; the others are run again", async () => {
  const { engine, processes, faults, losses, reached, clock } = bench();
  const abort = new AbortController();
  const beside = engine.parse("wait", never);
  const deaf = assert.rejects(engine.parse("deaf", abort.signal), { code: "cancelled" });
  await reached("deaf");
  abort.abort();
  await clock.advance(1_900);
  assert.equal(processes[0]?.connected, true);
  await clock.advance(200);
  await deaf;
  assert.equal(processes[0]?.connected, false);
  processes[1]?.release();
  assert.equal(await beside, "done");
  assert.deepEqual([processes.length, losses, faults], [2, ["cancel"], []]);
  await engine.close();
});

test("[QE5] nobody is run again for ever beside those that ignore their cancellation: the third time it runs alone", async () => {
  const { engine, processes, reached, clock } = bench();
  const beside = engine.parse("wait", never);
  for (let round = 0; round < 3; round += 1) {
    const abort = new AbortController();
    const deaf = assert.rejects(engine.parse("deaf", abort.signal), { code: "cancelled" });
    await reached("deaf");
    abort.abort();
    await clock.advance(2_100);
    await deaf;
  }
  const last = processes.at(-1);
  assert.deepEqual(last?.asked, ["wait"]);
  const other = engine.parse("other", never);
  await clock.advance(1);
  await other;
  assert.deepEqual(last?.asked, ["wait"], "nobody comes in beside it");
  last?.release();
  assert.equal(await beside, "done");
  await engine.close();
});

test("[QE4] without memory in company is not the statement's fault: it is tried alone, and only then fails", async () => {
  const { engine, processes, reached } = bench();
  const beside = engine.parse("wait", never);
  await reached("wait");
  await assert.rejects(
    engine.parse("hungry", never),
    fails("statement_too_large", /Out of Memory/),
  );
  assert.deepEqual(
    processes.map(({ asked }) => asked),
    [["wait", "hungry"], ["hungry"]],
  );
  processes[0]?.release();
  assert.equal(await beside, "done");
  await engine.close();
});

test("[QE4] without memory in a process that nobody else used, it fails at once", async () => {
  const { engine, processes } = bench();
  await assert.rejects(
    engine.parse("hungry", never),
    fails("statement_too_large", /Out of Memory/),
  );
  assert.equal(processes.length, 1);
  await engine.close();
});

test("[QU48] what waited for a connection is never suspected", async () => {
  const { engine, processes, reached, clock } = bench();
  const queued = engine.parse("queued", never);
  const running = engine.parse("wait", never);
  await reached("wait");
  processes[0]?.die("SIGSEGV");
  await clock.advance(1);
  for (const process of processes) process.release();
  assert.deepEqual(await Promise.all([queued, running]), ["done", "done"]);
  const asked = processes.slice(1).map((process) => process.asked);
  assert.deepEqual(new Set(asked.flat()), new Set(["queued", "wait"]));
  assert.equal(asked.length, 2, "one for everybody, and one for what is tried");
  await engine.close();
});

test("[QE2] a session that is lost begins anew, whatever its user made of the error", async () => {
  const { engine, processes, clock } = bench();
  const seen: string[] = [];
  const used = engine.withSession([], never, async (session) => {
    seen.push("begin");
    const [row] = await session.run("first", never);
    seen.push(String(row?.[0]));
    if (processes.length === 1) processes[0]?.die("SIGSEGV");
    return await session.run("second", never).then(
      () => "right",
      () => "wrong",
    );
  });
  await clock.advance(1);
  assert.equal(await used, "right");
  assert.deepEqual(seen, ["begin", "first", "begin", "first"]);
  await engine.close();
});

test("[QU13] whoever leaves while his statement waits to be tried is told at once", async () => {
  const { engine, processes, reached, clock } = bench();
  const abort = new AbortController();
  const first = engine.parse("wait", never);
  const second = engine.parse("wait too", abort.signal);
  await reached("wait too");
  processes[0]?.die("SIGSEGV");
  await clock.advance(1);
  const left = assert.rejects(
    first.then(() => second),
    { code: "cancelled" },
  );
  const before = assert.rejects(second, { code: "cancelled" });
  abort.abort();
  await before;
  await clock.advance(1);
  processes.at(-1)?.release();
  assert.equal(await first, "done");
  await left;
  await engine.close();
});

test("[QU48] a statement that hangs alone keeps the line for 30 s: then the next is tried beside it, and it goes on", async () => {
  const { engine, processes, faults, reached, clock } = bench();
  const innocent = engine.parse("other", never);
  await innocent;
  const [first, second] = [engine.parse("wait", never), engine.parse("wait too", never)];
  await reached("wait too");
  processes[0]?.die("SIGSEGV");
  await clock.advance(1);
  assert.deepEqual(processes[1]?.asked, ["wait too"], "the newest first");
  await clock.advance(29_900);
  assert.equal(processes.length, 2);
  await clock.advance(200);
  assert.deepEqual(processes[2]?.asked, ["wait"]);
  processes[2]?.release();
  assert.equal(await first, "done");
  assert.equal(processes[1]?.connected, true);
  processes[1]?.release();
  assert.equal(await second, "done");
  assert.deepEqual(faults, []);
  await engine.close();
});

test("[QU48] of statements that hang alone no more than two stay beside the one whose turn it is", async () => {
  const { engine, processes, faults, losses, reached, clock } = bench();
  const names = ["wait 1", "wait 2", "wait 3", "wait 4"];
  const hanging = names.map((name) => engine.parse(name, never));
  await reached("wait 4");
  processes[0]?.die("SIGSEGV");
  const oldest = assert.rejects(hanging[3] ?? Promise.resolve(), (thrown: unknown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.deepEqual([thrown.code, thrown.retry], ["overloaded", "backoff"]);
    assert.match(thrown.message, /ran alone for more than 30 s and gave way/);
    return true;
  });
  await clock.advance(90_100);
  await oldest;
  assert.deepEqual(
    processes.filter(({ connected }) => connected).map(({ asked }) => asked),
    [["wait 3"], ["wait 2"], ["wait 1"]],
  );
  for (const process of processes) process.release();
  assert.deepEqual(await Promise.all(hanging.slice(0, 3)), ["done", "done", "done"]);
  assert.deepEqual([faults, losses], [[], ["crash", "overdue"]]);
  await engine.close();
});

test("[QU44] a process that does not start fails the statement, to be tried again", async () => {
  const { engine, processes } = bench(2); // With the kernel's limit, and without it.
  const failed = assert.rejects(engine.parse("one", never), (thrown: unknown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.deepEqual([thrown.code, thrown.retry], ["query_failed", "backoff"]);
    return true;
  });
  await failed;
  assert.equal(processes.length, 2);
  await engine.parse("two", never);
  await engine.close();
});

test("[QE6] an engine that does not start is a failed part, tries again by itself, and heals", async () => {
  const board = new HealthBoard({ clock: new VirtualClock() });
  const state = () => board.parts()[0]?.state;
  const { engine, processes, clock } = bench(6, board.part("engine"));
  await assert.rejects(engine.parse("one", never), { code: "query_failed" });
  assert.deepEqual([state(), processes.length], ["failed", 2]);
  assert.match(board.parts()[0]?.reason ?? "", /the engine's process did not start/);
  await clock.advance(1_100); // Two more processes, with the kernel's limit and without it.
  assert.deepEqual([state(), processes.length], ["failed", 4]);
  await clock.advance(1_500);
  assert.deepEqual([state(), processes.length], ["failed", 4], "pauses grow");
  await clock.advance(600);
  assert.equal(state(), "failed");
  await clock.advance(4_100);
  assert.equal(state(), "ok");
  const count = processes.length;
  await engine.parse("two", never);
  assert.equal(processes.length, count, "what was started to find out is used");
  await clock.advance(61_000);
  assert.equal(processes.at(-1)?.connected, false, "or ends when nobody does");
  await engine.close();
});

test("[QE4] a start that failed within the kernel's limit costs the limit once, not for good", async () => {
  const { engine, clock, processes, bounds } = bench(1);
  await engine.parse("one", never);
  assert.deepEqual(bounds, [true, false]);
  processes[1]?.die("SIGSEGV");
  await clock.advance(1);
  await engine.parse("two", never);
  assert.deepEqual(bounds, [true, false, true]);
  await engine.close();
});

test("[QU43] closing ends a process that does not end", async () => {
  const { engine, processes, clock, reached } = bench();
  const running = assert.rejects(engine.parse("wait", never), { code: "shutting_down" });
  await reached("wait");
  const [process] = processes;
  assert.ok(process !== undefined);
  process.send = () => undefined; // It receives nothing.
  const closing = engine.close();
  await clock.advance(1_100);
  await closing;
  await running;
  assert.equal(process.connected, false);
  await assert.rejects(engine.parse("late", never), { code: "shutting_down" });
});

test("[QU43] closing leaves no timer behind, though a statement ends with it", async () => {
  const { engine, clock, reached } = bench();
  const running = assert.rejects(engine.parse("wait", never), { code: "shutting_down" });
  await reached("wait");
  await engine.close();
  await running;
  await clock.advance(3_000); // The last measurement of the lost process.
  assert.equal(clock.pendingCount, 0);
});

test("[OB14] a process that is lost is logged once for every query that ran in it", async () => {
  const { engine, clock, processes, lines, reached } = bench();
  const run = async (queryId: string, sql: string): Promise<void> => {
    await engine.with({ query_id: queryId }).executeToParquet(sql, "/nowhere/a", never);
  };
  const asked = [run("q-1", "wait 1"), run("q-2", "wait 2"), run("q-3", "queued")];
  const ended = Promise.allSettled(asked);
  await reached("wait 1");
  await reached("queued");
  processes[0]?.die("SIGSEGV");
  await clock.advance(1);
  assert.deepEqual(
    lines.map(({ fields, message }) => [fields.query_id, fields.reason, message]),
    ["q-1", "q-2"].map((id) => [id, "crash", "the engine's process is gone: SIGSEGV"]),
  );
  await engine.close();
  await ended;
});

test("[OB14] an engine that starts without the kernel's limit says for which query", async () => {
  const { engine, clock, lines } = bench(1);
  const running = engine.with({ query_id: "q-1" }).parse("SELECT 1", never);
  await clock.advance(1);
  await running;
  const [first] = lines.filter(({ message }) => message.startsWith("the engine does not start"));
  assert.equal(first?.fields.query_id, "q-1");
  await engine.close();
});
