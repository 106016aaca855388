/** What the world does to a query, one test for each: odd times, odd bytes, odd disks and peers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  appendFile,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  writeFile,
} from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { type DialectError, defaultDialect, type Plan } from "../../language/core/index.ts";
import { runSql } from "../testing/run-sql.ts";
import { createLocalConnectors } from "./local-connectors.ts";
import { LocalQuery } from "./local-query.ts";
import { planFile } from "./plan-file.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-bad-input-"));
after(() => rm(folder, { recursive: true, force: true }));

const write = async (name: string, text: string | Uint8Array): Promise<void> =>
  await writeFile(join(folder, name), text);

const timed = (type: string, file: string, more = "") =>
  `CREATE LOGICAL SOURCE s (ts ${type}, k INT32, v INT32)${more};
   CREATE PHYSICAL SOURCE FOR s TYPE File SET('${file}' AS "SOURCE".FILE_PATH);\n`;

function inOrder(lines: readonly string[]): readonly string[] {
  return lines.toSorted((a, b) => (a < b ? -1 : 1));
}

async function printedBy(sql: string): Promise<readonly string[]> {
  const { printed } = await runSql(sql, { folder });
  return inOrder(printed.trimEnd().split("\n"));
}

async function errorBy(sql: string): Promise<DialectError> {
  try {
    await runSql(sql, { folder });
  } catch (thrown) {
    return thrown as DialectError;
  }
  throw new Error("there was no error");
}

const greatest = 2n ** 64n - 1n;
const millionYears = 31_556_952_000_000_000n;
const farTimes = [0n, 1n, millionYears, 2n * millionYears, greatest - 1n, greatest];

test("[SX43] times 0, 2^64-1 and a million years apart: windows", async () => {
  await write("far.csv", farTimes.map((time) => `${time},1,1\n`).join(""));
  const source = timed("UINT64", "far.csv");
  const count = "SELECT start, end, COUNT(*) AS n FROM s";
  const into = "INTO Print()";
  const floor = (time: bigint, size: bigint): bigint => time - (time % size);
  const windows = [0n, floor(millionYears, 1_000n), floor(2n * millionYears, 1_000n)];
  assert.deepEqual(
    await printedBy(`${source} ${count} WINDOW TUMBLING(ts, SIZE 1 SEC) ${into}`),
    inOrder([
      ...windows.map((start, at) => `${start},${start + 1_000n},${at === 0 ? 2 : 1}`),
      // The last window's end is beyond the type, and is the greatest that there is.
      `${floor(greatest, 1_000n)},${greatest},2`,
    ]),
  );
  const slid = await printedBy(
    `${source} ${count} WINDOW SLIDING(ts, SIZE 1 SEC, ADVANCE BY 300 MS) ${into}`,
  );
  const total = slid.reduce((sum, line) => sum + Number(line.split(",")[2]), 0);
  assert.ok(slid.length < 30, `${slid.length} windows`);
  assert.ok(total >= 2 + 2 * 3 + 2 * 3 && total <= 2 + 2 * 4 + 2 * 4, `${total} rows in windows`);
  assert.deepEqual(
    await printedBy(`${source} ${count} WINDOW SESSION(ts, GAP 10 SEC) ${into}`),
    inOrder([
      "0,10001,2",
      `${millionYears},${millionYears + 10_000n},1`,
      `${2n * millionYears},${2n * millionYears + 10_000n},1`,
      `${greatest - 1n},${greatest},2`,
    ]),
  );
});

test("[SX48] times 0, 2^64-1 and a million years apart: joins, keys and dates", async () => {
  await write("far.csv", farTimes.map((time) => `${time},1,1\n`).join(""));
  const source = `${timed("UINT64", "far.csv")}
    CREATE LOGICAL SOURCE r (rts UINT64, rk INT32, rv INT32);
    CREATE PHYSICAL SOURCE FOR r TYPE File SET('far.csv' AS "SOURCE".FILE_PATH);\n`;
  const pairs = farTimes.length + 4;
  const joined = await printedBy(
    `${source} SELECT ts, rts FROM s JOIN r ON k = rk WINDOW TUMBLING(ts, rts, SIZE 1 SEC) INTO Print()`,
  );
  assert.equal(joined.length, pairs);
  const near = await printedBy(
    `${source} SELECT ts, rts FROM s JOIN r ON k = rk AND rts BETWEEN ts - 5 SEC AND ts + 5 SEC INTO Print()`,
  );
  assert.equal(near.length, pairs);
  const lagged = await printedBy(
    `${source} SELECT ts, LAG(ts) OVER (PARTITION BY k ORDER BY ts STATE TTL 1 DAY) AS before FROM s INTO Print()`,
  );
  const before = ["NULL", "0", "NULL", "NULL", "NULL", `${greatest - 1n}`];
  assert.deepEqual(lagged, inOrder(farTimes.map((time, at) => `${time},${before[at]}`)));
  const years = await printedBy(`${source} SELECT YEAR_OF(ts) AS y FROM s INTO Print()`);
  assert.deepEqual(years, ["1001970", "1970", "1970", "2001970", "584556019", "584556019"]);
});

test("[SX42] signed times from the least to the greatest", async () => {
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  await write("signed.csv", [least, -1n, 0n, most].map((time) => `${time},1,1\n`).join(""));
  const { printed, queries } = await runSql(
    `${timed("INT64", "signed.csv", " WATERMARK(ts, 5 SEC)")}
     SELECT start, COUNT(*) AS n FROM s WINDOW TUMBLING(ts, SIZE 1 SEC) INTO Print()`,
    { folder },
  );
  assert.equal(printed, `0,1\n${most - (most % 1_000n)},1\n`);
  assert.equal((await queries[0]?.progress())?.lateRows, 2);
});

test("[SX157] invalid UTF-8 is told with its place, or left out", async () => {
  const bytes = Buffer.concat([
    Buffer.from("1,good\n2,"),
    Buffer.of(0xff, 0xfe, 0xc0, 0x80),
    Buffer.from("\n3,\u{1F600}\n"),
  ]);
  await write("utf8.csv", bytes);
  const sql = (policy: string) =>
    `CREATE LOGICAL SOURCE s (a UINT64, b VARSIZED);
     CREATE PHYSICAL SOURCE FOR s TYPE File SET('utf8.csv' AS "SOURCE".FILE_PATH,
       '${policy}' AS INPUT_FORMATTER.ON_MALFORMED);
     SELECT a, b FROM s INTO Print()`;
  const { number, message } = await errorBy(sql("fail"));
  assert.equal(number, 3002);
  assert.match(message, /^s: field b is no VARSIZED: .*, in the record at .*utf8\.csv, byte 7$/);
  assert.deepEqual(await printedBy(sql("skip")), ["1,good", "3,\u{1F600}"]);
  assert.deepEqual(await printedBy(sql("null")), ["1,good", "2,NULL", "3,\u{1F600}"]);
});

const longBytes = 100_000_000;

async function writeLongRecord(name: string): Promise<void> {
  const file = await open(join(folder, name), "w");
  await file.write("1,");
  const piece = Buffer.alloc(1_000_000, "x");
  for (let written = 0; written < longBytes; written += piece.length) await file.write(piece);
  await file.write("\n2,y\n");
  await file.close();
}

test("[SX158] a record of 100 MB is refused, or read where the settings have room", async () => {
  await writeLongRecord("long.csv");
  const sql = (settings: string, limit: number) =>
    `CREATE LOGICAL SOURCE s (a UINT64, b VARSIZED);
     CREATE PHYSICAL SOURCE FOR s TYPE File SET('long.csv' AS "SOURCE".FILE_PATH${settings});
     SELECT a, OCTET_LENGTH(b) AS n FROM s INTO Print() SET(${limit} AS "QUERY".MEMORY_LIMIT)`;
  const enough = 1_000_000_000;
  const before = process.memoryUsage().arrayBuffers;
  const refused = await errorBy(sql("", enough));
  assert.equal(refused.number, 4000);
  assert.match(refused.message, /^s: a record near byte \d+ is longer than 16777216 bytes$/);
  assert.match(refused.hint ?? "", /RECORD_BYTES_MAX/);
  const held = process.memoryUsage().arrayBuffers - before;
  assert.ok(held < 80_000_000, `${held} bytes for a record of which 16 MiB may be read`);
  const most = ", 200000000 AS INPUT_FORMATTER.RECORD_BYTES_MAX";
  assert.deepEqual(await printedBy(sql(most, enough)), [`1,${longBytes}`, "2,1"]);
  const { number, message } = await errorBy(sql(most, 20_000_000));
  assert.equal(number, 3003);
  assert.match(message, /what was read of a source and not yet processed/);
});

const growing = `CREATE LOGICAL SOURCE s (a UINT64);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('grows.csv' AS "SOURCE".FILE_PATH,
    TRUE AS "SOURCE".FOLLOW);
  SELECT a FROM s INTO Print()`;

test("[SU3] a file that shrinks or is replaced while it is read ends its query by name", async () => {
  const changes: readonly (readonly [change: (path: string) => Promise<void>, why: RegExp])[] = [
    [(path) => truncate(path, 1), /grows.csv became shorter while it was read/],
    [
      async (path) => {
        await write("other.csv", "1\n2\n");
        await rename(join(folder, "other.csv"), path);
      },
      /grows.csv was replaced by another file while it was read/,
    ],
    [(path) => rm(path), /grows.csv was deleted while it was read/],
  ];
  for (const [change, why] of changes) {
    await write("grows.csv", "1\n2\n");
    const path = join(folder, "grows.csv");
    const ended = runSql(growing, {
      folder,
      onOpen: ([query]) => {
        void (async () => {
          while ((await query?.progress())?.rowsOut !== 2) await new Promise(setImmediate);
          await change(path);
        })();
      },
    });
    await assert.rejects(ended, why);
  }
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const numbers = (count: number) =>
  `CREATE LOGICAL SOURCE g (n UINT64);
   CREATE PHYSICAL SOURCE FOR g TYPE Generator
     SET('SEQUENCE UINT64 0 ${count} 1' AS "SOURCE".GENERATOR_SCHEMA);\n`;

test("[SU5] refused ports of sources and sinks are told by their address", async () => {
  const port = await closedPort();
  const address = (section: string) =>
    `SET('127.0.0.1' AS "${section}".SOCKET_HOST, ${port} AS "${section}".SOCKET_PORT`;
  const source = await errorBy(
    `CREATE LOGICAL SOURCE s (a UINT64);
     CREATE PHYSICAL SOURCE FOR s TYPE TCP ${address("SOURCE")}, 2 AS "SOURCE".RETRIES,
       10 MS AS "SOURCE".RETRY_INTERVAL);
     SELECT a FROM s INTO Print()`,
  );
  assert.equal(source.number, 4002);
  assert.match(
    source.message,
    new RegExp(`source at 127.0.0.1:${port} cannot be reached.*REFUSED`),
  );
  const sink = await errorBy(
    `${numbers(10)} CREATE SINK out TYPE TCP ${address("SINK")}); SELECT n FROM g INTO out`,
  );
  assert.equal(sink.number, 4004);
  assert.match(sink.message, new RegExp(`sink at 127.0.0.1:${port} cannot be reached.*REFUSED`));
});

test("[SU5] a source that vanishes is asked again as often as RETRIES says, and no more", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    // A record is under way when the first connection breaks.
    if (connections === 1) socket.write("1\n2", () => setImmediate(() => socket.resetAndDestroy()));
    else if (connections === 2) socket.end("3\n");
    else socket.resetAndDestroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sql = (retries: number) =>
    `CREATE LOGICAL SOURCE s (a UINT64);
     CREATE PHYSICAL SOURCE FOR s TYPE TCP SET('127.0.0.1' AS "SOURCE".SOCKET_HOST,
       ${port} AS "SOURCE".SOCKET_PORT, ${retries} AS "SOURCE".RETRIES,
       10 MS AS "SOURCE".RETRY_INTERVAL);
     SELECT a FROM s INTO Print()`;
  try {
    const printed = await printedBy(sql(3));
    // What a connection that was reset had sent may be lost with it.
    assert.ok(["1,3", "3"].includes(printed.join()), printed.join());
    const { number, message } = await errorBy(sql(2));
    // A reset may come before the connection counts as made, or behind it.
    assert.ok(number === 4000 || number === 4002, message);
    assert.match(
      message,
      new RegExp(`the source at 127.0.0.1:${port} (broke off|cannot be reached)`),
    );
    assert.equal(connections, 2 + 3);
  } finally {
    server.close();
  }
});

test("[SU7] a TCP sink that breaks off says how many rows are at stake", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.resetAndDestroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const { number, message, hint } = await errorBy(
      `${numbers(5_000_000)} CREATE SINK out TYPE TCP SET('127.0.0.1' AS "SINK".SOCKET_HOST,
         ${port} AS "SINK".SOCKET_PORT);
       SELECT n FROM g INTO out`,
    );
    assert.equal(number, 4004);
    const [, unwritten, all] =
      /; (\d+) of the (\d+) rows for it were not written$/.exec(message) ?? [];
    assert.ok(Number(unwritten) > 0 && Number(unwritten) <= Number(all), message);
    assert.match(hint ?? "", /may not have arrived/);
  } finally {
    server.close();
  }
});

test("[SU6] a full disk under a File sink says how many rows are at stake", {
  skip: existsSync("/dev/full") ? false : "there is no /dev/full",
}, async () => {
  const { number, message } = await errorBy(
    `${numbers(1_000)} CREATE SINK out TYPE File SET('/dev/full' AS "SINK".FILE_PATH);
     SELECT n FROM g INTO out`,
  );
  assert.equal(number, 4004);
  assert.match(message, /^\/dev\/full could not be written: ENOSPC.*; \d+ of the \d+ rows for it/);
});

test("[SX103] overflow wraps, division by zero is named, NaN and NULL stay what they are", async () => {
  await write("odd.csv", "1,2147483647,1\n2,,0\n");
  const source = timed("UINT64", "odd.csv");
  assert.deepEqual(await printedBy(`${source} SELECT k + 1 AS n FROM s INTO Print()`), [
    "-2147483648",
    "NULL",
  ]);
  const { number, message } = await errorBy(`${source} SELECT 1 / v AS n FROM s INTO Print()`);
  assert.equal(number, 3013, message);
  const floats = "CAST(v AS FLOAT64) / CAST(v AS FLOAT64)";
  assert.deepEqual(await printedBy(`${source} SELECT ${floats} AS n FROM s INTO Print()`), [
    "1.0",
    "nan",
  ]);
});

/** The machine's disk; every write fails while `isFull`. */
class FullDisk {
  isFull = false;
  readonly files: Files = {
    ...realFiles,
    open: async (path, mode) => {
      const file = await realFiles.open(path, mode);
      return {
        ...{ sync: () => file.sync(), close: () => file.close() },
        truncate: (length) => file.truncate(length),
        write: async (bytes, at) => {
          if (!this.isFull) return await file.write(bytes, at);
          await file.write(bytes.subarray(0, bytes.length >> 1), at);
          throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
        },
      };
    },
  };
}

test("[SU12] a full disk under checkpoints ends the query by name, and it goes on later", async () => {
  const disk = new FullDisk();
  const directory = join(folder, "checkpoints");
  const count = 200;
  await write("numbers.csv", Array.from({ length: count }, (_, n) => `${n}\n`).join(""));
  const [planned] = planFile(
    `CREATE LOGICAL SOURCE s (n UINT64 NOT NULL);
     CREATE PHYSICAL SOURCE FOR s TYPE File SET('numbers.csv' AS "SOURCE".FILE_PATH,
       TRUE AS "SOURCE".FOLLOW);
     CREATE SINK out TYPE File SET('numbers.out' AS "SINK".FILE_PATH);
     SELECT n FROM s INTO out SET(64 AS "QUERY".BUFFER_SIZE, 20 MS AS "QUERY".CHECKPOINT_INTERVAL)`,
    defaultDialect,
    { explained: () => undefined, tables: undefined },
  );
  const places = { sourceDir: folder, sinkDir: folder, print: () => undefined };
  const create = () =>
    new LocalQuery({
      plan: (planned as { readonly plan: Plan }).plan,
      connectors: createLocalConnectors(places),
      clock: realClock,
      checkpoints: { directory, files: disk.files },
    });
  const first = create();
  await first.open();
  const ended = first.run();
  const failed = assert.rejects(ended, (thrown: OperatingError) => {
    assert.equal(thrown.code, "disk_full");
    assert.match(thrown.message, /^no room for checkpoint \d+ in .*checkpoints: the disk is full$/);
    assert.match(thrown.hint ?? "", /it goes on from checkpoint \d+\.$/);
    return true;
  });
  while (first.checkpoint === undefined) await new Promise(setImmediate);
  disk.isFull = true;
  await appendFile(join(folder, "numbers.csv"), `${count}\n`);
  await failed;
  await first.close();
  const left = await readdir(directory);
  assert.deepEqual(
    left.filter((name) => name.endsWith(".state")),
    [],
  );
  disk.isFull = false;
  const second = create();
  await second.open();
  const again = second.run();
  const written = async () => (await readFile(join(folder, "numbers.out"), "utf8")).split("\n");
  while ((await written()).length <= count + 1) await new Promise(setImmediate);
  second.drain();
  await again;
  await second.close();
  assert.deepEqual(
    (await written()).filter((line) => line !== ""),
    Array.from({ length: count + 1 }, (_, n) => `${n}`),
  );
});
