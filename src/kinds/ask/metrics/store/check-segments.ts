/**
 * Every visible segment's files, read whole and compared with their checksums. For `capstan lake
 * check`; nothing is written.
 */
import { messageOf } from "../../../../ground/kernel/errors.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { openSegment } from "../segments/segment-reader.ts";
import { SegmentCatalog } from "./segment-catalog.ts";
import { damageOf, readChecksums } from "./segment-scrub.ts";

export interface SegmentsReport {
  /** Sentences about what is wrong. */
  readonly findings: readonly string[];
  readonly segments: number;
  /** That have no checksums yet. */
  readonly unverified: number;
}

export async function checkSegments(
  { store, lakeDir }: { readonly store: Store; readonly lakeDir: string },
  signal: AbortSignal,
): Promise<SegmentsReport> {
  const catalog = new SegmentCatalog({ store });
  const segments = await catalog.list();
  const findings: { readonly segmentId: string; readonly text: string }[] = [];
  for (const info of segments) {
    signal.throwIfAborted();
    const damage =
      damageOf(info, await readChecksums(lakeDir, info)) ?? contentFault(lakeDir, info);
    if (damage !== undefined) {
      const { segmentId } = info;
      findings.push({ segmentId, text: `segment ${segmentId}: ${damage}` });
    }
  }
  // Upkeep may have merged some meanwhile, and deleted them.
  const still = findings.length === 0 ? [] : await new SegmentCatalog({ store }).list();
  const visible = new Set(still.map(({ segmentId }) => segmentId));
  return {
    findings: findings.filter(({ segmentId }) => visible.has(segmentId)).map(({ text }) => text),
    segments: segments.length,
    unverified: segments.filter(({ checksums }) => checksums === undefined).length,
  };
}

/** What can be told without a checksum: it opens, and has as many series as the catalog says. */
function contentFault(
  lakeDir: string,
  info: Parameters<typeof openSegment>[1],
): string | undefined {
  try {
    const reader = openSegment(lakeDir, info);
    try {
      const { count } = reader.series;
      if (reader.rowGroupCount >= 0 && count === info.seriesCount) return undefined;
      return `it has ${count} series, the catalog says ${info.seriesCount}`;
    } finally {
      reader.close();
    }
  } catch (thrown) {
    return messageOf(thrown).replace(/^segment \S+: /, "");
  }
}
