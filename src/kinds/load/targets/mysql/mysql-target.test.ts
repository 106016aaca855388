/** The contract on a real MariaDB, where there is one, and what only it does. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { Target } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { createMysqlTarget } from "./mysql-target.ts";
import { findServer, type LocalMariadb, startLocalMariadb } from "./testing/local-mariadb.ts";

const { signal } = new AbortController();
const server = findServer();
let mariadb: LocalMariadb;
let databases = 0;

async function createDatabase(): Promise<string> {
  databases += 1;
  const url = `mysql://root@127.0.0.1:${mariadb.port}/`;
  const root = createMysqlTarget(`${url}mysql`, realClock);
  await root.run(`CREATE DATABASE test_${databases} CHARACTER SET utf8mb4`, [], signal);
  await root.close();
  return `${url}test_${databases}`;
}

if (server === undefined) {
  test("MariaDB: the contract suite", { skip: "neither mariadbd nor mysqld is on the PATH" });
} else {
  before(async () => {
    mariadb = await startLocalMariadb(server);
  });
  after(() => mariadb.stop());

  testTarget("mariadb", async () => {
    const url = await createDatabase();
    const target = createMysqlTarget(url, realClock);
    const other = createMysqlTarget(url, realClock);
    return {
      target,
      cutConnections: async () => {
        const sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
        const rows = await eventually("it runs", async () => {
          const found = await other.run(sql, [], signal);
          return found.length === 1 ? found : undefined;
        });
        for (const [id] of rows) await other.run(`KILL ${id}`, [], signal);
      },
      slowSql: "SELECT SLEEP(600)",
      types: ["bigint", "double", "text", "timestamp"],
      close: async () => {
        await target.close();
        await other.close();
      },
    };
  });
}

async function withTarget(body: (target: Target, url: string) => Promise<void>): Promise<void> {
  const url = await createDatabase();
  const target = createMysqlTarget(url, realClock);
  try {
    await body(target, url);
  } finally {
    await target.close();
  }
}

const skip = server === undefined;

async function say(connection: Awaited<ReturnType<Target["connect"]>>, sql: string) {
  return execute(await connection.prepare(operationOf("CUSTOM", sql, {})), []);
}

test("[MY1] a failure's kind follows from its number; its text is not shown", {
  skip,
}, async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY, n INT CHECK (n >= 0))", [], signal);
    await target.run("INSERT INTO t VALUES (1, 0), (2, 0)", [], signal);
    const one = await target.connect(1, signal);
    const two = await target.connect(1, signal);
    const refused = await say(one, "INSERT INTO t VALUES (3, -77123)");
    assert.equal(refused.failure?.kind, "constraint");
    assert.doesNotMatch(refused.failure?.message ?? "", /77123/);
    await say(two, "SET innodb_lock_wait_timeout = 1");
    for (const connection of [one, two]) await say(connection, "SET autocommit = 0");
    await say(one, "UPDATE t SET n = 1 WHERE id = 1");
    const late = await say(two, "UPDATE t SET n = 1 WHERE id = 1");
    assert.deepEqual([late.failure?.kind, late.failure?.code], ["timeout", "1205"]);
    await say(two, "SET innodb_lock_wait_timeout = 60");
    await say(two, "UPDATE t SET n = 1 WHERE id = 2");
    const outcomes = await Promise.all([
      say(one, "UPDATE t SET n = 2 WHERE id = 2"),
      say(two, "UPDATE t SET n = 2 WHERE id = 1"),
    ]);
    assert.deepEqual(outcomes.map(({ failure }) => failure?.kind).sort(), ["deadlock", undefined]);
  });
});

test("[MY2] whole numbers go as such, timestamps as moments in UTC", { skip }, async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id BIGINT, moment DATETIME(3))", [], signal);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(
      operationOf("INSERT", "INSERT INTO t VALUES (:id, :moment)", {
        id: "bigint",
        moment: "timestamp",
      }),
    );
    const ms = Date.UTC(1999, 11, 31, 23, 59, 59, 123);
    const huge = 2n ** 62n + 1n;
    for (const moment of [ms, "1999-12-31T23:59:59.123Z", "1999-12-31 23:59:59.123"]) {
      assert.equal((await execute(put, [huge, moment])).failure, undefined);
    }
    const row = [String(huge), "1999-12-31 23:59:59.123"];
    assert.deepEqual(await target.run("SELECT * FROM t", [], signal), [row, row, row]);
    const limited = operationOf("RANGE_SCAN", "SELECT * FROM t LIMIT :count", { count: "bigint" });
    assert.equal((await execute(await connection.prepare(limited), [2])).rowCount, 2);
    assert.deepEqual(await target.run("SELECT ? + 1, ?", [41, "x"], signal), [[42, "x"]]);
  });
});

test("[MY3] the poll tells who waits for a row from who runs", { skip }, async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY)", [], signal);
    await target.run("INSERT INTO t VALUES (1)", [], signal);
    const holder = await target.connect(1, signal);
    const waiter = await target.connect(1, signal);
    await say(holder, "SET autocommit = 0");
    await say(holder, "SELECT * FROM t FOR UPDATE");
    const waiting = say(waiter, "SELECT * FROM t FOR UPDATE");
    const sleeper = await target.connect(1, signal);
    void say(sleeper, "SELECT SLEEP(60)");
    const poll = await eventually("one runs, one waits", async () => {
      const found = await target.pollServer(signal);
      return found.queued === 1 && found.running === 1 ? found : undefined;
    });
    assert.match(poll.name, /^test_\d+$/);
    assert.ok(Number(poll.raw.threads_connected) >= 3);
    await say(holder, "COMMIT");
    assert.equal((await waiting).failure, undefined);
  });
});

test("[MY4] figures of statements are performance_schema's, prepared ones included", {
  skip,
}, async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY)", [], signal);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(
      operationOf("INSERT", "INSERT INTO t VALUES (:id)", { id: "bigint" }),
    );
    for (let id = 0; id < 5; id += 1) await execute(put, [id]);
    const figures = await target.statementFigures(signal);
    // MySQL has them by statement, MariaDB together and for the whole server.
    const own = figures.find(({ text }) => /^INSERT INTO t|^\(all prepared/.test(text));
    assert.ok(own !== undefined && own.calls >= 5 && own.rows >= 5 && own.totalMs > 0);
    assert.equal(figures.find(({ text }) => text.startsWith("CREATE TABLE"))?.calls, 1);
  });
});

test("[MY5] closing kills what the server was doing", { skip }, async () => {
  await withTarget(async (target) => {
    const connection = await target.connect(1, signal);
    const outcome = say(connection, "SELECT SLEEP(61)");
    const sql = "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(61%'";
    const count = async (): Promise<number> => (await target.run(sql, [], signal)).length;
    await eventually("it runs", async () => ((await count()) === 1 ? true : undefined));
    await connection.close();
    assert.equal((await outcome).failure?.code, "closed");
    await eventually("it is gone", async () => ((await count()) === 0 ? true : undefined));
  });
});

test("[MY6] what cannot be reached or lets us not in is said without the password; sockets work", {
  skip,
}, async () => {
  await withTarget(async (target, url) => {
    await target.run("CREATE USER someone@localhost IDENTIFIED BY 'right'", [], signal);
    const wrong = `mysql://someone:sesame@127.0.0.1:${mariadb.port}/x`;
    for (const [each, code] of [
      ["mysql://u:sesame@127.0.0.1:1/d", "target_unreachable"],
      [wrong, "target_refused"],
    ] as const) {
      const refused = createMysqlTarget(each, realClock);
      await assert.rejects(refused.connect(1, signal), (error) => {
        assert.ok(error instanceof OperatingError && error.code === code, String(error));
        assert.doesNotMatch(error.message, /sesame/);
        return true;
      });
      await refused.close();
    }
    const local = createMysqlTarget(`${url}?socket=${mariadb.socketPath}`, realClock);
    assert.deepEqual(await local.run("SELECT 1", [], signal), [[1]]);
    await local.close();
  });
});

test("[MY6] a URL that is none, or has a setting that there is not, is bad_request", () => {
  for (const url of [
    "postgres://u:sesame@h/d",
    "mysql://u:sesame@h:99999/d",
    "mysql://u:sesame@h/",
    "mysql://u:sesame@h/d?ssl=maybe",
    "mysql://u:sesame@h/d?host=other",
    "mysql://u:%zz@h/d",
  ]) {
    assert.throws(
      () => createMysqlTarget(url, realClock),
      (error) =>
        error instanceof OperatingError &&
        error.code === "bad_request" &&
        !error.message.includes("sesame"),
      url,
    );
  }
});

test("[MY7] a server is told that it gets no files", async () => {
  const greeting = Buffer.concat([
    Buffer.from([10, ...Buffer.from("8.0.0\0"), 1, 0, 0, 0, ...Buffer.from("12345678"), 0]),
    Buffer.from([0xff, 0xff, 33, 2, 0, 0xff, 0xdf, 21, ...Buffer.alloc(10)]),
    Buffer.from("123456789012\0mysql_native_password\0"),
  ]);
  const said = Promise.withResolvers<Buffer>();
  const pretender = createServer((socket) => {
    socket.write(Buffer.concat([Buffer.from([greeting.length, 0, 0, 0]), greeting]));
    socket.once("data", (bytes) => {
      said.resolve(bytes);
      socket.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(pretender, "listening");
  const { port } = pretender.address() as AddressInfo;
  const target = createMysqlTarget(`mysql://me@127.0.0.1:${port}/x`, realClock);
  await assert.rejects(target.connect(1, signal));
  const mayLoadLocal = (await said.promise).readUInt32LE(4) & 0x80;
  assert.equal(mayLoadLocal, 0);
  await target.close();
  pretender.close();
});
