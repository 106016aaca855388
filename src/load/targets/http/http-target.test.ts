/** An HTTP target on a real server: what the contract promises, and what only HTTP does. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { test } from "node:test";
import { OperatingError } from "../../../kernel/errors.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import { eventually } from "../../../store/testing/eventually.ts";
import { operationOf as compiled } from "../../core/compile-workload.ts";
import type { Target } from "../../core/target.ts";
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

test("[TP1, TP4, TP6, HT1] requests go in order on one connection that stays, values encoded for their place", async () => {
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

test("[TP3, HT3] a status from 400 on is a failure by its kind, without the server's words", async () => {
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
    assert.deepEqual([fine, moved], [undefined, undefined]);
    const want = "syntax permission syntax serialization resources other resources timeout";
    assert.deepEqual(rest, want.split(" "));
    assert.equal(new Set(seen.map(({ port }) => port)).size, 1); // Bodies were read to their end.
    assert.equal(seen[0]?.headers.authorization, "Bearer sesame");
  }, "sesame");
});

test("[TP2, TP9, TP10, TP12] a cut connection, a closed one, an aborted wait, a closed target", async () => {
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

test("[TP7, HT4] what is no request is refused when it is prepared; where nobody is, when connecting", async () => {
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
