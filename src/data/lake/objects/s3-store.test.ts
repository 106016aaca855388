import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { until } from "../../../ground/kernel/testing/eventually.ts";
import { DiskBudget } from "../../../ground/work/core/index.ts";
import { testObjectStore } from "../core/object-store.contract.ts";
import { openDownloadCache } from "./download-cache.ts";
import type { S3Location } from "./lake-url.ts";
import type { S3Limits } from "./s3-bucket.ts";
import { openS3Store, type S3ObjectStore } from "./s3-store.ts";
import { type FaultyProxy, startFaultyProxy } from "./testing/faulty-proxy.ts";
import { type S3TestServer, startS3Server, testCredentials } from "./testing/s3-server.ts";

interface Opened {
  readonly store: S3ObjectStore;
  readonly localDir: string;
  readonly cacheDir: string;
  close(): Promise<void>;
}

let server: S3TestServer;
before(async () => {
  server = await startS3Server();
});
after(() => server.close());

async function openAt(location: S3Location, limits: Partial<S3Limits> = {}): Promise<Opened> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-s3-"));
  const cacheDir = join(dir, "cache");
  const cache = await openDownloadCache({
    dir: cacheDir,
    budget: new DiskBudget({
      capacityBytes: 1024 ** 3,
      artifactFloorBytes: 0,
      highRatio: 1,
      lowRatio: 1,
    }),
    clock: realClock,
    logger: silentLogger,
  });
  const options = { ...location, credentials: testCredentials, clock: realClock };
  const store = await openS3Store({ ...options, limits: { listPageMax: 10, ...limits } }, cache);
  return {
    store,
    localDir: dir,
    cacheDir,
    async close() {
      store.close();
      await cache.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

testObjectStore("s3", () => openAt(server.location()));

/** A store behind a proxy that the test commands, with few attempts, so that they end soon. */
async function withFaults(
  body: (opened: Opened, proxy: FaultyProxy) => Promise<void>,
  limits: Partial<S3Limits> = {},
): Promise<void> {
  const proxy = await startFaultyProxy(server.endpoint);
  const opened = await openAt(server.location(proxy.endpoint), { attemptsMax: 3, ...limits });
  try {
    await body(opened, proxy);
  } finally {
    await opened.close();
    await proxy.close();
  }
}

async function localFile({ localDir }: Opened, bytes: Uint8Array): Promise<string> {
  const path = join(localDir, "file");
  await writeFile(path, bytes);
  return path;
}

const megabyte = 1024 ** 2;
const isPart = (url: string): boolean => /partNumber=/.test(url);

test("[LO8] a connection that breaks in the middle is continued where it broke", () =>
  withFaults(async (opened, proxy) => {
    const bytes = Buffer.alloc(3 * megabyte, "abcdefg");
    await opened.store.put("t/x", await localFile(opened, bytes));
    let breaks = 2;
    proxy.decide(({ method }) => {
      if (method !== "GET" || breaks === 0) return "none";
      breaks -= 1;
      return "cutAnswer";
    });
    const copy = await opened.store.fetch({ path: "t/x", sizeBytes: bytes.length });
    assert.ok((await readFile(copy.localPath)).equals(bytes));
    const ranges = proxy.seen
      .filter(({ method }) => method === "GET")
      .map(({ headers }) => headers.range);
    assert.deepEqual([ranges.length, ranges[0]], [3, undefined]);
    const offsets = ranges.slice(1).map((range) => Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1]));
    assert.ok((offsets[0] ?? 0) > 0 && (offsets[1] ?? 0) > (offsets[0] ?? 0), String(offsets));
  }));

test("[LO8] a connection that always breaks ends as an error, and leaves no copy", () =>
  withFaults(async (opened, proxy) => {
    const bytes = Buffer.alloc(megabyte, 1);
    await opened.store.put("t/x", await localFile(opened, bytes));
    proxy.decide(({ method }) => (method === "GET" ? "cutAnswer" : "none"));
    const broken = {
      code: "store_unavailable",
      retry: "backoff",
      message: /s3:\/\/lake-\d+\/some\/lake\/t\/x/,
    };
    await assert.rejects(opened.store.fetch({ path: "t/x", sizeBytes: bytes.length }), broken);
    assert.deepEqual(await readdir(opened.cacheDir), []);
    proxy.decide(() => "none");
    (await opened.store.fetch({ path: "t/x", sizeBytes: bytes.length })).release();
  }));

test("[LO8] a server that falls silent is given up", () =>
  withFaults(
    async (opened, proxy) => {
      const bytes = Buffer.alloc(megabyte, 1);
      // A store with normal timeouts: a busy machine may be silent for a while.
      const patient = await openAt(server.location());
      await patient.store.put("t/x", await localFile(patient, bytes));
      await patient.close();
      proxy.decide(({ method }) => (method === "GET" ? "stallAnswer" : "none"));
      await assert.rejects(opened.store.fetch({ path: "t/x", sizeBytes: bytes.length }), {
        code: "store_unavailable",
      });
    },
    { silenceMsMax: 200, attemptsMax: 2 },
  ));

for (const sizeBytes of [megabyte, 9 * megabyte]) {
  test(`[LO9] ${sizeBytes} bytes of which one bit is wrong are fetched again, and refused in the end`, () =>
    withFaults(async (opened, proxy) => {
      const bytes = Buffer.alloc(sizeBytes, 1);
      await opened.store.put("t/x", await localFile(opened, bytes));
      proxy.decide(({ method }) => (method === "GET" ? "flipBit" : "none"));
      const refused = { code: "data_corrupt", message: /t\/x is damaged: .*checksum/i };
      await assert.rejects(opened.store.fetch({ path: "t/x", sizeBytes }), refused);
      assert.deepEqual(await readdir(opened.cacheDir), []);
      let isFirst = true;
      proxy.decide(({ method }) => {
        if (method !== "GET" || !isFirst) return "none";
        isFirst = false;
        return "flipBit";
      });
      const copy = await opened.store.fetch({ path: "t/x", sizeBytes });
      assert.ok((await readFile(copy.localPath)).equals(bytes));
    }));
}

test("[LO8] a busy server is asked again", () =>
  withFaults(async (opened, proxy) => {
    let busy = 2;
    proxy.decide(() => {
      busy -= 1;
      return busy >= 0 ? "busy" : "none";
    });
    await opened.store.put("t/x", await localFile(opened, Buffer.from("x")));
    assert.equal((await opened.store.stat("t/x"))?.sizeBytes, 1);
  }));

test("[LO10] a completion whose answer was lost is no failure", () =>
  withFaults(async (opened, proxy) => {
    const bytes = Buffer.alloc(17 * megabyte, 3);
    let isLost = false;
    proxy.decide(({ method, url }) => {
      if (method !== "POST" || !url.includes("uploadId=") || isLost) return "none";
      isLost = true;
      return "loseAnswer";
    });
    await opened.store.put("t/x", await localFile(opened, bytes));
    assert.ok(isLost);
    assert.equal((await opened.store.stat("t/x"))?.sizeBytes, bytes.length);
  }));

test("[LO6] an upload that fails, or is cancelled half-way, is aborted: no part stays", () =>
  withFaults(async (opened, proxy) => {
    const file = await localFile(opened, Buffer.alloc(40 * megabyte, 3));
    const abortsOf = (): number =>
      proxy.seen.filter(({ method, url }) => method === "DELETE" && url.includes("uploadId="))
        .length;

    proxy.decide(({ url }) => (/partNumber=3\b/.test(url) ? "deny" : "none"));
    const denied = { code: "store_unavailable", retry: "never", message: /some\/lake\/t\/x/ };
    await assert.rejects(opened.store.put("t/x", file), denied);
    assert.equal(abortsOf(), 1);

    const controller = new AbortController();
    proxy.decide(({ url }) => {
      if (isPart(url)) controller.abort();
      return "none";
    });
    await assert.rejects(opened.store.put("t/x", file, controller.signal), { code: "cancelled" });
    assert.equal(abortsOf(), 2);
    assert.equal(await opened.store.stat("t/x"), undefined);
  }));

test("[LO11] a fetch that is cancelled ends at once and leaves no copy", () =>
  withFaults(async (opened, proxy) => {
    const bytes = Buffer.alloc(megabyte, 1);
    await opened.store.put("t/x", await localFile(opened, bytes));
    const controller = new AbortController();
    proxy.decide(({ method }) => (method === "GET" ? "stallAnswer" : "none"));
    const fetching = opened.store.fetch(
      { path: "t/x", sizeBytes: bytes.length },
      controller.signal,
    );
    await until(() => proxy.seen.some(({ method }) => method === "GET"));
    controller.abort();
    await assert.rejects(fetching, { code: "cancelled" });
  }));

test("[LO12] what is wrong is said: no bucket, no permission, no server", async () => {
  await withFaults(async (opened, proxy) => {
    await opened.store.check();
    proxy.decide(() => "deny");
    const denied = { code: "store_unavailable", retry: "never", hint: /credentials/ };
    await assert.rejects(opened.store.check(), denied);
    await assert.rejects(opened.store.stat("t/x"), { code: "store_unavailable", retry: "never" });
    proxy.decide(() => "refuse");
    await assert.rejects(opened.store.check(), { code: "store_unavailable", retry: "backoff" });
  });
  const absent = await openAt({ ...server.location(), bucket: "no-such-bucket" });
  const noBucket = {
    code: "store_unavailable",
    retry: "never",
    message: /no-such-bucket.*no such bucket/,
  };
  await assert.rejects(absent.store.check(), noBucket);
  await assert.rejects(Array.fromAsync(absent.store.list("")), noBucket);
  await assert.rejects(absent.store.fetch({ path: "t/x", sizeBytes: 1 }), noBucket);
  await absent.close();
});

test("[LO13] one store's prefix is not another's", async () => {
  const location = server.location();
  const one = await openAt({ ...location, prefix: "one" });
  const other = await openAt({ ...location, prefix: "one-b" });
  const whole = await openAt({ ...location, prefix: "" });
  await one.store.put("t/x", await localFile(one, Buffer.from("1")));
  await other.store.put("t/x", await localFile(other, Buffer.from("22")));
  const pathsOf = async ({ store }: Opened): Promise<string[]> =>
    (await Array.fromAsync(store.list(""))).map(({ path }) => path);
  assert.deepEqual(await pathsOf(one), ["t/x"]);
  assert.deepEqual(await pathsOf(other), ["t/x"]);
  assert.deepEqual(await pathsOf(whole), ["one-b/t/x", "one/t/x"]);
  await other.store.delete(["t/x"]);
  assert.equal((await one.store.stat("t/x"))?.sizeBytes, 1);
  await Promise.all([one.close(), other.close(), whole.close()]);
});
