/** The scrub of a lake in S3. `check/bit-rot.test.ts` tests the scrub of a directory. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { type Logger, silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore } from "../../../ground/store/index.ts";
import { DiskBudget } from "../../../ground/work/core/index.ts";
import { LakeAppender } from "../append/lake-appender.ts";
import { openDownloadCache } from "../objects/download-cache.ts";
import { openS3Store } from "../objects/s3-store.ts";
import { type SeenRequest, startFaultyProxy } from "../objects/testing/faulty-proxy.ts";
import { type S3TestServer, startS3Server, testCredentials } from "../objects/testing/s3-server.ts";
import { LakeStore } from "../store/lake-store.ts";
import { type LakeCondition, LakeScrub } from "./lake-scrub.ts";

const columns = [{ name: "id", type: "BIGINT", nullable: false, defaultValue: undefined }];
const never = new AbortController().signal;
let server: S3TestServer;
before(async () => {
  server = await startS3Server();
});
after(() => server.close());

/** A table of two files in S3, behind a proxy, and its scrub. */
async function setUp(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), "capstan-scrub-"));
  const proxy = await startFaultyProxy(server.endpoint);
  const location = server.location(proxy.endpoint);
  const cacheDir = join(home, "cache");
  const ratios = { artifactFloorBytes: 0, highRatio: 1, lowRatio: 1 };
  const budget = new DiskBudget({ capacityBytes: 1024 ** 3, ...ratios });
  const cache = await openDownloadCache({
    dir: cacheDir,
    budget,
    clock: realClock,
    logger: silentLogger,
  });
  const limits = { attemptsMax: 3 };
  const credentials = testCredentials;
  const options = { ...location, credentials, clock: realClock, limits };
  const objects = await openS3Store(options, cache);
  const store = openSimStore({ database: createSharedSqlite(() => Date.now()) });
  const bucket = new S3Client({
    endpoint: server.endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials,
  });
  t.after(async () => {
    bucket.destroy();
    objects.close();
    await cache.close();
    await store.close();
    await proxy.close();
    await rm(home, { recursive: true, force: true });
  });
  const catalog = new LakeStore({ store, prng: createPrng("catalog") });
  await catalog.declareDataPath("s3://lake");
  const appender = new LakeAppender({
    catalog,
    objects,
    stagingDir: home,
    table: { name: "events", columns },
    author: "me",
    prng: createPrng("files"),
    clock: realClock,
  });
  await appender.append(new Map([["id", Float64Array.of(1, 2, 3)]]), "one", never);
  await appender.append(new Map([["id", Float64Array.of(4, 5, 6, 7)]]), "two", never);
  const [path = ""] = (await Array.fromAsync(objects.list("main/"))).map((each) => each.path);
  const conditions: LakeCondition[] = [];
  const lines: string[] = [];
  const scrub = new LakeScrub({
    store,
    objects,
    logger: tellingLogger(lines),
    limits: { periodMs: 0 },
    onCondition: (condition) => void conditions.push(condition),
  });
  /** Changes the object's bytes and keeps everything else, like a rotting disk of the server. */
  const changeBytes = async (change: (bytes: Buffer) => Buffer): Promise<() => Promise<void>> => {
    const request = { Bucket: location.bucket, Key: `${location.prefix}/${path}` };
    const { Body, Metadata } = await bucket.send(new GetObjectCommand(request));
    const sound = Buffer.from((await Body?.transformToByteArray()) ?? []);
    const put = async (bytes: Buffer): Promise<void> => {
      await bucket.send(new PutObjectCommand({ ...request, Body: bytes, Metadata }));
    };
    await put(change(Buffer.from(sound)));
    return () => put(sound);
  };
  const round = async (): Promise<LakeCondition> => {
    await scrub.run(never);
    return conditions.at(-1) ?? assert.fail("a round tells what it found");
  };
  return { path, proxy, scrub, round, changeBytes, cacheDir, lines };
}

function tellingLogger(lines: string[]): Logger {
  const tell = (_fields: object, message: string): void => void lines.push(message);
  const logger: Logger = { ...silentLogger, error: tell, warn: tell, with: () => logger };
  return logger;
}

const flipped = (bytes: Buffer): Buffer => {
  bytes[20] = (bytes[20] ?? 0) ^ 4;
  return bytes;
};

test("[LK51] objects of S3 are read whole: a bit that flipped is noted, and cleared when it is mended", async (t) => {
  const { path, round, changeBytes, cacheDir } = await setUp(t);
  assert.deepEqual((await round()).damaged, []);
  const mend = await changeBytes(flipped);
  const [found, ...others] = (await round()).damaged;
  assert.deepEqual([found?.table, found?.path, others.length], ["events", path, 0]);
  assert.match(found?.damage ?? "", /its checksum is [0-9a-f]{8}/);
  assert.equal((await round()).damaged.length, 1, "it stays noted for as long as it is damaged");
  await mend();
  assert.deepEqual((await round()).damaged, []);
  assert.deepEqual(await readdir(cacheDir), [], "nothing is kept of what the scrub reads");
});

test("[LK51] an object of S3 of another length is noted without being read", async (t) => {
  const { path, round, changeBytes, proxy } = await setUp(t);
  const mend = await changeBytes((bytes) => bytes.subarray(1));
  const { damaged } = await round();
  assert.match(damaged[0]?.damage ?? "", /it has \d+ bytes instead of \d+/);
  const isRead = ({ method, url }: SeenRequest): boolean => method === "GET" && url.includes(path);
  assert.equal(proxy.seen.filter(isRead).length, 0);
  await mend();
  assert.deepEqual((await round()).damaged, []);
});

test("[LK51] a scrub that is stopped does not wait for S3, and clears nothing", async (t) => {
  const { path, scrub, round, changeBytes, proxy, lines } = await setUp(t);
  await changeBytes(flipped);
  assert.equal((await round()).damaged.length, 1);
  const stopping = new AbortController();
  proxy.decide(({ method, url }) => {
    if (method !== "GET" || !url.includes(path)) return "none";
    stopping.abort();
    return "stallAnswer";
  });
  lines.length = 0;
  await scrub.run(stopping.signal);
  assert.deepEqual(lines, [], "nothing failed");
  proxy.decide(() => "none");
  assert.equal((await round()).damaged.length, 1);
});

test("[LK51] a bit that flips on the way is no damage: the object is read again", async (t) => {
  const { path, round, proxy } = await setUp(t);
  let isFirst = true;
  proxy.decide(({ method, url }) => {
    if (method !== "GET" || !url.includes(path) || !isFirst) return "none";
    isFirst = false;
    return "flipBit";
  });
  assert.deepEqual((await round()).damaged, []);
  assert.equal(isFirst, false, "it was read, and not only asked for");
});

test("[LK51] a round that could not read a file clears neither its note nor a suspicion of it", async (t) => {
  const { path, scrub, round, changeBytes, proxy } = await setUp(t);
  await changeBytes(flipped);
  assert.equal((await round()).damaged.length, 1);
  proxy.decide(({ method }) => (method === "GET" ? "deny" : "none"));
  assert.equal((await round()).damaged.length, 1);
  proxy.decide(() => "deny");
  scrub.suspect(`the lake file ${path} is damaged: a query says so`);
  const unread = await round();
  assert.deepEqual([unread.damaged.length, unread.suspected], [1, 1]);
  proxy.decide(() => "none");
  const read = await round();
  assert.deepEqual([read.damaged.length, read.suspected], [1, 0]);
});
