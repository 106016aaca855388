/** The contract on a real Postgres, and what only Postgres does. */
import assert from "node:assert/strict";
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { generate } from "selfsigned";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../../ground/store/testing/embedded-postgres.ts";
import type { Target } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { createPostgresTarget } from "./postgres-target.ts";

let postgres: EmbeddedPostgres;
let secrets: string;
const { signal } = new AbortController();

const hostRules = `
host all scram_user 127.0.0.1/32 scram-sha-256
host all md5_user   127.0.0.1/32 md5
host all text_user  127.0.0.1/32 password
hostnossl all tls_user 127.0.0.1/32 reject
hostssl all tls_user 127.0.0.1/32 scram-sha-256
host all all        127.0.0.1/32 trust
`;

before(async () => {
  secrets = mkdtempSync(join(tmpdir(), "capstan-pg-secrets-"));
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? nobody : statSync(secrets);
  const files = { "hba.conf": hostRules, "server.key": key, "server.crt": cert };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(secrets, name), text, { mode: 0o600 });
    chownSync(join(secrets, name), owner.uid, owner.gid);
  }
  chownSync(secrets, owner.uid, owner.gid);
  postgres = await startEmbeddedPostgres([
    "shared_preload_libraries=pg_stat_statements",
    `hba_file=${join(secrets, "hba.conf")}`,
    "ssl=on",
    `ssl_cert_file=${join(secrets, "server.crt")}`,
    `ssl_key_file=${join(secrets, "server.key")}`,
  ]);
});
after(async () => {
  await postgres.stop();
  rmSync(secrets, { recursive: true });
});

const nobody = { uid: 65_534, gid: 65_534 };

for (const sslMode of ["disable", "require"]) {
  testTarget(`postgres, sslmode=${sslMode}`, async () => {
    const url = await postgres.createDatabase();
    const target = createPostgresTarget(`${url}?sslmode=${sslMode}`, realClock);
    const other = createPostgresTarget(url, realClock);
    return {
      target,
      cutConnections: async () => {
        await other.run(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
          [],
          signal,
        );
      },
      slowSql: "SELECT pg_sleep(600)",
      types: ["bigint", "double", "text", "boolean", "timestamp"],
      close: async () => {
        await target.close();
        await other.close();
      },
    };
  });
}

async function withTarget(body: (target: Target, url: string) => Promise<void>): Promise<void> {
  const url = await postgres.createDatabase();
  const target = createPostgresTarget(`${url}?sslmode=disable`, realClock);
  try {
    await body(target, url);
  } finally {
    await target.close();
  }
}

test("[PG1] passwords: SCRAM, MD5, clear; over TLS too; a wrong one is refused and not shown", async () => {
  await withTarget(async (target, url) => {
    await target.run("CREATE ROLE scram_user LOGIN PASSWORD 'pa ss''ß%'", [], signal);
    await target.run("CREATE ROLE tls_user LOGIN PASSWORD 'pa ss''ß%'", [], signal);
    await target.run("CREATE ROLE text_user LOGIN PASSWORD 'pa ss''ß%'", [], signal);
    await target.run(
      "DO $$ BEGIN SET LOCAL password_encryption = 'md5'; CREATE ROLE md5_user LOGIN PASSWORD 'pa ss''ß%'; END $$",
      [],
      signal,
    );
    const as = (user: string, password: string | undefined, settings: string): Target => {
      const own = new URL(url);
      own.username = user;
      if (password !== undefined) own.password = encodeURIComponent(password);
      return createPostgresTarget(`${own.href}?${settings}`, realClock);
    };
    const ways = [
      ["scram_user", "sslmode=disable"],
      ["scram_user", "sslmode=prefer&application_name=named"],
      ["md5_user", "sslmode=disable"],
      ["text_user", "sslmode=disable"],
      ["tls_user", "sslmode=require"],
    ] as const;
    for (const [user, settings] of ways) {
      const right = as(user, "pa ss'ß%", settings);
      assert.deepEqual(await right.run("SELECT current_user::text", [], signal), [[user]]);
      await right.close();
      for (const password of ["sesame-wrong", undefined]) {
        const wrong = as(user, password, settings);
        await assert.rejects(wrong.connect(1, signal), (error) => {
          assert.ok(error instanceof OperatingError && error.code === "target_refused");
          assert.doesNotMatch(`${error.message}${error.hint}`, /sesame/);
          return true;
        });
        await wrong.close();
      }
    }
    await assert.rejects(as("tls_user", "pa ss'ß%", "sslmode=disable").connect(1, signal), {
      code: "target_refused",
    });
  });
});

test("[PG2] sslmode=verify-full trusts whom it is told to, for that name only", async () => {
  await withTarget(async (_, url) => {
    const settings = `sslmode=verify-full&sslrootcert=${join(secrets, "server.crt")}`;
    const named = createPostgresTarget(
      `${url.replace("127.0.0.1", "localhost")}?${settings}`,
      realClock,
    );
    const rows = await named.run(
      "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
      [],
      signal,
    );
    assert.deepEqual(rows, [[true]]);
    await named.close();
    for (const refused of [`${url}?${settings}`, `${url}?sslmode=verify-full`]) {
      await assert.rejects(createPostgresTarget(refused, realClock).connect(1, signal), {
        code: "target_unreachable",
      });
    }
  });
});

test("[PG3] what cannot be reached, or is no Postgres URL, is said without its password", async () => {
  for (const [url, code] of [
    ["postgres://u:sesame@127.0.0.1:1/d", "target_unreachable"],
    ["postgres://u:sesame@no-such-host.invalid/d", "target_unreachable"],
    [`postgres://u:sesame@127.0.0.1:${postgres.port}/no_such_database`, "target_refused"],
  ] as const) {
    await assert.rejects(createPostgresTarget(url, realClock).connect(1, signal), (error) => {
      assert.ok(error instanceof OperatingError && error.code === code, String(error));
      assert.doesNotMatch(error.message, /sesame/);
      return true;
    });
  }
  for (const url of [
    "mysql://u:sesame@h/d",
    "postgres://u:sesame@h:99999/d",
    "postgres://u:sesame@h/d?sslmode=maybe",
    "postgres://u:sesame@h/d?nonsense=1",
    "sesame",
    "postgres://u:%zz@h/d",
  ]) {
    assert.throws(
      () => createPostgresTarget(url, realClock),
      (error) =>
        error instanceof OperatingError &&
        error.code === "bad_request" &&
        !error.message.includes("sesame"),
    );
  }
});

test("[PG4] errors have their kind by SQLSTATE, and no value of a parameter", async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY, n INT CHECK (n > 0))", [], signal);
    await target.run("INSERT INTO t VALUES (1, 1), (2, 2)", [], signal);
    await target.run("CREATE ROLE nobody_special", [], signal);
    const connection = await target.connect(1, signal);
    const kindOf = async (sql: string, value: string | number = "77123"): Promise<string> => {
      const hasValue = sql.includes(":v");
      const prepared = await connection.prepare(
        operationOf("CUSTOM", sql, hasValue ? { v: "text" } : {}),
      );
      const { failure } = await execute(prepared, hasValue ? [value] : []);
      assert.doesNotMatch(failure?.message ?? "", /77123|rumpelstilz/, sql);
      return `${failure?.kind} ${failure?.code}`;
    };
    assert.equal(await kindOf("SELECT :v::int / 0"), "other 22012");
    assert.equal(await kindOf("SELECT :v::int", "rumpelstilz"), "other 22P02");
    assert.equal(await kindOf("SELECT id FROM t WHERE id = :v", 77_123_771_237), "other 22003");
    assert.equal(await kindOf("INSERT INTO t VALUES (:v::int, 0)"), "constraint 23514");
    assert.equal(await kindOf("DO $$ BEGIN RAISE 'rumpelstilz'; END $$"), "other P0001");
    // Also the next two have to be prepared, and the last one run, within it.
    assert.equal(await kindOf("SET statement_timeout = 500"), "undefined undefined");
    assert.equal(await kindOf("SELECT pg_sleep(60)"), "timeout 57014");
    assert.equal(await kindOf("RESET statement_timeout"), "undefined undefined");
    assert.equal(await kindOf("COPY t FROM STDIN"), "timeout 57014");
    assert.equal(await kindOf("SELECT count(*) FROM t"), "undefined undefined");
    await connection.close();
  });
});

test("[PG4] a deadlock and a serialization failure are told apart", async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)", [], signal);
    await target.run("INSERT INTO t VALUES (1, 0), (2, 0)", [], signal);
    const one = await target.connect(1, signal);
    const two = await target.connect(1, signal);
    const say = async (connection: typeof one, sql: string) =>
      execute(await connection.prepare(operationOf("CUSTOM", sql, {})), []);
    for (const connection of [one, two]) await say(connection, "BEGIN");
    await say(one, "UPDATE t SET n = 1 WHERE id = 1");
    await say(two, "UPDATE t SET n = 1 WHERE id = 2");
    const outcomes = await Promise.all([
      say(one, "UPDATE t SET n = 1 WHERE id = 2"),
      say(two, "UPDATE t SET n = 1 WHERE id = 1"),
    ]);
    // The victim's transaction was ended for it: it goes on.
    assert.deepEqual(outcomes.map(({ failure }) => failure?.kind).sort(), ["deadlock", undefined]);
    for (const connection of [one, two]) await say(connection, "COMMIT");
    for (const connection of [one, two]) {
      await say(connection, "BEGIN ISOLATION LEVEL SERIALIZABLE");
      await say(connection, "SELECT sum(n) FROM t");
    }
    await say(one, "UPDATE t SET n = 5 WHERE id = 1");
    await say(two, "UPDATE t SET n = 5 WHERE id = 2");
    assert.equal((await say(one, "COMMIT")).failure, undefined);
    assert.equal((await say(two, "COMMIT")).failure?.kind, "serialization");
  });
});

test("[PG5] refused SQL is named with its statement and its place in what the person wrote", async () => {
  await withTarget(async (target) => {
    const connection = await target.connect(1, signal);
    const sql = "SELECT 1 WHERE :identity = 1 AND nothing = :identity";
    await assert.rejects(
      connection.prepare(operationOf("CUSTOM", sql, { identity: "bigint" })),
      (error) => {
        assert.ok(error instanceof OperatingError);
        assert.match(error.message, /statement 1: column "nothing" does not exist at character 34/);
        assert.equal(sql.indexOf("nothing") + 1, 34);
        return true;
      },
    );
    // Types that the server cannot tell are those declared.
    const sum = operationOf("CUSTOM", "SELECT :a + :b", { a: "bigint", b: "bigint" });
    assert.equal((await execute(await connection.prepare(sum), [1, 2])).rowCount, 1);
  });
});

test("[PG6] timestamps, small integers and text for other types are what the server expects", async () => {
  await withTarget(async (target) => {
    await target.run(
      "CREATE TABLE t (ts TIMESTAMP, tz TIMESTAMPTZ, day DATE, s SMALLINT, i INT, r REAL, n NUMERIC, u UUID)",
      [],
      signal,
    );
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(
      operationOf(
        "INSERT",
        "INSERT INTO t VALUES (:ts, :ts, :ts, :small, :big, :real, :text, :uid)",
        {
          ts: "timestamp",
          small: "bigint",
          big: "bigint",
          real: "double",
          text: "text",
          uid: "text",
        },
      ),
    );
    const id = "6b1f5c9e-2b53-4c5b-8e2a-0c8a6a0f2a11";
    const ms = Date.UTC(1999, 11, 31, 23, 59, 59, 123);
    for (const ts of [ms, "1999-12-31T23:59:59.123Z"]) {
      const { failure } = await execute(put, [ts, -32_768, -2_147_483_648, 0.5, "1.25", id]);
      assert.equal(failure, undefined);
    }
    const read =
      "SELECT ts::text, extract(epoch FROM tz)::float8 * 1000, day::text, s, i, r, n::text, u::text FROM t";
    const want = [
      "1999-12-31 23:59:59.123",
      ms,
      "1999-12-31",
      -32_768,
      -2_147_483_648,
      0.5,
      "1.25",
      id,
    ];
    assert.deepEqual(await target.run(read, [], signal), [want, want]);
  });
});

test("[PG7] in a pipeline one failed read fails alone, also where reads share a Sync", async () => {
  await withTarget(async (target) => {
    const connection = await target.connect(8, signal);
    const divide = await connection.prepare(
      operationOf("POINT_LOOKUP", "SELECT 100 / :n::int", { n: "bigint" }),
    );
    const divisors = [1, 2, 0, 3, 0, 0, 4, 5, 0, 6, 7, 0];
    const outcomes = await Promise.all(divisors.map((divisor) => execute(divide, [divisor])));
    assert.deepEqual(
      outcomes.map(({ failure, rowCount }) => [failure?.code, rowCount]),
      divisors.map((divisor) => (divisor === 0 ? ["22012", 0] : [undefined, 1])),
    );
    assert.equal(connection.inFlight, 0);

    // In a closed loop what is sent again counts as well: never more than the depth.
    let started = 0;
    const codes: string[] = [];
    const finished = Promise.withResolvers<void>();
    const next = (): void => {
      const divisor = started % 5;
      started += 1;
      divide.execute([divisor], (failure) => {
        codes.push(`${divisor} ${failure?.code}`);
        if (started < 300) next();
        else if (codes.length === 300) finished.resolve();
        if (connection.inFlight > 8) finished.reject(new Error(`${connection.inFlight} in flight`));
      });
    };
    for (let slot = 0; slot < 8; slot += 1) next();
    await finished.promise;
    assert.equal(codes.filter((code) => code === "0 22012").length, 60);
    assert.equal(codes.filter((code) => /^[1-4] undefined$/.test(code)).length, 240);
  });
});

test("[PG8] the poll tells who waits for a lock from who runs", async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT)", [], signal);
    const holder = await target.connect(1, signal);
    const lock = operationOf("CUSTOM", "LOCK TABLE t", {});
    await execute(await holder.prepare(operationOf("CUSTOM", "BEGIN", {})), []);
    await execute(await holder.prepare(lock), []);
    const waiter = await target.connect(1, signal);
    const waiting = execute(await waiter.prepare({ ...lock, isTransaction: true }), []);
    const sleeper = await target.connect(1, signal);
    void execute(await sleeper.prepare(operationOf("CUSTOM", "SELECT pg_sleep(60)", {})), []);
    const poll = await eventually("one runs, one waits", async () => {
      const found = await target.pollServer(signal);
      return found.queued === 1 && found.running === 1 ? found : undefined;
    });
    assert.match(poll.name, /^test_\d+_\d+$/);
    assert.equal(poll.raw.idle_in_transaction, 1);
    await execute(await holder.prepare(operationOf("CUSTOM", "COMMIT", {})), []);
    assert.equal((await waiting).failure, undefined);
  });
});

test("[PG9] figures of statements come from pg_stat_statements, or are said not to be there", async () => {
  await withTarget(async (target) => {
    await assert.rejects(target.statementFigures(signal), { code: "unsupported" });
    await target.run("CREATE SCHEMA extra", [], signal);
    await target.run("CREATE EXTENSION pg_stat_statements SCHEMA extra", [], signal);
    const connection = await target.connect(1, signal);
    const read = operationOf("POINT_LOOKUP", "SELECT generate_series(1, :n::int)", { n: "bigint" });
    const prepared = await connection.prepare(read);
    for (let count = 0; count < 5; count += 1) await execute(prepared, [3]);
    const figures = await target.statementFigures(signal);
    const own = figures.find(({ text }) => text.includes("generate_series"));
    assert.equal(own?.calls, 5);
    assert.equal(own?.rows, 15);
    assert.ok((own?.totalMs ?? 0) > 0);
  });
});

test("[PG10] closing cancels what the server was doing", async () => {
  await withTarget(async (target) => {
    const connection = await target.connect(1, signal);
    const slow = await connection.prepare(operationOf("CUSTOM", "SELECT pg_sleep(60)", {}));
    const outcome = execute(slow, []);
    await eventually("it runs", async () =>
      (await target.pollServer(signal)).running === 1 ? true : undefined,
    );
    await connection.close();
    assert.equal((await outcome).failure?.code, "closed");
    await eventually("it is gone", async () => {
      const poll = await target.pollServer(signal);
      return poll.running === 0 && poll.raw.connections === 1 ? true : undefined;
    });
  });
});

test("[PG14] more than a socket takes at once arrives whole, and in order", async () => {
  await withTarget(async (target) => {
    await target.run("CREATE TABLE t (id INT PRIMARY KEY, word TEXT)", [], signal);
    const connection = await target.connect(4, signal);
    const put = await connection.prepare(
      operationOf("INSERT", "INSERT INTO t VALUES (:id, :word)", { id: "bigint", word: "text" }),
    );
    const letters = [..."abcdefghijkl"];
    const outcomes = letters.map((letter, id) => execute(put, [id, letter.repeat(2_000_000)]));
    for (const { failure } of await Promise.all(outcomes)) assert.equal(failure, undefined);
    const rows = await target.run(
      "SELECT left(word, 1), length(word), length(replace(word, left(word, 1), '')) FROM t ORDER BY id",
      [],
      signal,
    );
    assert.deepEqual(
      rows,
      letters.map((letter) => [letter, 2_000_000, 0]),
    );
  });
});
