import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import { Peer, type PeerOptions } from "./peer.ts";
import { startProcessLink } from "./process-link.ts";
import { startThread } from "./start-thread.ts";
import type { Clerk, ClerkOptions, Owner } from "./testing/clerk-thread.ts";

const module = siblingModule(import.meta.url, "./testing/clerk-thread");

interface Started {
  readonly peer: Peer<Clerk, Owner>;
  readonly asked: string[];
  readonly closed: string[];
}

function start(
  kind: "thread" | "process",
  clerk: ClerkOptions = { name: "Ann" },
  more: Partial<PeerOptions<Owner>> = {},
): Started {
  const asked: string[] = [];
  const closed: string[] = [];
  const options: PeerOptions<Owner> = {
    clock: realClock,
    lost: (cause) =>
      new OperatingError("store_unavailable", "backoff", `the clerk is lost: ${messageOf(cause)}`),
    handlers: {
      requests: {
        question: (text) => {
          asked.push(text);
          return `${text}: yes`;
        },
      },
      notes: { closed: (name) => void closed.push(name) },
    },
    ...more,
  };
  const peer: Peer<Clerk, Owner> =
    kind === "thread"
      ? startThread<Clerk, Owner>({ ...options, module, options: clerk })
      : new Peer<Clerk, Owner>(
          startProcessLink([process.execPath, fileURLToPath(module)], { PATH: "" }),
          { ...options, open: clerk },
        );
  return { peer, asked, closed };
}

for (const kind of ["thread", "process"] as const) {
  test(`[TK1] a ${kind} answers, and asks in turn; what is asked before it is ready waits`, async () => {
    const { peer } = start(kind);
    assert.equal(await peer.ask("greet", "Bob"), "Ann greets Bob");
    assert.equal(await peer.ask("askBack", "ready"), "ready: yes");
    await peer.ready;
    await peer.stop();
  });

  test(`[TK4] a ${kind} that ends by itself fails what was asked of it, and is told`, async () => {
    const { peer } = start(kind);
    const held = assert.rejects(peer.ask("hold", undefined), { code: "store_unavailable" });
    await assert.rejects(peer.ask("exit", 7), /the clerk is lost: .*7/);
    await held;
    assert.match((await peer.failure).message, /7$/);
    await peer.exited;
    await assert.rejects(peer.ask("greet", "Bob"), { code: "store_unavailable" });
    assert.equal(await peer.stop(), "ended");
  });

  test(`[TK4] a ${kind} that does not open says why, and is gone`, async () => {
    const lost = (cause: Error): OperatingError => cause as OperatingError;
    const { peer } = start(kind, { name: "Ann", habit: "fails" }, { lost });
    const asked = assert.rejects(peer.ask("greet", "Bob"), { hint: "Repair it." });
    await assert.rejects(peer.ready, { code: "store_corrupt", retry: "never" });
    await asked;
    await peer.exited;
  });

  test(`[TK4] a ${kind} that says it is broken is killed, or left until it is stopped`, async () => {
    const killed = start(kind);
    await assert.rejects(killed.peer.ask("break", undefined), /the clerk is lost: no room/);
    await killed.peer.exited;
    const kept = start(kind, { name: "Ann" }, { whenBroken: "leave" });
    await assert.rejects(kept.peer.ask("break", undefined), /the clerk is lost: no room/);
    assert.equal(await kept.peer.stop(), "ended");
    assert.deepEqual(kept.closed, ["Ann"]);
  });

  test(`[TK5] a ${kind} that is stopped aborts what is under way, asks, closes and ends`, async () => {
    const { peer, asked, closed } = start(kind);
    await peer.ready;
    const failing = assert.rejects(peer.ask("hold", undefined), { code: "shutting_down" });
    assert.equal(await peer.stop(), "ended");
    await failing;
    assert.deepEqual([asked, closed], [["may I go"], ["Ann"]]);
    await assert.rejects(peer.ask("greet", "Bob"), { code: "shutting_down" });
  });

  test(`[TK5] what a ${kind} was asked before it is stopped is answered, where that is wanted`, async () => {
    const { peer } = start(kind);
    const held = peer.ask("hold", undefined);
    await peer.ready;
    assert.equal(await peer.stop({ pending: "finish" }), "ended");
    await held;
  });

  test(`[TK5] a ${kind} that does not heed the stop word is killed after its grace period`, async () => {
    const { peer } = start(kind, { name: "Ann", habit: "stays" });
    const held = assert.rejects(peer.ask("hold", undefined), { code: "shutting_down" });
    await peer.ready;
    assert.equal(await peer.stop({ graceMs: 50 }), "killed");
    await held;
  });

  test(`[TK5] what is asked of a ${kind} that is killed fails at once with a reason, without one when it is gone`, async () => {
    const { peer } = start(kind);
    await peer.ready;
    const held = assert.rejects(peer.ask("hold", undefined), { code: "overloaded" });
    const killing = peer.kill(new OperatingError("overloaded", "backoff", "make room"));
    await held;
    await killing;
    const other = start(kind).peer;
    await other.ready;
    const lost = assert.rejects(other.ask("hold", undefined), /the clerk is lost/);
    await other.kill();
    await lost;
  });
}

test("[TK2] a thread that computes sees that its answer is no longer wanted", async () => {
  const { peer } = start("thread");
  await peer.ready;
  const abort = new AbortController();
  const answer = peer.ask("compute", undefined, { signal: abort.signal });
  abort.abort();
  assert.equal(await answer, "stopped");
  await peer.stop();
});

test("[TK4] an exception that nobody caught costs the thread", async () => {
  const { peer } = start("thread");
  await peer.ready;
  const held = assert.rejects(peer.ask("hold", undefined), /the clerk is lost: too much/);
  peer.tell("throw", "too much");
  await held;
  await peer.exited;
});

test("[TK6] a child process ends when its channel is gone, and not for a signal to its group", async () => {
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, [fileURLToPath(module)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });
  const ready = once(child, "message");
  child.send({ kind: "open", options: { name: "Ann" } });
  await ready;
  child.kill("SIGINT");
  child.kill("SIGTERM");
  const answered = once(child, "message");
  child.send({ kind: "request", id: 1, name: "greet", argument: "Bob", stop: undefined });
  assert.equal((await answered)[0].answer, "Ann greets Bob");
  const ended = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await ended, [null, "SIGKILL"]);
});
