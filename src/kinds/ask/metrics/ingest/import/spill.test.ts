import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Spill } from "./spill.ts";

test("[IN24] memory is bounded however many blocks of time there are, and every sample is read back", (t) => {
  const root = mkdtempSync(join(tmpdir(), "capstan-spill-"));
  t.after(() => rmSync(root, { recursive: true }));
  const memorySamplesMax = 5_000;
  const blockMs = 1_000;
  const blockCount = 200;
  const spill = new Spill({ directory: join(root, "spill"), blockMs, memorySamplesMax });
  let most = 0;
  for (let round = 0; round < 5; round += 1) {
    for (let block = 0; block < blockCount; block += 1) {
      const ts = Float64Array.of(block * blockMs + round);
      const values = Float64Array.of(block);
      const series = Uint32Array.of(round);
      spill.add({ count: 1, series, ts, values, startTs: undefined, exemplars: [] });
      most = Math.max(most, spill.roomSampleCount);
    }
  }
  assert.ok(most <= memorySamplesMax, String(most));
  for (const { startMs, sampleCount } of spill.blocks()) {
    const rounds = [...spill.pages(startMs)].flatMap(({ series, count }) => [
      ...series.subarray(0, count),
    ]);
    assert.deepEqual(rounds, [0, 1, 2, 3, 4]);
    assert.equal(sampleCount, 5);
  }
  assert.equal(spill.blocks().length, blockCount);
  spill.remove();
});

test("[IN24] samples that were put aside and came back otherwise fail the import", (t) => {
  const root = mkdtempSync(join(tmpdir(), "capstan-spill-"));
  t.after(() => rmSync(root, { recursive: true }));
  const directory = join(root, "spill");
  const spill = new Spill({ directory, blockMs: 1_000, memorySamplesMax: 512 });
  for (let block = 0; block < 4; block += 1) {
    const ts = Float64Array.of(block * 1_000);
    const series = Uint32Array.of(1);
    spill.add({ count: 1, series, ts, values: ts, startTs: undefined, exemplars: [] });
  }
  const file = join(directory, "samples");
  const bytes = readFileSync(file);
  bytes[7] = (bytes[7] ?? 0) ^ 16;
  writeFileSync(file, bytes);
  assert.throws(() => [...spill.pages(0)], { code: "data_corrupt", retry: "never" });
  assert.equal([...spill.pages(1_000)].length, 1);
  spill.remove();
});
