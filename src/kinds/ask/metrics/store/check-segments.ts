/**
 * Reads the files of every visible segment and compares their checksums, for `capstan lake check`.
 * Writes nothing.
 */
import { messageOf } from "../../../../ground/kernel/errors.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { openSegment } from "../segments/segment-reader.ts";
import { SegmentCatalog } from "./segment-catalog.ts";
import { damageOf, readChecksums } from "./segment-scrub.ts";

export interface SegmentsReport {
  /** One sentence for each problem. */
  readonly findings: readonly string[];
  readonly segments: number;
  /** The number of segments without checksums. */
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
  // Upkeep may have merged and deleted some meanwhile.
  const still = findings.length === 0 ? [] : await new SegmentCatalog({ store }).list();
  const visible = new Set(still.map(({ segmentId }) => segmentId));
  return {
    findings: findings.filter(({ segmentId }) => visible.has(segmentId)).map(({ text }) => text),
    segments: segments.length,
    unverified: segments.filter(({ checksums }) => checksums === undefined).length,
  };
}

/** A check without checksums: the segment opens, and has as many series as the catalog says. */
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
