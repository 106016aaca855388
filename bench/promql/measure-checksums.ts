/**
 * What verifying a segment costs at its first open: all of its samples decoded, with its checksums
 * and without, by turns.
 */
import { join } from "node:path";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { openStore } from "../../src/ground/store/index.ts";
import {
  openSegment,
  SegmentCatalog,
  type SegmentInfo,
} from "../../src/kinds/ask/metrics/index.ts";
import { median, type Report } from "../report.ts";

const rounds = 9;

/** Reads the data directory of a Capstan that does not run. */
export async function measureChecksums(dataDir: string, report: Report): Promise<void> {
  const path = join(dataDir, "store.sqlite");
  const parts = { clock: realClock, logger: silentLogger };
  const store = await openStore({ kind: "sqlite", path, ...parts });
  try {
    const segments = await new SegmentCatalog({ store }).list();
    const unverified = segments.map(({ checksums: _, ...info }): SegmentInfo => info);
    const spent = { verified: [] as number[], plain: [] as number[] };
    decodeAll(join(dataDir, "lake"), segments); // A first round for the compiler.
    for (let round = 0; round < rounds; round += 1) {
      spent.plain.push(decodeAll(join(dataDir, "lake"), unverified));
      spent.verified.push(decodeAll(join(dataDir, "lake"), segments));
    }
    const [verifiedMs, plainMs] = [median(spent.verified), median(spent.plain)];
    const ratio = verifiedMs / plainMs;
    const bytes = segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const figures = { ratio, verified_ms: verifiedMs, plain_ms: plainMs, bytes };
    report.figure("first_open_verified", {}, figures);
  } finally {
    await store.close();
  }
}

function decodeAll(lakeDir: string, segments: readonly SegmentInfo[]): number {
  const startedMs = performance.now();
  for (const info of segments) {
    const reader = openSegment(lakeDir, info);
    for (let group = 0; group < reader.rowGroupCount; group += 1) {
      reader.decodeRowGroup(group, "ts");
      reader.decodeRowGroup(group, "value");
    }
    reader.close();
  }
  return performance.now() - startedMs;
}
