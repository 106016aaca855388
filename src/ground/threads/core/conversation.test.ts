import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError, OperatingError } from "../../kernel/errors.ts";
import { Conversation, type Said } from "./conversation.ts";
import { type Call, type Handlers, type Message, WithTransfer } from "./talk.ts";

interface Clerk {
  readonly requests: {
    double(number: number): number;
    count(to: number, progress: number): string;
    reverse(bytes: Uint8Array): Uint8Array;
    hold(): void;
    fail(code: "disk_full" | "bug"): void;
    askBack(question: string): string;
  };
  readonly notes: { remember: string };
}

interface Owner {
  readonly requests: { question(text: string): string };
  readonly notes: Record<never, never>;
}

interface Bench {
  readonly owner: Conversation<Clerk, Owner>;
  readonly clerk: Conversation<Owner, Clerk>;
  readonly messages: Message[];
  readonly remembered: string[];
  readonly held: Call[];
  serve(): void;
}

/** Two ends, connected by a wire that clones messages, as threads do. */
function bench(sharesMemory = true): Bench {
  const messages: Message[] = [];
  const remembered: string[] = [];
  const held: Call[] = [];
  const wire = (other: () => Conversation<never, never>) => ({
    sharesMemory,
    send: (message: Message, transfer: readonly ArrayBuffer[]) => {
      messages.push(message);
      const sent = structuredClone(message, { transfer: [...transfer] });
      queueMicrotask(() => other().receive(sent as Said));
    },
  });
  const owner: Conversation<Clerk, Owner> = new Conversation<Clerk, Owner>(
    wire(() => clerk as unknown as Conversation<never, never>),
  );
  const clerk: Conversation<Owner, Clerk> = new Conversation<Owner, Clerk>(
    wire(() => owner as unknown as Conversation<never, never>),
  );
  owner.serve({
    requests: { question: (text) => `${text}: yes` },
    notes: {},
  });
  const handlers: Handlers<Clerk> = {
    requests: {
      double: (number) => number * 2,
      count: (to, call) => {
        for (let index = 1; index <= to; index += 1) call.progress(index);
        return "done";
      },
      reverse: (bytes) => {
        const reversed = bytes.toReversed();
        return new WithTransfer<Uint8Array>(reversed, [reversed.buffer]);
      },
      hold: (_, call) => {
        held.push(call);
        return new Promise((_resolve, reject) => {
          call.signal.addEventListener("abort", () =>
            reject(new OperatingError("cancelled", "never", "stopped")),
          );
        });
      },
      fail: (code) => {
        if (code === "bug") throw new TypeError("x is undefined");
        throw new OperatingError(code, "backoff", "no room", { hint: "Make room." });
      },
      askBack: (question) => clerk.ask("question", question),
    },
    notes: { remember: (text) => void remembered.push(text) },
  };
  return { owner, clerk, messages, remembered, held, serve: () => clerk.serve(handlers) };
}

test("[TK1] a request and its answer are one message each, whichever end asks", async () => {
  const { owner, messages, serve } = bench();
  serve();
  assert.equal(await owner.ask("double", 21), 42);
  assert.deepEqual(
    messages.map(({ kind }) => kind),
    ["request", "answer"],
  );
  assert.equal(await owner.ask("askBack", "ready"), "ready: yes");
});

test("[TK1] progress belongs to its request, and notes have no answer", async () => {
  const { owner, remembered, serve } = bench();
  serve();
  const seen: number[] = [];
  owner.tell("remember", "first");
  assert.equal(await owner.ask("count", 3, { onProgress: (each) => seen.push(each) }), "done");
  assert.deepEqual([seen, remembered], [[1, 2, 3], ["first"]]);
});

test("[TK1] what comes before the other end takes requests is kept in its order", async () => {
  const { owner, remembered, serve } = bench();
  owner.tell("remember", "first");
  const answer = owner.ask("double", 1);
  owner.tell("remember", "second");
  await Promise.resolve();
  await Promise.resolve();
  serve();
  assert.deepEqual(remembered, ["first", "second"]);
  assert.equal(await answer, 2);
});

for (const sharesMemory of [true, false]) {
  test(`[TK2] an abort is told by a message${sharesMemory ? " and by a shared word" : ""}`, async () => {
    const { owner, messages, held, serve } = bench(sharesMemory);
    serve();
    const abort = new AbortController();
    const waited = owner.ask("hold", undefined, { signal: abort.signal });
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(held[0]?.isStopped(), false);
    abort.abort();
    assert.equal(held[0]?.isStopped(), sharesMemory, "the word is set before the message comes");
    await assert.rejects(waited, { code: "cancelled", message: "stopped" });
    assert.throws(() => held[0]?.check(), { code: "cancelled" });
    assert.equal(messages.filter(({ kind }) => kind === "abort").length, 1);
  });
}

test("[TK2] an asker that leaves is rejected at once, and so is one whose signal was aborted before", async () => {
  const { owner, messages } = bench();
  const abort = new AbortController();
  const { signal } = abort;
  const left = owner.ask("hold", undefined, { signal, whenAborted: "leave" });
  abort.abort();
  await assert.rejects(left, { code: "cancelled" });
  assert.equal(owner.pendingCount, 0);
  const before = messages.length;
  await assert.rejects(owner.ask("hold", undefined, { signal }), { code: "cancelled" });
  assert.equal(messages.length, before);
});

test("[TK3] what a handler throws is what the asker is told", async () => {
  const { owner, serve } = bench();
  serve();
  const said = { code: "disk_full", retry: "backoff", message: "no room", hint: "Make room." };
  await assert.rejects(owner.ask("fail", "disk_full"), said);
  await assert.rejects(owner.ask("fail", "bug"), AssertionError);
});

test("[TK4] when it is over whatever was asked fails, the newest first, and so does what comes", async () => {
  const { owner } = bench();
  const failed: string[] = [];
  const one = owner.ask("hold", undefined).catch(() => failed.push("one"));
  const two = owner.ask("double", 2).catch(() => failed.push("two"));
  owner.end(new OperatingError("store_unavailable", "backoff", "it is gone"));
  owner.end(new OperatingError("shutting_down", "backoff", "later"));
  await Promise.all([one, two]);
  assert.deepEqual(failed, ["two", "one"]);
  await assert.rejects(owner.ask("double", 1), { code: "store_unavailable" });
});

test("[TK8] buffers are handed over with a request and with its answer", async () => {
  const { owner, serve } = bench();
  serve();
  const bytes = Uint8Array.of(1, 2, 3);
  const reversed = await owner.ask("reverse", bytes, { transfer: [bytes.buffer] });
  assert.deepEqual([...reversed], [3, 2, 1]);
  assert.equal(bytes.length, 0);
});

test("[TK1] what cannot be sent is the asker's error, and leaves nothing behind", async () => {
  const { owner } = bench();
  const wrong = (() => 1) as unknown as number;
  await assert.rejects(owner.ask("double", wrong), { name: "DataCloneError" });
  assert.equal(owner.pendingCount, 0);
});
