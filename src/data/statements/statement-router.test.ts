/** The router with a kind of statements that only this file knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../ground/kernel/prng.ts";
import { done, type StatementHandler } from "./core/index.ts";
import { StatementRouter } from "./statement-router.ts";

const signal = new AbortController().signal;
const ran: string[] = [];

/** `CREATE [OR REPLACE] BUOY name`, `SHOW BUOYS`. */
const buoys: StatementHandler = {
  heads: ["CREATE BUOY", "SHOW BUOYS"],
  parse(cursor) {
    if (cursor.take("SHOW", "BUOYS")) {
      cursor.end();
      const columns = [{ name: "name", type: "VARCHAR" }];
      return { role: "read", run: async () => ({ columns, rows: ran.map((name) => [name]) }) };
    }
    cursor.expect("CREATE");
    const orReplace = cursor.take("OR", "REPLACE");
    cursor.expect("BUOY");
    const { name } = cursor.tableName();
    cursor.end();
    return {
      role: "operate",
      run: async () => {
        ran.push(name);
        return done(orReplace ? "replaced" : "created");
      },
    };
  },
};

const others: StatementHandler = {
  heads: ["CREATE", "SHOW"],
  parse(cursor, othersAfter) {
    throw cursor.unexpected(othersAfter(cursor.keyword()).join(" or "));
  },
};

const router = new StatementRouter({ clock: realClock, prng: createPrng(1) });
router.register(others);
router.register(buoys);

async function lines(sql: string, mayWrite = true): Promise<readonly unknown[]> {
  const { stream } = await router.run(sql, { mayWrite }, signal);
  let text = "";
  for await (const chunk of stream) text += Buffer.from(chunk).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

test("[SR1, SR4] a kind of statements that registers runs, and its answer has the usual lines", async () => {
  const [head, row, summary] = await lines("/* a */ create or replace buoy north;");
  assert.deepEqual((head as { columns: unknown }).columns, [{ name: "status", type: "VARCHAR" }]);
  assert.deepEqual(row, ["replaced"]);
  assert.equal((summary as { summary: { row_count: number } }).summary.row_count, 1);
  await lines("CREATE BUOY south");
  assert.deepEqual((await lines("SHOW BUOYS", false)).slice(1, -1), [["north"], ["south"]]);
});

test("[SR1] the longest head decides, and no head is registered twice", async () => {
  await assert.rejects(lines("CREATE TABLE t (a INT)"), /^OperatingError: BUOY expected/);
  await assert.rejects(lines("SHOW TABLES"), /BUOYS expected/);
  assert.throws(() => router.register(buoys), /one kind of statements begins with CREATE BUOY/);
});

test("[SR2] what nobody takes is told with what statements begin with", async () => {
  await assert.rejects(lines("SELECT 1"), (thrown) => {
    assert(thrown instanceof OperatingError);
    assert.equal(thrown.code, "bad_sql");
    assert.match(thrown.message, /^no statement begins with SELECT\nLINE 1: SELECT 1\n {8}\^$/);
    assert.equal(thrown.hint, "Statements begin with CREATE or SHOW.");
    return true;
  });
  await assert.rejects(lines(" -- nothing"), { code: "bad_sql", message: /there is no statement/ });
  await assert.rejects(lines("CREATE BUOY north south"), { code: "bad_sql" });
});

test("[SR6] a language of its own gets its whole text, which DuckDB could not read", async () => {
  const own = new StatementRouter({ clock: realClock, prng: createPrng(2) });
  own.register(others);
  own.register({
    heads: ["HOIST FLAG"],
    language: {
      rules: { commentsNest: false, backticks: true, backslashes: true },
      takes: (text) => text.startsWith("HOIST"),
    },
    parseText: (text) => ({ role: "operate", run: async () => done(text) }),
  });
  const text = "HOIST FLAG 'it\\'s up'";
  const { stream } = await own.run(text, { mayWrite: true }, signal);
  const chunks = await Array.fromAsync(stream);
  assert.ok(
    Buffer.concat(chunks)
      .toString()
      .includes(JSON.stringify([text])),
  );
  await assert.rejects(own.run(text, { mayWrite: false }, signal), { code: "forbidden" });
  const refused = { hint: "Statements begin with CREATE, SHOW or HOIST." };
  await assert.rejects(own.run("SELECT 1", { mayWrite: true }, signal), refused);
});

test("[SR3] a statement that changes something needs a token that may", async () => {
  const before = [...ran];
  await assert.rejects(lines("CREATE BUOY west", false), { code: "forbidden" });
  assert.deepEqual(ran, before);
});
