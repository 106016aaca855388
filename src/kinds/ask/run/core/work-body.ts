/**
 * The body of a `promql` work: one leaf, or one label query, over one shard of the series. It names
 * everything that it reads, so that executing it again, anywhere, reads the same.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { HeadSnapshot, SegmentChecksums, SegmentInfo } from "../../metrics/core/index.ts";
import type { BaseExpr, Matcher } from "../../promql/core/index.ts";
import { parseExact, stringifyExact } from "./exact-numbers.ts";

export const promqlWorkKind = "promql";
/** Work of rehearsals: the same, counted apart. */
export const promqlRehearsalKind = "promql_rehearsal";

/** The version of the body's format. A worker of another version refuses it. */
const bodyVersion = 1;

/** What a work reads: the shard's series in these segments, and in the head at its snapshot. */
export interface WorkScope {
  readonly shard: number;
  /** A power of two. */
  readonly shardCount: number;
  readonly segments: readonly SegmentInfo[];
  readonly head: HeadScope | undefined;
}

export interface HeadScope {
  readonly snapshot: HeadSnapshot;
  /**
   * Samples after `minMs` up to `maxMs`. All leaves of the query with the same matchers have the
   * same range, so that they share one pull.
   */
  readonly minMs: number;
  readonly maxMs: number;
}

export interface LeafWork extends WorkScope {
  readonly op: "leaf";
  readonly leaf: BaseExpr;
  readonly samplesMax: number;
  readonly labelBytesMax?: number;
}

/**
 * Lists series, label names, or the values of one label, of series with samples in the time range.
 */
export interface LabelsWork extends WorkScope {
  readonly op: "series" | "names" | "values";
  /** A series has to match at least one set. Without sets every series matches. */
  readonly matcherSets: readonly (readonly Matcher[])[];
  /** The label for `values`. */
  readonly label: string;
  readonly startMs: number;
  readonly endMs: number;
  /** 0 means no limit. */
  readonly limit: number;
}

export type PromqlWork = LeafWork | LabelsWork;

export function encodeWork(work: PromqlWork): string {
  const { segments, ...rest } = work;
  return stringifyExact({ v: bodyVersion, ...rest, segments: segments.map(tupleOf) });
}

/** Throws `bad_request` for a body that this version does not understand. */
export function parseWork(body: string): PromqlWork {
  let parsed: unknown;
  try {
    parsed = parseExact(body);
  } catch {
    throw refused("it is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null) throw refused("it is not an object");
  const { v, segments, ...rest } = parsed as Record<string, unknown>;
  if (v !== bodyVersion) throw refused(`it has version ${String(v)} instead of ${bodyVersion}`);
  if (!Array.isArray(segments)) throw refused("it lists no segments");
  const work = { ...rest, segments: segments.map(segmentOf) } as unknown as PromqlWork;
  checkScope(work);
  return work;
}

/** Metric names are not sent: they only served to choose the segment. */
type SegmentTuple = readonly [
  segmentId: string,
  path: string,
  seq: number,
  level: number,
  minTs: number,
  maxTs: number,
  shardCount: number,
  shard: number,
  seriesCount: number,
  sampleCount: number,
  histogramCount: number,
  sizeBytes: number,
  sealSeq: number,
  /**
   * The checksums of series, samples and histograms, if known. An older version sends none and
   * ignores them.
   */
  checksums: readonly (number | null)[],
];

function tupleOf(info: SegmentInfo): SegmentTuple {
  const { segmentId, path, seq, level, minTs, maxTs, shardCount, shard } = info;
  const { seriesCount, sampleCount, histogramCount, sizeBytes, sealSeq, checksums } = info;
  return [
    ...([segmentId, path, seq, level, minTs, maxTs, shardCount, shard] as const),
    ...([seriesCount, sampleCount, histogramCount, sizeBytes, sealSeq] as const),
    checksums === undefined ? [] : checksumsOf(checksums),
  ];
}

const checkedFiles = ["series", "samples", "histograms"] as const;

function checksumsOf(checksums: SegmentChecksums): readonly (number | null)[] {
  return checkedFiles.map((file) => checksums[file] ?? null);
}

function parseChecksums(listed: unknown): { readonly checksums?: SegmentChecksums } {
  if (!Array.isArray(listed) || listed.length === 0) return {};
  const known = checkedFiles.flatMap((file, at) => {
    const crc: unknown = listed[at];
    return typeof crc === "number" ? [[file, crc] as const] : [];
  });
  return { checksums: Object.fromEntries(known) };
}

function segmentOf(tuple: unknown): SegmentInfo {
  if (!Array.isArray(tuple) || tuple.length < 13) throw refused("a segment is not described");
  const [segmentId, path, seq, level, minTs, maxTs, shardCount, shard] =
    tuple as never as SegmentTuple;
  const [seriesCount, sampleCount, histogramCount, sizeBytes, sealSeq] = tuple.slice(8) as number[];
  // A path from outside must not leave the lake's directory.
  if (typeof path !== "string" || path.startsWith("/") || path.split("/").includes("..")) {
    throw refused("a segment lies outside of the lake");
  }
  return {
    segmentId,
    path,
    seq,
    level,
    minTs,
    maxTs,
    shardCount,
    shard,
    seriesCount: seriesCount as number,
    sampleCount: sampleCount as number,
    histogramCount: histogramCount as number,
    sizeBytes: sizeBytes as number,
    sealSeq: sealSeq as number,
    metricNames: undefined,
    ...parseChecksums(tuple[13]),
  };
}

function checkScope(work: PromqlWork): void {
  const { op, shard, shardCount } = work;
  if (!["leaf", "series", "names", "values"].includes(op)) throw refused(`what is ${String(op)}?`);
  const isShard = Number.isInteger(shard) && shard >= 0 && shard < shardCount;
  if (!isShard) throw refused(`shard ${shard} of ${shardCount} is none`);
}

function refused(why: string): OperatingError {
  const message = `this worker does not understand a promql work: ${why}`;
  return new OperatingError("bad_request", "never", message);
}
