import assert from "node:assert/strict";
import { request } from "node:http";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { fastify } from "fastify";
import { takesGzip } from "../process/index.ts";
import type { ApiApp } from "./api-app.ts";
import { installCompression } from "./compress.ts";

const text = JSON.stringify({ values: Array.from({ length: 500 }, (_, index) => index) });
const app = fastify();
installCompression(app as unknown as ApiApp);
app.get("/large", async (_, reply) => reply.type("application/json").send(text));
app.get("/small", async (_, reply) => reply.type("application/json").send("{}"));
app.get("/file", async (_, reply) => reply.type("text/css").send(Readable.from([text])));
app.get("/events", async (_, reply) => reply.type("text/event-stream").send(Readable.from([text])));
app.get("/rows", async (_, reply) =>
  reply.type("application/x-ndjson").send(Readable.from([text])),
);
app.get("/picture", async (_, reply) => reply.type("image/png").send(Buffer.from(text)));
const url = await app.listen({ host: "127.0.0.1", port: 0 });
after(() => app.close());

/** Whoever asks from this machine itself gets no gzip. */
const fromElsewhere = { "x-forwarded-for": "192.0.2.7" };

/** Returns the bytes as they were sent; `fetch` would unpack them. */
async function get(path: string, encoding: string | undefined, from: object = fromElsewhere) {
  const headers = { ...(encoding === undefined ? {} : { "accept-encoding": encoding }), ...from };
  return await new Promise<{ headers: Record<string, unknown>; bytes: Buffer }>(
    (resolve, reject) => {
      request(`${url}${path}`, { headers }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () =>
          resolve({ headers: response.headers, bytes: Buffer.concat(parts) }),
        );
      })
        .on("error", reject)
        .end();
    },
  );
}

for (const path of ["/large", "/file"]) {
  test(`[AP42] ${path} is compressed for whoever takes gzip, and only for them`, async () => {
    const { headers, bytes } = await get(path, "gzip, br");
    assert.equal(headers["content-encoding"], "gzip");
    assert.equal(headers.vary, "accept-encoding");
    assert.equal(gunzipSync(bytes).toString(), text);
    const plain = await get(path, undefined);
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.equal(plain.headers.vary, "accept-encoding");
    assert.equal(plain.bytes.toString(), text);
  });
}

test("[AP42] a reader on this machine gets the bytes as they are, a proxy for others does not", async () => {
  for (const path of ["/large", "/file"]) {
    const here = await get(path, "gzip", {});
    assert.equal(here.headers["content-encoding"], undefined, path);
    assert.equal(here.headers.vary, "accept-encoding");
    assert.equal(here.bytes.toString(), text);
    for (const header of ["via", "forwarded", "x-forwarded-for"]) {
      const { headers } = await get(path, "gzip", { [header]: "somebody" });
      assert.equal(headers["content-encoding"], "gzip", header);
    }
  }
});

test("[AP42] small answers, events, rows that stream and pictures go as they are", async () => {
  for (const path of ["/small", "/events", "/rows", "/picture"]) {
    const { headers } = await get(path, "gzip");
    assert.equal(headers["content-encoding"], undefined, path);
  }
});

test("[AP42] what an Accept-Encoding header takes", () => {
  for (const [accepted, want] of [
    ["gzip", true],
    ["br;q=1.0, gzip;q=0.8, *;q=0.1", true],
    ["*", true],
    ["identity", false],
    ["gzip;q=0", false],
    ["", false],
  ] as const) {
    const headers = { "accept-encoding": accepted };
    const socket = { remoteAddress: "192.0.2.7" };
    assert.equal(takesGzip({ method: "GET", headers, socket }), want, accepted);
    assert.equal(takesGzip({ method: "HEAD", headers, socket }), false);
    for (const remoteAddress of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      assert.equal(takesGzip({ method: "GET", headers, socket: { remoteAddress } }), false);
    }
  }
});
