/** What every `Target` that speaks SQL does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { ParameterType, ParameterValue } from "../../core/operation.ts";
import type { OperationFailure, Target, TargetConnection } from "../../core/target.ts";
import { execute, operationOf } from "./operations.ts";

export interface TargetUnderTest {
  readonly target: Target;
  /** Cuts every connection from the other side. `undefined`: there is no other side. */
  readonly cutConnections: (() => Promise<void>) | undefined;
  /** A statement that takes ten minutes unless it is stopped. `undefined`: there is none. */
  readonly slowSql: string | undefined;
  /** Which of these types come back from a table as they went in. */
  readonly types: readonly ParameterType[];
  close(): Promise<void>;
}

const { signal } = new AbortController();

export function testTarget(kind: string, open: () => Promise<TargetUnderTest>): void {
  const check = (name: string, body: (under: TargetUnderTest) => Promise<void>): void => {
    test(`${name} (${kind})`, { timeout: 240_000 }, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.close();
      }
    });
  };

  const insert = operationOf("INSERT", "INSERT INTO things (id, word) VALUES (:id, :word)", {
    id: "bigint",
    word: "text",
  });

  async function createThings(target: Target): Promise<void> {
    await target.run("CREATE TABLE things (id BIGINT PRIMARY KEY, word VARCHAR(200))", [], signal);
  }

  check("[TT1] every execution is answered once, after `execute` has returned", async (under) => {
    const { target } = under;
    await createThings(target);
    const connection = await target.connect(depthOf(target), signal);
    const prepared = await connection.prepare(insert);
    const answers: number[] = [];
    let isReturned = true;
    const values: ParameterValue[] = [];
    for (let id = 0; id < 50; id += 1) {
      isReturned = false;
      values[0] = id;
      values[1] = `word ${id}`;
      prepared.execute(values, (failure, rowCount) => {
        assert.equal(isReturned, true);
        assert.equal(failure, undefined);
        assert.equal(rowCount, 1);
        answers.push(id);
      });
      isReturned = true;
    }
    values[1] = "changed afterwards";
    await eventually("all answers", () => (connection.inFlight === 0 ? true : undefined));
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, id) => id), // [TT4] in the order given
    );
    const rows = await target.run("SELECT word FROM things WHERE id = 49", [], signal);
    assert.deepEqual(rows, [["word 49"]]);
  });

  check("[TT4] one waits for what it was given after", async (under) => {
    const { target } = under;
    await createThings(target);
    const connection = await target.connect(depthOf(target), signal);
    const append = await connection.prepare(
      operationOf("UPDATE", "UPDATE things SET word = CONCAT(word, :letter) WHERE id = 1", {
        letter: "text",
      }),
    );
    assert.equal((await execute(await connection.prepare(insert), [1, ""])).rowCount, 1);
    const answered = [..."abcdefghijklmnop"].map((letter) => execute(append, [letter]));
    for (const { failure } of await Promise.all(answered)) assert.equal(failure, undefined);
    const rows = await target.run("SELECT word FROM things", [], signal);
    assert.deepEqual(rows, [["abcdefghijklmnop"]]);
  });

  check("[TT5] rows are counted: those read, and those changed", async ({ target }) => {
    await createThings(target);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(insert);
    for (let id = 1; id <= 12; id += 1) await execute(put, [id, "x"]);
    const scan = operationOf("RANGE_SCAN", "SELECT * FROM things WHERE id > :least", {
      least: "bigint",
    });
    const remove = operationOf("DELETE", "DELETE FROM things WHERE id > :least", {
      least: "bigint",
    });
    assert.equal((await execute(await connection.prepare(scan), [2])).rowCount, 10);
    assert.equal((await execute(await connection.prepare(scan), [99])).rowCount, 0);
    assert.equal((await execute(await connection.prepare(remove), [5])).rowCount, 7);
  });

  check("[TT6] values come back as they went in", async ({ target, types }) => {
    const columns = "n BIGINT, d DOUBLE PRECISION, t VARCHAR(200), b BOOLEAN";
    await target.run(`CREATE TABLE kept (id BIGINT PRIMARY KEY, ${columns})`, [], signal);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(
      operationOf("INSERT", "INSERT INTO kept VALUES (:id, :n, :d, :t, :b)", {
        id: "bigint",
        n: "bigint",
        d: "double",
        t: "text",
        b: "boolean",
      }),
    );
    const kept: readonly ParameterValue[][] = [
      [1, 0, 0, "", false],
      [2, -1, -1.5, 'it\'s; -- \\ "quoted"', true],
      [3, Number.MAX_SAFE_INTEGER, 1e-300, "ä€𝄞 \n\t", true],
      [4, Number.MIN_SAFE_INTEGER, 1.7976931348623157e308, "x".repeat(200), false],
      [5, null, null, null, null],
      [6, 2n ** 40n, 0.1, "1", true],
    ];
    for (const values of kept) {
      assert.deepEqual(await execute(put, values), { failure: undefined, rowCount: 1 });
    }
    const rows = await target.run("SELECT * FROM kept ORDER BY id", [], signal);
    const isKept = types.includes("boolean");
    const want = kept.map(([id, n, d, t, b]) => [
      id,
      typeof n === "bigint" ? Number(n) : n,
      d,
      t,
      ...(isKept ? [b] : []),
    ]);
    assert.deepEqual(
      rows.map((row) => row.slice(0, isKept ? 5 : 4)),
      want,
    );
  });

  check("[TT3] a failure says what kind it is, and shows no value", async ({ target }) => {
    await createThings(target);
    const connection = await target.connect(1, signal);
    const put = await connection.prepare(insert);
    await execute(put, [424_242, "secret-word"]);
    const { failure, rowCount } = await execute(put, [424_242, "secret-word"]);
    assert.equal(failure?.kind, "constraint");
    assert.equal(rowCount, 0);
    assert.doesNotMatch(failure?.message ?? "", /424242|secret-word/);
    assert.equal((await execute(put, [1, "goes on"])).failure, undefined);
  });

  check("[TT7] what the target refuses is refused when it is prepared", async ({ target }) => {
    const connection = await target.connect(1, signal);
    for (const sql of ["SELEC 1", "SELECT nothing FROM nowhere"]) {
      await assert.rejects(
        connection.prepare(operationOf("CUSTOM", sql, {})),
        (error) => error instanceof OperatingError && error.code === "bad_sql",
      );
    }
    const fine = await connection.prepare(operationOf("CUSTOM", "SELECT 1", {}));
    assert.deepEqual(await execute(fine, []), { failure: undefined, rowCount: 1 });
  });

  for (const isPipelined of [false, true]) {
    const how = isPipelined ? "pipelined" : "step by step";
    check(`[TT8] a transaction is all or nothing, ${how}`, async ({ target }) => {
      if (!target.capabilities.transactions) return;
      await createThings(target);
      const connection = await target.connect(isPipelined ? depthOf(target) : 1, signal);
      const both = await connection.prepare({
        ...insert,
        statements: [...insert.statements, ...insert.statements],
        parameters: [...insert.parameters, { name: "other", type: "bigint" }],
        isTransaction: true,
      });
      const { failure } = await execute(both, [1, "twice", 1]);
      assert.equal(failure?.kind, "constraint");
      assert.deepEqual(await target.run("SELECT * FROM things", [], signal), []);
      const put = await connection.prepare(insert);
      const outcomes = [
        execute(both, [2, "x", 2]),
        execute(put, [3, "y"]),
        execute(both, [4, "x", 4]),
      ];
      const kinds = (await Promise.all(outcomes)).map(({ failure: each }) => each?.kind);
      assert.deepEqual(kinds, ["constraint", undefined, "constraint"]);
      assert.deepEqual(await target.run("SELECT id FROM things", [], signal), [[3]]);
    });
  }

  check("[TT2] a cut connection fails what is in flight, and then says so", async (under) => {
    const { target, cutConnections, slowSql } = under;
    if (cutConnections === undefined || slowSql === undefined) return;
    const connection = await target.connect(depthOf(target), signal);
    const slow = await connection.prepare(operationOf("CUSTOM", slowSql, {}));
    const heard: string[] = [];
    const broken = new Promise<OperationFailure>((resolve) => {
      connection.onBroken((failure) => {
        heard.push("broken");
        resolve(failure);
      });
    });
    for (let count = 0; count < 3; count += 1) {
      slow.execute([], (failure) => heard.push(failure?.kind ?? "answered"));
    }
    await cutConnections();
    assert.equal((await broken).kind, "connection");
    assert.deepEqual(heard, ["connection", "connection", "connection", "broken"]);
    assert.equal((await execute(slow, [])).failure?.kind, "connection");
    await assert.rejects(connection.prepare(insert), OperatingError);
    await connection.close();
    assert.equal(heard.length, 4);
  });

  check("[TT9] closing ends what is in flight, and is no break", async (under) => {
    const { target, slowSql } = under;
    if (slowSql === undefined) return;
    const connection = await target.connect(1, signal);
    const slow = await connection.prepare(operationOf("CUSTOM", slowSql, {}));
    let breaks = 0;
    connection.onBroken(() => {
      breaks += 1;
    });
    const outcomes = [execute(slow, []), execute(slow, [])];
    const closing = [connection.close(), connection.close()];
    for (const { failure } of await Promise.all(outcomes)) {
      assert.equal(failure?.kind, "connection");
    }
    await Promise.all(closing);
    assert.equal(breaks, 0);
    assert.equal((await execute(slow, [])).failure?.kind, "connection");
  });

  check("[TT10] an aborted wait is `cancelled`", async ({ target, slowSql }) => {
    const isCancelled = (error: unknown): boolean =>
      error instanceof OperatingError && error.code === "cancelled";
    await assert.rejects(target.connect(1, AbortSignal.abort()), isCancelled);
    await assert.rejects(target.run("SELECT 1", [], AbortSignal.abort()), isCancelled);
    if (slowSql === undefined) return;
    const controller = new AbortController();
    const running = target.run(slowSql, [], controller.signal);
    controller.abort();
    await assert.rejects(running, isCancelled);
    assert.deepEqual(await target.run("SELECT 1", [], signal), [[1]]);
  });

  check(
    "[TT11] a poll says who runs, and figures count calls, where there are any",
    async (under) => {
      const { target } = under;
      const { pollsServer, enrichment } = target.capabilities;
      if (pollsServer) assert.notEqual((await target.pollServer(signal)).name, "");
      if (enrichment !== "aggregate") return;
      const figures = await target.statementFigures(signal).catch((error: unknown) => {
        assert.ok(error instanceof OperatingError && error.code === "unsupported", String(error));
        return [];
      });
      for (const { calls, totalMs } of figures) assert.ok(calls > 0 && totalMs >= 0);
    },
  );

  check("[TT12] a closed target has closed its connections", async ({ target }) => {
    const connection: TargetConnection = await target.connect(1, signal);
    const one = await connection.prepare(operationOf("CUSTOM", "SELECT 1", {}));
    await target.close();
    assert.equal((await execute(one, [])).failure?.kind, "connection");
    await assert.rejects(target.connect(1, signal), OperatingError);
  });
}

function depthOf(target: Target): number {
  return Math.min(4, target.capabilities.depthMax);
}
