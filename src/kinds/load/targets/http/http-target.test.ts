/** An HTTP target on a real server: what the contract promises, and what only HTTP does. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import { test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually, until } from "../../../../ground/kernel/testing/eventually.ts";
import { operationOf as compiled } from "../../core/compile-workload.ts";
import type { PreparedOperation, Target } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { createHttpTarget } from "./http-target.ts";

const { signal } = new AbortController();

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly port: number | undefined;
}

/** `/status/404` answers that, `/hang` never, everything else 200 with some bytes. */
async function withServer(
  body: (target: Target, seen: Seen[], server: Server) => Promise<void>,
  secret: string | null = null,
): Promise<void> {
  const seen: Seen[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { method, url, headers, socket } = request;
      const text = Buffer.concat(pieces).toString();
      seen.push({ method, url, headers, body: text, port: socket.remotePort });
      if (url?.includes("/hang")) return;
      response.statusCode = Number(/\/status\/(\d+)/.exec(url ?? "")?.[1] ?? 200);
      response.end(JSON.stringify({ said: "x".repeat(100_000) }));
    });
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const target = createHttpTarget(`http://127.0.0.1:${address.port}/base/`, secret, realClock);
  try {
    await body(target, seen, server);
  } finally {
    await target.close();
    server.closeAllConnections();
    server.close();
  }
}

test("[TT1, TT4, TT6, HT1] requests go in order on one connection that stays, values encoded for their place", async () => {
  await withServer(async (target, seen) => {
    const connection = await target.connect(1, signal);
    const get = await connection.prepare(
      operationOf("POINT_LOOKUP", 'GET /q?query=sum(x{a=~"b c"}[5m]) + :n&w=:word', {
        n: "bigint",
        word: "text",
      }),
    );
    const values = [0, ""] as [number, string];
    const answers: number[] = [];
    let isReturned = true;
    for (let n = 0; n < 20; n += 1) {
      values[0] = n;
      values[1] = `a&b=/?#%+ é${n}\n`;
      isReturned = false;
      get.execute(values, (failure, rowCount) => {
        assert.deepEqual([isReturned, failure, rowCount], [true, undefined, 1]);
        answers.push(n);
      });
      isReturned = true;
    }
    await eventually("all answers", () => (connection.inFlight === 0 ? true : undefined));
    assert.deepEqual(answers, [...Array(20).keys()]);
    assert.equal(new Set(seen.map(({ port }) => port)).size, 1);
    const asked = seen.map(({ url }) => new URL(url ?? "", "http://h"));
    assert.deepEqual(
      asked.map(({ searchParams }) => searchParams.get("w")),
      answers.map((n) => `a&b=/?#%+ é${n}\n`),
    );
    assert.equal(asked[3]?.pathname, "/base/q");
    assert.match(seen[3]?.url ?? "", /sum\(x%7Ba=~%22b%20c%22%7D\[5m\]\)%20%2B%203&w=/);
  });
});

test("[HT2] a body is a form, or JSON, or what its header says; headers take values too", async () => {
  await withServer(async (target, seen) => {
    const connection = await target.connect(1, signal);
    const send = async (text: string): Promise<Seen | undefined> => {
      const statement = compiled({
        name: "x",
        kind: "CUSTOM",
        weight: 1,
        statements: [text],
        transaction: false,
        parameters: {
          q: { kind: "choice", values: ['a "b" & c'] },
          n: { kind: "integer", min: 1, max: 1 },
        },
      });
      const prepared = await connection.prepare(statement);
      assert.equal((await execute(prepared, ['a "b" & c', 7])).failure, undefined);
      return seen.at(-1);
    };
    const form = await send("POST /p\nquery=:q&n=:n");
    assert.equal(form?.body, "query=a%20%22b%22%20%26%20c&n=7");
    assert.equal(form?.headers["content-type"], "application/x-www-form-urlencoded");
    const json = await send('POST /p\n{"query": :q, "n": :n}');
    assert.deepEqual(JSON.parse(json?.body ?? ""), { query: 'a "b" & c', n: 7 });
    assert.equal(json?.headers["content-type"], "application/json");
    const headed = await send("PUT /p/:n\nX-Tenant: :q\nContent-Type: text/plain\n\nhello");
    assert.deepEqual(
      [headed?.method, headed?.url, headed?.headers["x-tenant"], headed?.body],
      ["PUT", "/base/p/7", 'a "b" & c', "hello"],
    );
    const accepted = await send("GET /p?q=:q&n=:n\nAccept: text/x\n");
    assert.deepEqual([accepted?.headers.accept, accepted?.body], ["text/x", ""]);
  }, "sesame");
});

test("[TT3, HT3] a status from 300 on is a failure by its kind, without the server's words", async () => {
  await withServer(async (target, seen) => {
    const connection = await target.connect(1, signal);
    const get = await connection.prepare(
      operationOf("CUSTOM", "GET /status/:code", { code: "bigint" }),
    );
    const kinds: unknown[] = [];
    for (const code of [200, 302, 400, 401, 404, 409, 429, 500, 503, 504]) {
      const { failure } = await execute(get, [code]);
      kinds.push(failure?.kind);
      assert.equal(failure?.message, failure === undefined ? undefined : `answered ${code}`);
    }
    const [fine, moved, ...rest] = kinds;
    assert.deepEqual([fine, moved], [undefined, "redirect"]);
    const want = "syntax permission syntax serialization resources other resources timeout";
    assert.deepEqual(rest, want.split(" "));
    assert.equal(new Set(seen.map(({ port }) => port)).size, 1); // Bodies were read to their end.
    assert.equal(seen[0]?.headers.authorization, "Bearer sesame");
  }, "sesame");
});

test("[HT3] an operation says which statuses it expects; no other is a success then", async () => {
  await withServer(async (target) => {
    const connection = await target.connect(1, signal);
    const operation = compiled({
      ...{ name: "get", kind: "CUSTOM", weight: 1, statements: ["GET /status/:code"] },
      ...{ transaction: false, expectStatus: [302, 404] },
      parameters: { code: { kind: "integer", min: 200, max: 599 } },
    });
    const get = await connection.prepare(operation);
    const heard: unknown[] = [];
    for (const code of [200, 302, 303, 404, 500]) {
      const { failure, rowCount } = await execute(get, [code]);
      heard.push(failure?.kind ?? rowCount);
    }
    assert.deepEqual(heard, ["other", 1, "redirect", 1, "other"]);
    await assert.rejects(target.run("GET /status/302", [], signal), { code: "query_failed" });
  });
});

test("[TT2, TT9, TT10, TT12] a cut connection, a closed one, an aborted wait, a closed target", async () => {
  await withServer(async (target, seen, server) => {
    const hang = operationOf("CUSTOM", "GET /hang", {});
    const cut = await target.connect(1, signal);
    const prepared = await cut.prepare(hang);
    const heard: string[] = [];
    const broken = new Promise<void>((resolve) => {
      cut.onBroken(() => {
        heard.push("broken");
        resolve();
      });
    });
    for (let count = 0; count < 2; count += 1) {
      prepared.execute([], (failure) => heard.push(failure?.kind ?? "answered"));
    }
    await eventually("it hangs", () => (seen.length === 1 ? true : undefined));
    server.closeAllConnections();
    await broken;
    assert.deepEqual(heard, ["connection", "connection", "broken"]);
    assert.equal((await execute(prepared, [])).failure?.kind, "connection");

    const closed = await target.connect(1, signal);
    closed.onBroken(() => heard.push("broken again"));
    const outcome = execute(await closed.prepare(hang), []);
    await Promise.all([closed.close(), closed.close()]);
    assert.equal((await outcome).failure?.code, "closed");
    assert.equal(heard.length, 3);

    const isCancelled = { code: "cancelled" };
    await assert.rejects(target.connect(1, AbortSignal.abort()), isCancelled);
    const controller = new AbortController();
    const running = target.run("GET /hang", [], controller.signal);
    controller.abort();
    await assert.rejects(running, isCancelled);
    const [[said]] = (await target.run("GET /x", [], signal)) as [[{ said: string }]];
    assert.equal(said.said.length, 100_000);
    await target.close();
    await assert.rejects(target.connect(1, signal), { code: "shutting_down" });
  });
});

/** What a socket does with its nth request, from 1. */
type Script = (socket: Socket, nth: number, passMs: (ms: number) => void) => void;

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/**
 * Time passes where the script says so, and by `readMs` with every look at the clock: opening a
 * socket takes as much, and so does every loss after its request was written.
 */
async function withScript(
  script: Script,
  body: (target: Target, opened: () => number, dropAll: () => void) => Promise<void>,
  readMs = 0,
): Promise<void> {
  let nowMs = 0;
  let opened = 0;
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    opened += 1;
    sockets.add(socket);
    let requests = 0;
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", () => {
      requests += 1;
      script(socket, requests, (ms) => {
        nowMs += ms;
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clock = {
    ...realClock,
    nowMs: () => {
      nowMs += readMs;
      return nowMs;
    },
  };
  const target = createHttpTarget(`http://127.0.0.1:${port}/`, null, clock);
  const dropAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  try {
    await body(target, () => opened, dropAll);
  } finally {
    await target.close();
    dropAll();
    server.close();
  }
}

/**
 * One request after the other, each begun within the answer of the one before, as a closed loop
 * does.
 */
function backToBack(
  prepared: PreparedOperation,
  count: number,
): Promise<readonly (readonly [string | undefined, number])[]> {
  return new Promise((resolve) => {
    const heard: (readonly [string | undefined, number])[] = [];
    const next = (): void => {
      prepared.execute([], (failure, _, resent = 0) => {
        heard.push([failure?.kind, resent]);
        if (failure !== undefined || heard.length === count) resolve(heard);
        else next();
      });
    };
    next();
  });
}

async function later(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((done) => setImmediate(done));
}

/** However long a busy machine takes to tell the other end: no socket of this process is open. */
async function bothEndsClosed(): Promise<void> {
  await until(() => !process.getActiveResourcesInfo().includes("TCPSocketWrap"));
}

const fine = [undefined, 0] as const;
const again = [undefined, 1] as const;
const failed = ["connection", 0] as const;

const closings: readonly {
  readonly name: string;
  readonly method?: string;
  readonly script: Script;
  readonly readMs?: number;
  readonly heard: readonly (readonly [string | undefined, number])[];
}[] = [
  {
    name: "a server that closes after every answer, without a word of it, is healthy",
    script: (socket) => socket.end(answer),
    heard: [fine, again, again, again],
  },
  {
    name: "a close that a busy machine sees late is still of the time before",
    script: (socket) => socket.end(answer),
    readMs: 40,
    heard: [fine, again, again, again],
  },
  {
    name: "a request that is not idempotent is not sent twice",
    method: "POST",
    script: (socket) => socket.end(answer),
    heard: [fine, failed],
  },
  {
    name: "a request that the server took and reset at once has failed",
    script: (socket, nth) => {
      if (nth === 1) socket.write(answer);
      else socket.resetAndDestroy();
    },
    heard: [fine, failed],
  },
  {
    name: "a request that the server took and reset after 20 ms has failed",
    script: (socket, nth, passMs) => {
      if (nth === 1) {
        socket.write(answer);
        return;
      }
      passMs(20);
      void later(8).then(() => socket.resetAndDestroy());
    },
    heard: [fine, failed],
  },
  {
    name: "a request that the server took and closed after 20 ms has failed",
    script: (socket, nth, passMs) => {
      if (nth === 1) {
        socket.write(answer);
        return;
      }
      passMs(20);
      void later(8).then(() => socket.end());
    },
    heard: [fine, failed],
  },
  {
    name: "the first request of a socket that the server closes has failed",
    script: (socket) => socket.end(),
    heard: [failed],
  },
  {
    name: "a part of an answer is no reason to ask again",
    script: (socket, nth) => {
      if (nth === 1) socket.write(answer);
      else socket.end(answer.slice(0, -1));
    },
    heard: [fine, failed],
  },
];

for (const { name, method = "GET", script, readMs, heard } of closings) {
  test(`[HT5] ${name}`, async () => {
    const ask = async (target: Target): Promise<void> => {
      const connection = await target.connect(1, signal);
      const prepared = await connection.prepare(operationOf("CUSTOM", `${method} /x`, {}));
      assert.deepEqual(await backToBack(prepared, 4), heard);
    };
    await withScript(script, ask, readMs);
  });
}

test("[HT5] a request is sent again once: a server that closes the second socket as well has failed", async () => {
  let answers = 0;
  const script: Script = (socket) => {
    answers += 1;
    socket.end(answers > 1 ? "" : answer);
  };
  await withScript(script, async (target, opened) => {
    const connection = await target.connect(1, signal);
    const prepared = await connection.prepare(operationOf("CUSTOM", "GET /x", {}));
    assert.deepEqual(await backToBack(prepared, 4), [fine, failed]);
    assert.equal(opened(), 2);
  });
});

test("[HT1] a connection is one socket, from its opening on; one that was closed while it was idle is replaced", async () => {
  await withScript(
    (socket) => socket.write(answer),
    async (target, opened, dropAll) => {
      const connection = await target.connect(1, signal);
      const prepared = await connection.prepare(operationOf("CUSTOM", "GET /x", {}));
      assert.deepEqual(await backToBack(prepared, 4), [fine, fine, fine, fine]);
      assert.equal(opened(), 1);
      dropAll();
      await bothEndsClosed();
      assert.deepEqual(await backToBack(prepared, 2), [fine, fine]);
      assert.equal(opened(), 2);
      const idle = await target.connect(1, signal);
      await eventually("it is accepted", () => (opened() === 3 ? true : undefined));
      dropAll();
      await bothEndsClosed();
      const never = await idle.prepare(operationOf("CUSTOM", "GET /x", {}));
      assert.deepEqual(await backToBack(never, 2), [fine, fine]);
      assert.equal(opened(), 4);
    },
  );
});

test("[TT7, HT4] what is no request is refused when it is prepared; where nobody is, when connecting", async () => {
  await withServer(async (target) => {
    const connection = await target.connect(1, signal);
    for (const text of [
      "SELECT 1",
      "GET http://elsewhere/",
      "GET",
      "FETCH /x",
      "GET /x\nHost: other\n\n",
      "POST /x\nContent-Length: 3\n\nabc",
    ]) {
      await assert.rejects(
        connection.prepare(operationOf("CUSTOM", text, {})),
        (error) => error instanceof OperatingError && error.code === "bad_sql",
        text,
      );
    }
    const both = { ...operationOf("CUSTOM", "GET /x", {}), isTransaction: true };
    await assert.rejects(connection.prepare(both), { code: "bad_sql" });
  });
  const nobody = createHttpTarget("http://127.0.0.1:1", null, realClock);
  await assert.rejects(nobody.connect(1, signal), { code: "target_unreachable" });
  for (const url of ["ftp://h", "http://h/?a=1", "nonsense", "http+unix://h/x"]) {
    assert.throws(() => createHttpTarget(url, null, realClock), { code: "bad_request" });
  }
});
