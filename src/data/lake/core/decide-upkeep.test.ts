import assert from "node:assert/strict";
import { test } from "node:test";
import { decideLakeUpkeep, isOrphan, type LiveFile, upkeepLimitsDefault } from "./decide-upkeep.ts";
import type { FileId, SnapshotId } from "./model.ts";

const limits = {
  ...upkeepLimitsDefault,
  snapshotMsMax: 1_000,
  snapshotCountMax: 4,
  pinMsMax: 5_000,
  graceMs: 100,
  smallBytes: 10,
  targetBytes: 25,
  mergeFilesMin: 2,
};
const none = { nowMs: 10_000, snapshots: [], pins: [], scheduled: [], files: [] };

function snapshots(...times: readonly number[]) {
  return times.map((timeMs, index) => ({ snapshot: index as SnapshotId, timeMs }));
}

test("[LK30] old snapshots expire, but never the newest", () => {
  const facts = { ...none, snapshots: snapshots(0, 8_999, 9_000, 9_500) };
  assert.deepEqual(decideLakeUpkeep(facts, limits).expire, [0, 1]);
  assert.deepEqual(decideLakeUpkeep({ ...none, snapshots: snapshots(0) }, limits).expire, []);
});

test("[LK30] of many snapshots the newest stay", () => {
  const facts = { ...none, snapshots: snapshots(9_990, 9_991, 9_992, 9_993, 9_994, 9_995) };
  assert.deepEqual(decideLakeUpkeep(facts, limits).expire, [0, 1]);
});

test("[LK32] a pin holds its snapshot up to a limit of age", () => {
  const pin = { snapshot: 0 as SnapshotId, pinnedAtMs: 5_001 };
  const facts = { ...none, snapshots: snapshots(0, 1, 10_000), pins: [pin] };
  assert.deepEqual(decideLakeUpkeep(facts, limits).expire, [1]);
  const old = { ...facts, pins: [{ ...pin, pinnedAtMs: 5_000 }] };
  assert.deepEqual(decideLakeUpkeep(old, limits).expire, [0, 1]);
});

test("[LK31] a file goes once every query that may read it is over", () => {
  const file = (fileId: number, sinceMs: number) => ({
    fileId: fileId as FileId,
    path: `${fileId}`,
    sinceMs,
  });
  const scheduled = [file(1, 9_900), file(2, 9_901)];
  const { delete: gone } = decideLakeUpkeep({ ...none, scheduled }, limits);
  assert.deepEqual(gone, [scheduled[0]]);
});

function live(
  id: number,
  more: Partial<LiveFile> & { size?: number; table?: number; rows?: number } = {},
): LiveFile {
  const { size = 5, table = 1, rows = 10, ...rest } = more;
  const row = {
    data_file_id: id,
    table_id: table,
    begin_snapshot: id,
    end_snapshot: null,
    file_order: null,
    path: `${id}`,
    path_is_relative: 1,
    file_format: "parquet",
    record_count: rows,
    file_size_bytes: size,
    footer_size: 1,
    row_id_start: 0,
    partition_id: null,
    encryption_key: null,
    mapping_id: null,
    partial_max: null,
  };
  return { row, deleteCount: 0, hasDeletes: false, hasCurrentColumns: true, ...rest };
}

const merges: readonly [name: string, files: LiveFile[], merge: number[][], rewrite: number[][]][] =
  [
    ["small neighbours are merged", [live(2), live(1), live(3)], [[1, 2, 3]], []],
    ["one alone is not", [live(1), live(2, { size: 10 }), live(3)], [], []],
    [
      "a big one is between",
      [live(1), live(2), live(3, { size: 99 }), live(4), live(5)],
      [
        [1, 2],
        [4, 5],
      ],
      [],
    ],
    [
      "up to the target",
      [1, 2, 3, 4, 5, 6, 7].map((id) => live(id)),
      [
        [1, 2, 3, 4, 5],
        [6, 7],
      ],
      [],
    ],
    ["not across tables", [live(1), live(2, { table: 2 })], [], []],
    [
      "not what has deletes",
      [live(1), live(2, { hasDeletes: true, deleteCount: 1 }), live(3)],
      [],
      [],
    ],
    [
      "what has many deletes is rewritten",
      [live(1, { hasDeletes: true, deleteCount: 3 })],
      [],
      [[1]],
    ],
    [
      "small files are rewritten together once many have deletes",
      [
        live(1, { hasDeletes: true, deleteCount: 1 }),
        live(2, { hasCurrentColumns: false }),
        live(3, { size: 99, hasDeletes: true, deleteCount: 1 }),
        live(4),
        live(5, { hasDeletes: true, deleteCount: 4 }),
      ],
      [],
      [
        [1, 2],
        [4, 5],
      ],
    ],
    [
      "old columns are rewritten together",
      [
        live(1, { hasCurrentColumns: false }),
        live(2, { hasCurrentColumns: false }),
        live(3),
        live(4),
      ],
      [[3, 4]],
      [[1, 2]],
    ],
  ];
for (const [name, files, merge, rewrite] of merges) {
  test(`[LK33] ${name}`, () => {
    const decision = decideLakeUpkeep({ ...none, files }, limits);
    assert.deepEqual(
      decision.merge.map(({ fileIds }) => fileIds),
      merge,
    );
    assert.deepEqual(
      decision.rewrite.map(({ fileIds }) => fileIds),
      rewrite,
    );
  });
}

test("[LK34] an orphan is nobody's, old, and not being written", () => {
  const dayMs = 86_400_000;
  const facts = { nowMs: 2 * dayMs, referenced: new Set(["main/t/a"]), liveTokens: ["tok"] };
  assert.equal(isOrphan(facts, "main/t/b", dayMs), true);
  assert.equal(isOrphan(facts, "main/t/b", dayMs + 1), false, "too young");
  assert.equal(isOrphan(facts, "main/t/a", 0), false, "referenced");
  assert.equal(isOrphan(facts, "main/t/x-tok-1.parquet", 0), false, "being written");
});
