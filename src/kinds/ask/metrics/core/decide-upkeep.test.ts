import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AgedSegment,
  compactionLimitsDefault,
  decideCompaction,
  decideRetention,
  decideShardCount,
} from "./decide-upkeep.ts";
import type { SegmentInfo } from "./model.ts";

const blockMs = compactionLimitsDefault.blockMs;
const hour = 60 * 60_000;

let made = 0;
function segment(rest: Partial<SegmentInfo> = {}): SegmentInfo {
  made += 1;
  return {
    segmentId: `s${made}`,
    seq: made,
    level: 0,
    minTs: 10 * blockMs + 5,
    maxTs: 10 * blockMs + 900,
    shardCount: 1,
    shard: 0,
    seriesCount: 1,
    sampleCount: 100,
    histogramCount: 0,
    sizeBytes: 10,
    metricNames: [],
    path: "",
    sealSeq: made,
    ...rest,
  };
}

const inBlock = 10 * blockMs + hour;
const settled = 11 * blockMs + hour;

describe("compaction", () => {
  const cases: readonly { name: string; segments: SegmentInfo[]; nowMs: number; inputs: number }[] =
    [
      {
        name: "[MU1] one segment: nothing to do",
        segments: [segment()],
        nowMs: settled,
        inputs: 0,
      },
      {
        name: "[MU1] two in a block that still fills: wait",
        segments: [segment(), segment()],
        nowMs: inBlock,
        inputs: 0,
      },
      {
        name: "[MU1] eight of them: merge",
        segments: Array.from({ length: 8 }, () => segment()),
        nowMs: inBlock,
        inputs: 8,
      },
      {
        name: "[MU1] two in a settled block: merge",
        segments: [segment(), segment()],
        nowMs: settled,
        inputs: 2,
      },
      {
        name: "[MU1] different shards have nothing to merge",
        segments: [0, 1, 2, 3].map((shard) => segment({ shard, shardCount: 4 })),
        nowMs: settled,
        inputs: 0,
      },
      {
        name: "[MU1] a coarse shard meets the fine ones in it",
        segments: [segment({ shard: 2, shardCount: 4 }), segment({ shard: 1, shardCount: 2 })],
        nowMs: settled,
        inputs: 2,
      },
      {
        name: "[MU1] a few late samples do not rewrite a large block",
        segments: [segment({ level: 1, sampleCount: 10_000 }), segment(), segment()],
        nowMs: settled,
        inputs: 0,
      },
      {
        name: "[MU1] but many small segments do",
        segments: [segment({ level: 1, sampleCount: 10_000 }), segment(), segment(), segment()],
        nowMs: settled,
        inputs: 4,
      },
      {
        name: "[MU1] different blocks are never merged",
        segments: [segment(), segment({ minTs: 0, maxTs: 5 })],
        nowMs: settled,
        inputs: 0,
      },
      {
        name: "[MU1] nor is one that lies across two",
        segments: [segment(), segment({ maxTs: 11 * blockMs })],
        nowMs: settled,
        inputs: 0,
      },
    ];
  for (const { name, segments, nowMs, inputs } of cases) {
    test(name, () => {
      const plan = decideCompaction(segments, nowMs, compactionLimitsDefault);
      assert.equal(plan?.inputs.length ?? 0, inputs);
    });
  }

  test("[MU2] the result takes the inputs' least number, and the next level; the oldest block is first", () => {
    const old = [
      segment({ minTs: 5, maxTs: 6, seq: 40, level: 2 }),
      segment({ minTs: 7, maxTs: 8, seq: 30, sealSeq: 99 }),
    ];
    const plan = decideCompaction([segment(), segment(), ...old], settled, compactionLimitsDefault);
    assert.deepEqual(
      [plan?.blockStart, plan?.seq, plan?.level, plan?.sealSeq, plan?.inputs.map(({ seq }) => seq)],
      [0, 30, 3, 99, [30, 40]],
    );
  });

  test("[MU2] larger blocks get more shards", () => {
    const limits = { samplesPerShard: 100, shardCountMax: 16 };
    assert.deepEqual(
      [1, 100, 101, 399, 401, 1e9].map((count) => decideShardCount(count, limits)),
      [1, 1, 2, 4, 8, 16],
    );
  });
});

describe("retention", () => {
  const now = 1_000 * hour;
  const old = segment({ minTs: 0, maxTs: 900 * hour });
  const young = segment({ minTs: 0, maxTs: 990 * hour });
  const aged = (info: SegmentInfo, ageMs = now - info.maxTs): AgedSegment => ({ info, ageMs });

  test("[MU3] what is older than the retention goes, once it has been here as long", () => {
    const limits = { retentionMs: 50 * hour, bytesMax: Infinity };
    assert.deepEqual(decideRetention([aged(old), aged(young)], now, limits), [old.segmentId]);
    assert.deepEqual(decideRetention([aged(old, hour)], now, limits), [], "imported an hour ago");
  });

  test("[MU3] beyond the bytes, the oldest go", () => {
    const limits = { retentionMs: Infinity, bytesMax: 10 };
    assert.deepEqual(decideRetention([aged(old), aged(young)], now, limits), [old.segmentId]);
    assert.deepEqual(
      decideRetention([aged(old), aged(young)], now, { ...limits, bytesMax: 20 }),
      [],
    );
  });
});
