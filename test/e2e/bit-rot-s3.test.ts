/**
 * Bits flip in files of S3 whose copies a worker evicted: `bit-rot.test.ts` says how that is
 * judged.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import {
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import {
  type S3TestServer,
  startS3Server,
  testCredentials,
} from "../../src/data/lake/objects/testing/s3-server.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { flipCount } from "../../src/ground/kernel/testing/flip-bit.ts";
import { allRight, judge, type Question, report, seed } from "./bit-rot.ts";
import {
  makeDir,
  removeDir,
  runCli,
  sql,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";

const flips = flipCount(3);
const prng = createPrng(`bit rot in S3 ${seed}`);
const dataDir = makeDir();
const tableCount = 5;
const env: Record<string, string> = {
  CAPSTAN_CLUSTER_TOKEN: "a-token-for-the-whole-cluster",
  AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
  AWS_EC2_METADATA_DISABLED: "true",
};
let server: S3TestServer;
let client: S3Client;
let place: { readonly bucket: string; readonly prefix: string };
let url: string;

const rowsOf = (table: number): number => 20_000 + table * 100;

/** Numbers that compress badly, and that can be added up without the lake. */
function sumOf(table: number): bigint {
  let sum = 0n;
  for (let id = 0n; id < rowsOf(table); id += 1n) {
    sum += (id * id * 40_503n + BigInt(table)) % 4_294_967_296n;
  }
  return sum;
}

const tables: readonly Question[] = Array.from({ length: tableCount }, (_, table) => ({
  ask: async () => {
    const query = `SELECT count(*)::INT, sum(v)::VARCHAR FROM t${table}`;
    const { rows, error } = await sql(url, query);
    return error ?? { text: JSON.stringify(rows) };
  },
  right: JSON.stringify([[rowsOf(table), String(sumOf(table))]]),
}));

before(async () => {
  server = await startS3Server();
  const { endpoint } = server;
  place = server.location();
  env.CAPSTAN_LAKE = `s3://${place.bucket}/${place.prefix}?endpoint=${endpoint}`;
  const credentials = testCredentials;
  client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  const setup = await runCli(["setup", "--data-dir", dataDir], { env });
  assert.equal(setup.code, 0, setup.stderr);
  const coordinator = startProcess(
    ["coordinator", "--data-dir", dataDir, "--port", "0", "--log-format", "json"],
    env,
  );
  url = await coordinator.url();
  startProcess(
    [
      ...["worker", "--name", "worker-1", "--data-dir", dataDir, "--join", url],
      ...["--disk-limit", "600KB", "--compute-threads", "1", "--log-format", "json"],
    ],
    env,
  );
  const isAnswering = async (): Promise<true | undefined> =>
    (await sql(url, "SELECT 1")).rows.length === 1 ? true : undefined;
  await waitFor("answers", isAnswering, 120_000, () => coordinator.output.slice(-2_000));
  for (let table = 0; table < tableCount; table += 1) {
    const rows = `SELECT (range * range * 40503 + ${table}) % 4294967296 AS v FROM range(${rowsOf(table)})`;
    assert.equal((await sql(url, `CREATE TABLE t${table} AS ${rows}`)).error, undefined);
  }
});
after(async () => {
  await stopEverything();
  client.destroy();
  await server.close();
  removeDir(dataDir);
});

async function objectOf(table: number): Promise<{ readonly key: string; readonly bytes: number }> {
  const { bucket, prefix } = place;
  const request = { Bucket: bucket, Prefix: `${prefix}/main/t${table}/` };
  const { Contents = [] } = await client.send(new ListObjectsV2Command(request));
  const { Key: key = "", Size: bytes = 0 } = Contents[0] ?? {};
  return { key, bytes };
}

/**
 * The bucket's own checksums are those of the flipped bytes: what rots is put as such. Gives what
 * mends it.
 */
async function flipObject(key: string): Promise<() => Promise<void>> {
  const request = { Bucket: place.bucket, Key: key };
  const { Body, Metadata } = await client.send(new GetObjectCommand(request));
  const sound = Buffer.from((await Body?.transformToByteArray()) ?? []);
  const bit = prng.below(sound.length * 8);
  const rotten = Buffer.from(sound);
  rotten[bit >> 3] = (rotten[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  const put = async (bytes: Buffer): Promise<void> => {
    await client.send(new PutObjectCommand({ ...request, Body: bytes, Metadata }));
  };
  await put(rotten);
  return () => put(sound);
}

/** Files are named in the cache by their sizes, and each table's has another. */
function isCopied(bytes: number): boolean {
  const copies = readdirSync(join(dataDir, "workers", "worker-1", "downloads"));
  return copies.some((name) => name.split(/[-.]/).includes(String(bytes)));
}

test("[LK50, LO9, LO19] bits flip in files of S3 whose copies were evicted", {
  timeout: 7_200_000,
}, async () => {
  let [right, refused] = [0, 0];
  for (let flip = 0; flip < flips; flip += 1) {
    const table = flip % tableCount;
    const asked = tables[table] ?? assert.fail();
    const { key, bytes } = await objectOf(table);
    await allRight([asked]);
    await waitFor(`a copy of ${key}`, () => (isCopied(bytes) ? true : undefined));
    await allRight(tables.filter((question) => question !== asked));
    const isEvicted = (): true | undefined => (isCopied(bytes) ? undefined : true);
    await waitFor(`the copy of ${key}, ${bytes} bytes, to be evicted`, isEvicted);
    const mend = await flipObject(key);
    const judged = await judge([asked], [key]);
    if (flip === 0) {
      const checked = await runCli(["lake", "check", "--data-dir", dataDir], { env });
      assert.equal(checked.code, 1, checked.stderr);
      assert.ok(
        checked.stdout.includes(relative(place.prefix, key)),
        checked.stdout + checked.stderr,
      );
    }
    await mend();
    right += judged.right;
    refused += judged.refused;
  }
  await allRight(tables);
  report("lake", "after an eviction", { right, refused });
  assert.equal(refused, flips, "what was evicted is fetched again, and compared");
});
