/**
 * Which source, or which fragment, holds back the watermark of a query's sinks: the answer to "why
 * is there no output?". From the sink that is most behind the way goes up, by the input that each
 * fragment calls its slowest. Rule: SD62. Pure.
 */
import type { Stage } from "../../language/core/index.ts";
import type { LiveParts } from "./live-body.ts";
import type { LiveFragment } from "./live-figures.ts";

export interface HeldBackBody {
  readonly fragment: string;
  readonly source: string | null;
  readonly watermark_ms: number | null;
  readonly reason: string;
}

/** Rows come, and event time has not moved for this long: it stands still. */
const stillMsMin = 3_000;

/** A fragment that waits for room more than this share of the time reads as fast as it may. */
const backpressureMin = 0.5;

/** `undefined`: the query has no event time, all has ended, or nothing is known. */
export function findHeldBack(
  parts: LiveParts,
  stageOf: ReadonlyMap<string, Stage | undefined>,
): HeldBackBody | undefined {
  const { plan, fragments, liveOf } = parts;
  if (!plan.plan.nodes.some(({ op }) => op.kind === "eventTime")) return undefined;
  const workers = new Map(fragments.map((row) => [row.fragment, row.worker_id]));
  let fragment = slowestWithSink(parts, stageOf);
  const seen = new Set<string>();
  while (fragment !== undefined && !seen.has(fragment)) {
    seen.add(fragment);
    const live = liveOf(fragment);
    const body = { fragment, source: null, watermark_ms: live?.figures.watermarkMs ?? null };
    if (live === undefined) {
      const reason = `${workers.get(fragment) ?? "its worker"} has told nothing of ${fragment} of late`;
      return seen.size === 1 ? undefined : { ...body, reason };
    }
    const { slowest } = live.figures;
    if (slowest?.kind === "source") {
      const reason = reasonOf(slowest.name, live, sourceCount(parts));
      return { ...body, source: slowest.name, reason };
    }
    if (slowest === undefined) {
      if (live.figures.watermarkMs === undefined) return undefined;
      return { ...body, reason: "several sources make its time together" };
    }
    fragment = slowest.fragment;
  }
  return undefined;
}

/** Of the fragments with sinks whose figures are known. */
function slowestWithSink(
  { fragments, liveOf }: LiveParts,
  stageOf: ReadonlyMap<string, Stage | undefined>,
): string | undefined {
  let slowest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const { fragment } of fragments) {
    const live = liveOf(fragment);
    if (live === undefined || !hasSink(stageOf.get(fragment))) continue;
    const watermark = live.figures.watermarkMs ?? Number.NEGATIVE_INFINITY;
    if (live.figures.slowest === undefined || watermark >= least) continue;
    least = watermark;
    slowest = fragment;
  }
  return slowest;
}

function hasSink(stage: Stage | undefined): boolean {
  return stage?.nodes.some(({ op, inputs }) => op.kind === "sink" && inputs.length > 0) === true;
}

function sourceCount({ plan }: LiveParts): number {
  return plan.plan.nodes.filter(({ op }) => op.kind === "source").length;
}

function reasonOf(
  source: string,
  { figures, rates, stillMs }: LiveFragment,
  sources: number,
): string {
  if (figures.rowsIn === 0) return `the source ${source} has given no rows yet`;
  if ((rates?.backpressureRatio ?? 0) > backpressureMin) {
    return `the source ${source} is read slowly, because what follows it has no room`;
  }
  if (rates?.rowsIn === 0) return `the source ${source} gives no rows at the moment`;
  if (figures.watermarkMs === undefined) {
    return `the rows of the source ${source} have not moved time yet`;
  }
  if (stillMs >= stillMsMin) return `the rows of the source ${source} do not move time on`;
  return sources === 1
    ? `time comes from the source ${source} alone`
    : `the source ${source} is behind the other inputs`;
}
