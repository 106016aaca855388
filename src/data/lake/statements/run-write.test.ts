import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../../ground/kernel/testing/recording-logger.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { createSharedSqlite, openSimStore } from "../../../ground/store/index.ts";
import type { TableId } from "../core/index.ts";
import { LakeStore } from "../store/lake-store.ts";
import { create, newFile, rowChange } from "../testing/open-catalog.ts";
import { lakeWriteAnswer } from "./lake-write-executor.ts";
import { runWrite } from "./run-write.ts";

/** A write of one file over a connection that loses the answers of its first `losses` commits. */
async function write(losses: number, refusal?: OperatingError) {
  const store = openSimStore({ database: createSharedSqlite(() => 1_000) });
  const catalog = new LakeStore({ store, prng: createPrng("lake") });
  const base = { token: "t", author: "", message: "" };
  const { snapshot } = await catalog.current();
  const made = await catalog.commit({
    ...base,
    readSnapshot: snapshot,
    changes: [create("orders")],
  });
  const tableId = made.tableIds[0] as TableId;
  const { table } = await catalog.version(tableId, made.snapshot);
  const written = { added: [newFile("main/orders/", [1, 2])], deletes: [], ended: [] };
  const counts = { insertedCount: 2, deletedCount: 0 };
  const deleted: string[] = [];
  const lines: RecordedLine[] = [];
  const clock = new VirtualClock();
  let left = losses;
  const deps = {
    clock,
    prng: createPrng("write"),
    logger: recordingLogger(lines),
    objects: {
      delete: async (paths: readonly string[]) => {
        deleted.push(...paths);
        if (refusal !== undefined) throw new Error("no such bucket");
      },
    },
    manager: { run: async () => [lakeWriteAnswer({ ...written, ...counts })] },
    catalog: {
      commit: async (commit: Parameters<LakeStore["commit"]>[0]) => {
        if (refusal !== undefined) throw refusal;
        const committed = await catalog.commit(commit);
        left -= 1;
        if (left < 0) return committed;
        throw new OperatingError("commit_unknown", "backoff", "the connection was lost");
      },
    },
  };
  const request = {
    queryId: "q-1" as QueryId,
    text: "INSERT",
    deadlineMs: 1_000,
    attempt: async () => ({
      write: { op: "insert", table, columns: ["id"], query: { sql: "", tables: [] } } as const,
      readSnapshot: made.snapshot,
      changes: () => [rowChange(tableId, { added: written.added })],
    }),
  };
  const outcome = runWrite(deps, request, new AbortController().signal).then(
    ({ committed }) => committed?.snapshot,
    (thrown: OperatingError) => thrown.code,
  );
  await clock.advance(10_000);
  const current = await catalog.current();
  const { files } = await catalog.version(tableId, current.snapshot);
  return {
    outcome: await outcome,
    deleted,
    files: files.length,
    snapshot: current.snapshot,
    lines,
  };
}

test("[LK6] a commit whose answer was lost is said again, and is done once", async () => {
  const { outcome, snapshot, deleted, files } = await write(2);
  assert.equal(outcome, snapshot);
  assert.deepEqual({ deleted, files }, { deleted: [], files: 1 });
});

test("[LK6] while nobody knows of a commit, its files stay", async () => {
  const { outcome, deleted, files } = await write(1_000);
  assert.deepEqual(
    { outcome, deleted, files },
    { outcome: "commit_unknown", deleted: [], files: 1 },
  );
});

test("[OB14] a write that begins anew, or leaves files, says whose it is", async () => {
  const { lines } = await write(0, new OperatingError("conflict", "backoff", "somebody else"));
  const [left, anew] = lines;
  assert.deepEqual(
    [left?.fields.query_id, left?.message],
    ["q-1", "files of a failed write are left: no such bucket"],
  );
  assert.deepEqual(
    [anew?.fields.query_id, anew?.message],
    ["q-1", "the write begins anew: somebody else"],
  );
  assert.ok(lines.every(({ fields }) => String(fields.query_id).startsWith("q-1")));
});
