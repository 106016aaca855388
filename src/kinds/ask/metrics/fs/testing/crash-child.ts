/**
 * A process that appends, seals and compacts until it is killed. It prints `acked N` once append N
 * is acknowledged and `compacted` after each compaction. Its catalog is a file that it replaces
 * atomically.
 */
import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "../../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../../../ground/kernel/node/system-random.ts";
import { Labels } from "../../../promql/core/index.ts";
import { decideCompaction } from "../../core/decide-upkeep.ts";
import type { SegmentInfo } from "../../core/model.ts";
import { batchOf, type TestSample } from "../../testing/sample-batches.ts";
import { compactBlock } from "../compact-block.ts";
import { openMetricsDb } from "../metrics-db.ts";

export interface CrashCatalog {
  readonly visible: readonly SegmentInfo[];
  readonly seq: number;
}

const samplesPerAppend = 20;

/** Append N, known to the parent, so that it can tell which samples must exist. */
export function rowsOfAppend(index: number): [Labels, TestSample][] {
  return Array.from({ length: samplesPerAppend }, (_, series): [Labels, TestSample] => [
    Labels.of({ __name__: "m", series: `${series}` }),
    { ts: index * 10, value: index + series },
  ]);
}

export function readCatalog(root: string): CrashCatalog {
  const path = join(root, "catalog.json");
  if (!existsSync(path)) return { visible: [], seq: 0 };
  return JSON.parse(readFileSync(path, "utf8")) as CrashCatalog;
}

function writeCatalog(root: string, catalog: CrashCatalog): void {
  const path = join(root, "catalog.json");
  writeFileSync(`${path}.new`, JSON.stringify(catalog));
  renameSync(`${path}.new`, path);
}

export function openOnCatalog(root: string): ReturnType<typeof openMetricsDb> {
  return openMetricsDb({
    walDir: join(root, "wal"),
    lakeDir: join(root, "lake"),
    clock: realClock,
    prng: createSystemPrng(),
    logger: silentLogger,
    blockMs: 1000,
    shardCount: 2,
    walFileBytesMax: 8_000,
    limits: { outOfOrderMs: Infinity, futureMs: Infinity },
    publish: async (add) => {
      const { visible, seq } = readCatalog(root);
      const fresh = add.map((info) => ({ ...info, seq: seq + 1 }));
      writeCatalog(root, { visible: [...visible, ...fresh], seq: seq + 1 });
    },
    publishedSealSeq: async (lineage) =>
      readCatalog(root)
        .visible.filter(({ segmentId }) => segmentId.startsWith(`${lineage}-`))
        .reduce((most, { sealSeq }) => Math.max(most, sealSeq), 0),
  });
}

async function compactOne(root: string): Promise<void> {
  const limits = {
    blockMs: 1000,
    settleMs: 0,
    depthMax: 2,
    newShareMin: 0,
    settledDepthMax: 2,
    samplesPerShard: 500,
    shardCountMax: 4,
  };
  const plan = decideCompaction(readCatalog(root).visible, 0, limits);
  if (plan === undefined) return;
  const lakeDir = join(root, "lake");
  const made = await compactBlock({ lakeDir, plan }, createSystemPrng());
  const replaced = new Set(plan.inputs.map(({ segmentId }) => segmentId));
  const { visible, seq } = readCatalog(root);
  const kept = visible.filter(({ segmentId }) => !replaced.has(segmentId));
  writeCatalog(root, { visible: [...kept, ...made], seq });
  writeSync(1, "compacted\n");
}

async function run(root: string, first: number): Promise<void> {
  const db = await openOnCatalog(root);
  let upkeep: Promise<void> = Promise.resolve();
  for (let index = first; ; index += 1) {
    await db.append(batchOf(rowsOfAppend(index)));
    writeSync(1, `acked ${index}\n`);
    // Upkeep runs in sequence, so that the catalog has one writer, but in parallel with appends.
    if (index % 7 === 0) upkeep = upkeep.then(() => db.seal());
    if (index % 11 === 0) upkeep = upkeep.then(() => compactOne(root));
  }
}

const [root, first] = process.argv.slice(2);
if (root !== undefined && first !== undefined) await run(root, Number(first));
