/** The contract with the real client on a stub of the protocol: that is all that was tried. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../kernel/errors.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import { eventually } from "../../../store/testing/eventually.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { parseSnowflakeUrl } from "./parse-snowflake-url.ts";
import { createSnowflakeTarget, type SnowflakeTarget } from "./snowflake-target.ts";
import { type StubSnowflake, startStubSnowflake } from "./testing/stub-snowflake.ts";

const { signal } = new AbortController();

function open(stub: StubSnowflake, password = "right"): Promise<SnowflakeTarget> {
  const url = `snowflake://me@account/DB/S?role=R&access_url=${encodeURIComponent(stub.url)}`;
  return createSnowflakeTarget(parseSnowflakeUrl(url, password, "load_wh"), "run-1", realClock);
}

async function withStub(
  body: (target: SnowflakeTarget, stub: StubSnowflake) => Promise<void>,
): Promise<void> {
  const stub = await startStubSnowflake();
  const target = await open(stub);
  try {
    await body(target, stub);
  } finally {
    await target.close();
    await stub.close();
  }
}

testTarget("snowflake, on a stub", async () => {
  const stub = await startStubSnowflake();
  const target = await open(stub);
  return {
    target,
    cutConnections: async () => stub.forgetSessions(),
    slowSql: "SELECT SYSTEM$WAIT(60)",
    types: ["bigint", "double", "text", "boolean"],
    close: async () => {
      await target.close();
      await stub.close();
    },
  };
});

test("[SF1] executions carry the run's tag, what is asked beside them does not", async () => {
  await withStub(async (target, stub) => {
    const connection = await target.connect(1, signal);
    const one = await connection.prepare(operationOf("CUSTOM", "SELECT 1", {}));
    await execute(one, []);
    await target.run("SELECT 2", [], signal);
    assert.deepEqual(
      stub.queries.map(({ sql, tag }) => [sql, tag]),
      [
        ["SELECT 1", "run-1"],
        ["SELECT 2", ""],
      ],
    );
    assert.equal(stub.logins[0]?.LOGIN_NAME, "me");
  });
});

test("[SF2] the poll is the warehouse's own row of SHOW WAREHOUSES", async () => {
  await withStub(async (target) => {
    const { raw, ...poll } = await target.pollServer(signal);
    assert.deepEqual(poll, {
      name: "LOAD_WH",
      startedClusters: 2,
      running: 7,
      queued: 3,
      minClusterCount: 1,
      maxClusterCount: 4,
      scalingPolicy: "ECONOMY",
    });
    assert.equal(raw.state, "STARTED");
  });
});

test("[SF3] closing aborts what runs; a wrong password is refused and not shown", async () => {
  await withStub(async (target, stub) => {
    const connection = await target.connect(1, signal);
    const slow = await connection.prepare(operationOf("CUSTOM", "SELECT SYSTEM$WAIT(60)", {}));
    const outcome = execute(slow, []);
    await eventually("it runs", () => (stub.queries.length === 1 ? true : undefined));
    await connection.close();
    assert.equal((await outcome).failure?.code, "closed");
    assert.equal(stub.aborted.length, 1);
    const wrong = await open(stub, "sesame");
    await assert.rejects(wrong.connect(1, signal), (error) => {
      assert.ok(error instanceof OperatingError && error.code === "target_refused", String(error));
      assert.doesNotMatch(error.message, /sesame/);
      return true;
    });
    await wrong.close();
  });
});

test("[SF4] the history gives this run's queries, once each, up to the window's end", async () => {
  await withStub(async (target) => {
    const connection = await target.connect(1, signal);
    for (const sql of ["SELECT 1", "SELECT 2", "SELECT 3"]) {
      await execute(await connection.prepare(operationOf("CUSTOM", sql, {})), []);
    }
    const found: (readonly [string, number])[] = [];
    for await (const page of target.queryHistory({ startMs: 0, endMs: 1001 }, signal)) {
      found.push(...page.map(({ text, executionMs }) => [text, executionMs] as const));
    }
    assert.deepEqual(found, [
      ["SELECT 1", 3],
      ["SELECT 2", 3],
    ]);
  });
});

test("[SF5] a URL that is none is bad_request", () => {
  for (const url of [
    "snowflake://me:sesame@account",
    "snowflake://me:sesame@account/A/B/C",
    "snowflake://me:sesame@account/A?host=x",
    "snowflake://me:sesame@account/A?access_url=file:///x",
    "mysql://me:sesame@account/A",
  ]) {
    assert.throws(
      () => parseSnowflakeUrl(url, null, null),
      (error) =>
        error instanceof OperatingError &&
        error.code === "bad_request" &&
        !error.message.includes("sesame"),
      url,
    );
  }
  const { accessUrl, host, schema } = parseSnowflakeUrl("snowflake://me@acc.eu/A", null, null);
  assert.deepEqual(
    [accessUrl, host, schema],
    ["https://acc.eu.snowflakecomputing.com", "acc.eu.snowflakecomputing.com", "PUBLIC"],
  );
});
