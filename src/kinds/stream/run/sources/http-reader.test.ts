import assert from "node:assert/strict";
import { test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { type HttpReaderOptions, openHttpReader } from "./http-reader.ts";

async function openReader(more: Partial<HttpReaderOptions> = {}) {
  let url = "";
  const reader = await openHttpReader({
    host: "127.0.0.1",
    port: 0,
    path: "/rows",
    token: undefined,
    delimiter: Buffer.from("\n"),
    bufferBytes: 1_024,
    queueBytesMax: 100,
    clock: realClock,
    onListening: (where) => {
      url = where;
    },
    ...more,
  });
  const send = async (body: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(url, { method: "POST", body, headers });
    await response.text();
    return response.status;
  };
  return { reader, send, url };
}

test("[SU17] records of a request are read, with a delimiter behind the last one", async () => {
  const { reader, send } = await openReader();
  assert.equal((await reader.read()).kind, "idle");
  assert.equal(await send("1,a\n2,b"), 202);
  const reading = await reader.read();
  assert.ok(reading.kind === "bytes");
  assert.equal(Buffer.from(reading.bytes).toString(), "1,a\n2,b\n");
  assert.equal(reader.position(0), undefined);
  await reader.close();
});

test("[SU17] a request without room is refused as a whole, until there is room", async () => {
  const { reader, send } = await openReader();
  assert.equal(await send("x".repeat(79)), 202);
  assert.equal(await send("y".repeat(30)), 429);
  assert.equal(await send("z".repeat(15)), 202);
  assert.equal(await send("y".repeat(200)), 413);
  const lengths: number[] = [];
  for (let count = 0; count < 2; count += 1) {
    const reading = await reader.read();
    if (reading.kind === "bytes") lengths.push(reading.bytes.length);
  }
  assert.deepEqual(lengths, [80, 16]);
  assert.equal(await send("y".repeat(30)), 202);
  await reader.close();
});

test("[SU17] a request needs the token, the path and the method", async () => {
  const { reader, send, url } = await openReader({ token: "secret" });
  assert.equal(await send("1\n"), 401);
  assert.equal(await send("1\n", { authorization: "Bearer other" }), 401);
  assert.equal(await send("1\n", { authorization: "Bearer secret" }), 202);
  const headers = { authorization: "Bearer secret" };
  assert.equal((await fetch(url, { headers })).status, 405);
  assert.equal((await fetch(`${url}/more`, { method: "POST", body: "1", headers })).status, 404);
  await reader.close();
});

test("[SU4] what was accepted is read after the source was closed", async () => {
  const { reader, send } = await openReader();
  assert.equal(await send("1\n"), 202);
  await reader.close();
  assert.equal((await reader.read()).kind, "bytes");
  assert.equal((await reader.read()).kind, "end");
});

test("[SU17] a port that is taken is an error with its number", async () => {
  const { reader, url } = await openReader();
  const port = Number(new URL(url).port);
  await assert.rejects(openReader({ port }), new RegExp(`127.0.0.1:${port} cannot be opened`));
  await reader.close();
});

test("[SU17] a port beyond this machine needs a token", async () => {
  await assert.rejects(openReader({ host: "0.0.0.0" }), /on 0\.0\.0\.0 takes rows from everybody/);
});
