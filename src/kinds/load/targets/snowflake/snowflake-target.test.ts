/** The contract with the real client on a stub of the protocol: that is all that was tried. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { loadSdk } from "./load-sdk.ts";
import { parseSnowflakeUrl } from "./parse-snowflake-url.ts";
import { createSnowflakeTarget, type SnowflakeTarget } from "./snowflake-target.ts";
import { type Answer, type StubSnowflake, startStubSnowflake } from "./testing/stub-snowflake.ts";

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

/** What a server answers that wants a file of the client's machine, or wants one written there. */
function transferAnswer(command: "UPLOAD" | "DOWNLOAD", source: string, place: string): Answer {
  const data = {
    ...{ queryId: "q", command, autoCompress: false, sourceCompression: "none", parallel: 1 },
    ...{ overwrite: true, src_locations: [source], localLocation: place, presignedUrls: null },
    stageInfo: { locationType: "LOCAL_FS", location: place, path: "", creds: {} },
    ...{ rowtype: [], rowset: [], total: 0, returned: 0, parameters: [], version: 1 },
  };
  return { success: true, code: null, message: null, data };
}

test("[SF6] [TX3] no file is read or written, whatever is asked and whatever the server answers", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-snowflake-"));
  const secret = join(dir, "secret.txt");
  writeFileSync(secret, "a secret");
  const umask = process.umask(0o027);
  try {
    await withStub(async (target, stub) => {
      const connection = await target.connect(1, signal);
      for (const command of ["UPLOAD", "DOWNLOAD"] as const) {
        stub.answerAs = () => transferAnswer(command, secret, join(dir, "taken"));
        for (const sql of [
          `PUT file://${secret} @~`,
          `GET @~/x file://${dir}/taken`,
          `/* a */ -- b\n// c\n PUT file://${secret} @~`,
          `SELECT 1; put 'file://${secret}' @~`,
        ]) {
          await assert.rejects(target.run(sql, [], signal), { code: "bad_sql" }, sql);
          const asked = operationOf("CUSTOM", sql, {});
          await assert.rejects(connection.prepare(asked), { code: "bad_sql" }, sql);
        }
        await target.run("SELECT 1", [], signal).catch(() => undefined);
        const sdk = await loadSdk();
        const own = sdk.createConnection({
          ...{ account: "account", accessUrl: stub.url, username: "me", password: "right" },
        });
        await own.connectAsync();
        const outcome = await new Promise((resolve) => {
          const sqlText = `PUT file://${secret} @~`;
          own.execute({ sqlText, complete: (error) => resolve(error) });
        });
        assert.match(String(outcome), /transfers no files/);
        await new Promise((resolve) => own.destroy(resolve));
      }
      stub.answerAs = undefined;
      assert.equal(existsSync(join(dir, "taken")), false);
      assert.equal(process.umask(), 0o027);
    });
  } finally {
    process.umask(umask);
    rmSync(dir, { recursive: true });
  }
});

/** What the client sends requests with. */
interface SdkRequests {
  get(url: string): Promise<unknown>;
  post(url: string, body: object): Promise<unknown>;
  readonly defaults: { readonly lookup?: unknown };
}

test("[SF7] [OT5] no metadata service is reached: by the address, a redirect, or a result's chunk", async () => {
  const there = "http://169.254.169.254/latest/meta-data";
  const url = `snowflake://me@account/DB/S?access_url=${encodeURIComponent(there)}`;
  const target = await createSnowflakeTarget(parseSnowflakeUrl(url, "x", null), "t", realClock);
  await assert.rejects(target.connect(1, signal), { code: "forbidden" });
  await target.close();
  assert.equal(process.env.SNOWFLAKE_DISABLE_PLATFORM_DETECTION, "true");
  const { default: axios } = await import(
    import.meta.resolve("snowflake-sdk/dist/lib/http/axios_instance.js")
  ).then((module) => module.default as { readonly default: SdkRequests });
  await withStub(async (opened, stub) => {
    await assert.rejects(axios.get(there), { code: "forbidden" });
    // What a name resolves to is judged where the client connects.
    assert.equal(typeof axios.defaults.lookup, "function");
    await opened.run("SELECT 1", [], signal);
    stub.answerAs = () => ({ redirect: there });
    const moved = `${stub.url}/queries/v1/query-request`;
    await assert.rejects(axios.post(moved, { sqlText: "SELECT 1" }), (error: Error) => {
      assert.match(JSON.stringify([error.message, String(error.cause)]), /never loaded/);
      return true;
    });
    stub.answerAs = undefined;
  });
});
