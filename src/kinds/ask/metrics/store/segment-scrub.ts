/**
 * Reads the segments' files slowly and compares them with their checksums; adds missing checksums.
 * `src/data/lake/upkeep/lake-scrub.ts` does the same for tables.
 */
import { join } from "node:path";
import { AssertionError, messageOf } from "../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import {
  decideScrub,
  isMissingNote,
  missingNote,
  type ScrubLimits,
  Suspicions,
  scrubLimitsDefault,
} from "../../../../ground/kernel/scrub.ts";
import type { LeaseGrant } from "../../../../ground/store/index.ts";
import { checksumFile } from "../../../../ground/threads/index.ts";
import type { SegmentChecksums, SegmentInfo } from "../core/model.ts";
import { type SegmentFile, segmentFileNames } from "../core/segment-schema.ts";
import type { ScrubbedSegment, SegmentCatalog, SegmentScrub } from "./segment-catalog.ts";

export interface SegmentsCondition {
  readonly damaged: readonly { readonly segmentId: string; readonly damage: string }[];
  readonly unverified: number;
  readonly files: number;
  /** Damage reports from queries, about segments that were not read since. */
  readonly suspected: number;
}

export interface SegmentScrubberOptions {
  readonly catalog: Pick<SegmentCatalog, "listScrubbed" | "keepScrubbed">;
  readonly lakeDir: string;
  readonly logger: Logger;
  readonly limits?: Partial<ScrubLimits>;
  /** Called after every round. */
  readonly onCondition?: (condition: SegmentsCondition) => void;
}

export class SegmentScrubber {
  readonly #options: SegmentScrubberOptions;
  readonly #limits: ScrubLimits;
  readonly #suspicions = new Suspicions();

  constructor(options: SegmentScrubberOptions) {
    this.#options = options;
    this.#limits = { ...scrubLimitsDefault, ...options.limits };
  }

  /** Reports damage: the segments that the text names are read in the next round. */
  suspect(text: string): void {
    this.#suspicions.add(text);
  }

  /** Returns how many segments were read. */
  async run(lease: LeaseGrant, signal: AbortSignal): Promise<number> {
    const { catalog, onCondition } = this.#options;
    const { nowMs, segments } = await catalog.listScrubbed();
    const { texts } = this.#suspicions;
    const candidates = segments.map((segment) => ({
      segment,
      sizeBytes: segment.info.sizeBytes,
      checkedAtMs: segment.info.checksums === undefined ? undefined : (segment.checkedAtMs ?? 0),
      isSuspected: texts.some((text) => text.includes(segment.info.segmentId)),
      isDamaged: segment.damage !== undefined,
    }));
    const found = new Map<string, SegmentScrub>();
    for (const { segment } of decideScrub(candidates, nowMs, this.#limits)) {
      if (signal.aborted) break;
      const judged = await this.#judge(segment);
      if (judged !== undefined) found.set(judged.segmentId, judged);
    }
    await catalog.keepScrubbed([...found.values()], lease);
    const suspects = candidates.filter(({ isSuspected }) => isSuspected);
    const names = suspects.map(({ segment }) => segment.info.segmentId);
    const unread = names.filter((name) => !found.has(name));
    this.#suspicions.settle(texts, unread);
    onCondition?.({ ...conditionOf(segments, found), suspected: this.#suspicions.texts.length });
    return found.size;
  }

  /** Undefined when it could not be read now, or was removed meanwhile. */
  async #judge({ info, damage: before }: ScrubbedSegment): Promise<SegmentScrub | undefined> {
    const { lakeDir, logger } = this.#options;
    const { segmentId } = info;
    try {
      const found = await readChecksums(lakeDir, info);
      const damage = damageOf(info, found);
      if (damage !== undefined && before === undefined) {
        const isMissing = isMissingNote(damage);
        const code = isMissing ? "store_corrupt" : "data_corrupt";
        const what = isMissing ? "lacks a file" : "is damaged";
        logger.error({ segment: segmentId, code }, `a segment ${what}: ${damage}`);
      }
      if (damage === undefined && before !== undefined) {
        logger.info({ segment: segmentId }, "a segment is sound again");
      }
      const isNew = info.checksums === undefined && damage === undefined;
      return { segmentId, checksums: isNew ? found : undefined, damage };
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ segment: segmentId }, `a segment was not verified: ${messageOf(thrown)}`);
      return undefined;
    }
  }
}

/** The checksums of the files as they are; a missing file has none. */
export async function readChecksums(
  lakeDir: string,
  info: Pick<SegmentInfo, "path" | "histogramCount">,
): Promise<SegmentChecksums> {
  const found: Partial<Record<SegmentFile, number>> = {};
  for (const name of filesOf(info)) {
    try {
      found[name] = await checksumFile(join(lakeDir, info.path, segmentFileNames[name]));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    }
  }
  return found;
}

/** Undefined when the segment is sound, as far as its checksums are known. */
export function damageOf(
  info: Pick<SegmentInfo, "checksums" | "histogramCount">,
  found: SegmentChecksums,
): string | undefined {
  for (const name of filesOf(info)) {
    const [was, is] = [info.checksums?.[name], found[name]];
    const file = segmentFileNames[name];
    if (is === undefined) return `${file}${missingNote}`;
    if (was !== undefined && was !== is) {
      return `the checksum of ${file} is ${show(is)}, it was ${show(was)}`;
    }
  }
  return undefined;
}

/** The names of its files, with their checksums where known. */
export function segmentFilesOf(
  info: Pick<SegmentInfo, "checksums" | "histogramCount">,
): readonly { readonly name: string; readonly crc32: number | undefined }[] {
  return filesOf(info).map((file) => ({
    name: segmentFileNames[file],
    crc32: info.checksums?.[file],
  }));
}

function filesOf({ histogramCount }: Pick<SegmentInfo, "histogramCount">): readonly SegmentFile[] {
  return histogramCount > 0 ? ["series", "samples", "histograms"] : ["series", "samples"];
}

function show(crc32: number): string {
  return crc32.toString(16).padStart(8, "0");
}

function conditionOf(
  segments: readonly ScrubbedSegment[],
  found: ReadonlyMap<string, SegmentScrub>,
): Omit<SegmentsCondition, "suspected"> {
  const damaged: { segmentId: string; damage: string }[] = [];
  let unverified = 0;
  for (const { info, damage: before } of segments) {
    const judged = found.get(info.segmentId);
    const damage = judged === undefined ? before : judged.damage;
    if (damage !== undefined) damaged.push({ segmentId: info.segmentId, damage });
    if (info.checksums === undefined && judged?.checksums === undefined) unverified += 1;
  }
  return { damaged, unverified, files: segments.length };
}
