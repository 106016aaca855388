/**
 * The contract on databases in a process of their own, and what that process is for: a bound on
 * their memory.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BoundedProcess } from "../../../../data/duckdb/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import {
  privateBytes,
  processTree,
  treePssBytes,
} from "../../../../ground/kernel/node/process-memory.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { canBoundMemory } from "../../../../ground/threads/index.ts";
import type { Target } from "../../core/target.ts";
import { scenarioOf } from "../../testing/scenario.ts";
import { openTarget } from "../open-target.ts";
import { createTargetFiles } from "../target-files.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { testTarget } from "../testing/target.contract.ts";
import { type FileKind, type TargetService, targetScriptBytes } from "./messages.ts";

const { signal } = new AbortController();
const mebibyte = 1024 ** 2;

interface Opened {
  readonly target: Target;
  readonly processes: BoundedProcess<TargetService>[];
  close(): Promise<void>;
}

async function openBounded(
  kind: FileKind,
  { settings = "", limitBytes = 512 * mebibyte } = {},
): Promise<Opened> {
  const dataDir = mkdtempSync(join(tmpdir(), "capstan-bounded-"));
  const files = createTargetFiles({ dataDir });
  const url = `${kind}://${files.pathOf("t.db")}${settings}`;
  const processes: Opened["processes"] = [];
  const { target: config } = scenarioOf({ target: { kind, url } });
  const target = await openTarget(config, null, realClock, {
    files,
    tag: "t",
    workerBytes: limitBytes,
    bounded: {
      files: { dataDir },
      processBytes: limitBytes,
      start: (module, open) => {
        const process = new BoundedProcess<TargetService>(
          {
            module,
            engineBytesMax: limitBytes,
            treeBytesMax: treeBytes() + limitBytes,
            threads: 1,
            connections: 2,
            scriptBytes: targetScriptBytes,
            clock: realClock,
            logger: silentLogger,
          },
          open,
        );
        processes.push(process);
        return process;
      },
    },
  });
  return {
    target,
    processes,
    close: async () => {
      await target.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

/** The memory of this process and of those that it started. */
function treeBytes(): number {
  return treePssBytes(process.pid) ?? 0;
}

/**
 * The private part of it, which is where a statement's memory is. Reading it is a hundred times
 * cheaper than `treeBytes`.
 */
function privateTreeBytes(): number {
  return processTree(process.pid).reduce((sum, pid) => sum + (privateBytes(pid) ?? 0), 0);
}

const slow = {
  duckdb: "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
  sqlite: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
} as const;

for (const kind of ["duckdb", "sqlite"] as const) {
  testTarget(`${kind} in a process of its own`, async () => {
    const { target, close } = await openBounded(kind);
    const types = ["bigint", "double", "text"] as const;
    return { target, cutConnections: undefined, slowSql: slow[kind], types, close };
  });
}

/**
 * What a statement may not take: one enormous value, many that are kept, and rows without an end.
 */
const greedy: readonly { readonly kind: FileKind; readonly sql: string }[] = [
  { kind: "duckdb", sql: "SELECT len(range(1000000000))" },
  { kind: "duckdb", sql: "SELECT length(repeat('x', 2000000000))" },
  { kind: "duckdb", sql: "SELECT len(list(repeat('x', 10000000) || range)) FROM range(400)" },
  { kind: "sqlite", sql: "SELECT length(randomblob(900000000))" },
  {
    kind: "sqlite",
    sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400) SELECT length(group_concat(hex(zeroblob(4000000)))) FROM n",
  },
  { kind: "sqlite", sql: slow.sqlite },
];
/** Also that the process ended, where Node itself found no memory. */
const refusals = new Set(["statement_too_large", "query_failed"]);

for (const { kind, sql } of greedy) {
  test(`[BT1] a statement that takes too much fails, and this process does not grow: ${kind}, ${sql.slice(0, 50)}`, {
    skip: !canBoundMemory,
    timeout: 480_000,
  }, async () => {
    const limitBytes = 256 * mebibyte;
    const { target, close } = await openBounded(kind, { limitBytes });
    let mostBytes = 0;
    const before = privateTreeBytes();
    const looking = setInterval(() => {
      mostBytes = Math.max(mostBytes, privateTreeBytes() - before);
    }, 20);
    try {
      await target.run("CREATE TABLE t (id BIGINT)", [], signal);
      const thrown = await target.run(sql, [], signal).catch((error: unknown) => error);
      assert.ok(thrown instanceof OperatingError && refusals.has(thrown.code), String(thrown));
      assert.ok(mostBytes < 1.5 * limitBytes, `${mostBytes / mebibyte} MiB`);
      assert.deepEqual(await target.run("SELECT count(*) FROM t", [], signal), [[0]]);
    } finally {
      clearInterval(looking);
      await close();
    }
  });
}

test("[BT1] what a connection had in its process fails with it, and the next one works", async () => {
  const { target, processes, close } = await openBounded("duckdb");
  try {
    await target.run("CREATE TABLE t (id BIGINT)", [], signal);
    const connection = await target.connect(1, signal);
    const broken = new Promise((resolve) => connection.onBroken(resolve));
    const prepared = await connection.prepare(operationOf("CUSTOM", slow.duckdb, {}));
    const outcome = execute(prepared, []);
    process.kill(processes[0]?.pid ?? 0, "SIGKILL");
    assert.equal((await outcome).failure?.kind, "connection");
    await broken;
    const next = await target.connect(1, signal);
    const count = await next.prepare(operationOf("CUSTOM", "SELECT count(*) FROM t", {}));
    assert.deepEqual(await execute(count, []), { failure: undefined, rowCount: 1 });
    assert.equal(processes.length, 2);
  } finally {
    await close();
  }
});

test("[BT1] rows that nobody asked for do not come back without a bound", async () => {
  const { target, close } = await openBounded("duckdb");
  try {
    const many = target.run("SELECT repeat('x', 1000) FROM range(20000)", [], signal);
    await assert.rejects(many, { code: "query_too_large" });
  } finally {
    await close();
  }
});

test("[TM1] a URL that asks for more memory than a load worker has is refused before anything is opened", async () => {
  const asked = openBounded("duckdb", { settings: "?memory_limit=900GB" });
  await assert.rejects(asked, { code: "bad_request", hint: /--load-memory-limit/ });
  const { target, close } = await openBounded("duckdb", { settings: "?memory_limit=100MB" });
  try {
    assert.deepEqual(await target.run("SELECT 1", [], signal), [[1]]);
  } finally {
    await close();
  }
});
