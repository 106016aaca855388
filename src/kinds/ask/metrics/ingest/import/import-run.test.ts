import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { prepareLake } from "../../fs/lake.ts";
import { collectSeries } from "../../segments/collect-series.ts";
import { openSegment } from "../../segments/segment-reader.ts";
import { SeriesInterner } from "../../segments/series-interner.ts";
import { ImportRun, type ImportRunOptions } from "./import-run.ts";

let lakeDir: string;
let number = 0;

before(async () => {
  lakeDir = await mkdtemp(join(tmpdir(), "capstan-import-"));
  await prepareLake(lakeDir);
});
after(async () => await rm(lakeDir, { recursive: true }));

function run(options: Partial<ImportRunOptions> = {}): ImportRun {
  number += 1;
  const importId = `import-${number}`;
  return new ImportRun({
    lakeDir,
    importId,
    spillDir: join(lakeDir, "tmp", importId),
    format: undefined,
    onError: "fail",
    blockMs: 7_200_000,
    shardCount: undefined,
    samplesPerShard: 250_000,
    shardCountMax: 16,
    memorySamplesMax: 1_000_000,
    ...options,
  });
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const memories = [
  { name: "all in memory", memorySamplesMax: 1_000_000, shardCount: undefined },
  { name: "spilt, one pass a block", memorySamplesMax: 3_000, shardCount: 4 },
  { name: "spilt, a pass for each shard", memorySamplesMax: 600, shardCount: 4 },
  { name: "spilt, shards cut by time", memorySamplesMax: 200, shardCount: 2 },
];
for (const { name, memorySamplesMax, shardCount } of memories) {
  test(`[IN24] an import of any order is what it says, ${name}`, async () => {
    const prng = createPrng("import-run");
    const want = new Map<string, string>();
    const lines: string[] = [];
    for (let index = 0; index < 8_000; index += 1) {
      const series = prng.below(30);
      const ts = 1_700_000_000_000 + prng.below(30_000) * 1_000;
      const key = `s${series}@${ts}`;
      if (!want.has(key)) want.set(key, `${index}`);
      lines.push(`m{s="s${series}"} ${index} ${ts}`);
    }
    const importing = run({ memorySamplesMax, shardCount });
    const bytes = encode(`${lines.join("\n")}\n`);
    for (let at = 0; at < bytes.length; at += 10_000) importing.feed(bytes.slice(at, at + 10_000));
    const { segments, result } = await importing.finish();
    assert.deepEqual([result.samples, result.series], [8_000, 30]);
    const interner = new SeriesInterner();
    const readers = segments.map((info) => openSegment(lakeDir, info, { interner }));
    const range = { minMs: -Infinity, maxMs: Infinity };
    const got = new Map<string, string>();
    for (const { labels, samples } of collectSeries(readers, [], {
      matchers: [],
      shard: 0,
      shardCount: 1,
      range,
    })) {
      for (let index = 0; index < samples.count; index += 1) {
        got.set(`${labels.get("s")}@${samples.ts[index]}`, `${samples.values[index]}`);
      }
    }
    assert.deepEqual(got, want);
    assert.equal(
      segments.reduce((sum, { sampleCount }) => sum + sampleCount, 0),
      want.size,
      "each once",
    );
    assert.deepEqual(await readdir(join(lakeDir, "tmp")), []);
    await importing.discard();
    assert.deepEqual(await readdir(join(lakeDir, "segments")), []);
  });
}

test("[IN24] an import that is given up anywhere leaves nothing", async () => {
  const importing = run({ memorySamplesMax: 1_000 });
  for (let index = 0; index < 100; index += 1) {
    const lines = Array.from(
      { length: 100 },
      (_, at) => `m{s="${at}"} 1 ${1_700_000_000_000 + index * 60_000}`,
    );
    importing.feed(encode(`${lines.join("\n")}\n`));
  }
  await importing.discard();
  await importing.discard();
  assert.deepEqual(await readdir(join(lakeDir, "tmp")), []);
  assert.deepEqual(await readdir(join(lakeDir, "segments")), []);
});

test("[IN24] an import of nothing is done", async () => {
  const { segments, result } = await run().finish();
  assert.deepEqual([segments, result.samples], [[], 0]);
});
