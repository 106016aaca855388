/**
 * What a query does at this moment, as the API shows it: its fragments and the edges between them
 * with their rates, its checkpoints, and what holds its watermark back. It is made from the rows of
 * the catalog and from what workers have told. Rules: SD60 to SD63. Pure.
 */
import type { FragmentState, StoredPlan } from "../../catalog/core/index.ts";
import { explainPlan, type PlanNode, type Stage } from "../../language/core/index.ts";
import { stagesOf } from "../../run/core/index.ts";
import { findHeldBack, type HeldBackBody } from "./held-back.ts";
import { type LiveFragment, rowsInOf, rowsOutOf } from "./live-figures.ts";

export interface LiveFragmentBody {
  readonly fragment: string;
  readonly worker_id: string;
  readonly state: FragmentState;
  readonly operators: readonly string[];
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly rows_in: number | null;
  readonly rows_out: number | null;
  readonly rows_in_per_second: number | null;
  readonly rows_out_per_second: number | null;
  readonly bytes_in_per_second: number | null;
  readonly bytes_out_per_second: number | null;
  readonly late_rows: number | null;
  readonly malformed_rows: number | null;
  readonly state_bytes: number | null;
  readonly watermark_ms: number | null;
  readonly watermark_lag_ms: number | null;
  readonly busy_ratio: number | null;
  readonly backpressure_ratio: number | null;
  readonly told_at_ms: number | null;
}

export interface LiveEdgeBody {
  readonly from: string;
  readonly to: string;
  readonly rows_per_second: number | null;
  readonly backlog_bytes: number | null;
  readonly backpressure_ratio: number | null;
  readonly watermark_ms: number | null;
  readonly watermark_lag_ms: number | null;
}

export interface LiveCheckpointBody {
  readonly checkpoint: number;
  readonly epoch: number;
  readonly begun_at_ms: number;
  readonly duration_ms: number;
  readonly bytes: number;
  readonly savepoint: boolean;
}

export interface LiveQueryBody {
  readonly query_id: string;
  readonly epoch: number;
  readonly at_ms: number;
  readonly fragments: readonly LiveFragmentBody[];
  readonly edges: readonly LiveEdgeBody[];
  readonly checkpoints: readonly LiveCheckpointBody[];
  readonly held_back_by: HeldBackBody | null;
}

export interface LiveParts {
  readonly queryId: string;
  readonly epoch: number;
  readonly plan: StoredPlan;
  readonly fragments: readonly {
    readonly fragment: string;
    readonly worker_id: string;
    readonly state: FragmentState;
  }[];
  readonly checkpoints: readonly LiveCheckpointBody[];
  readonly liveOf: (fragment: string) => LiveFragment | undefined;
  readonly nowMs: number;
  readonly wallMs: number;
}

/** In 2001. An earlier watermark is not a wall clock's time but some other number. */
const clockTimesFromMs = 978_307_200_000;

export function describeLive(parts: LiveParts): LiveQueryBody {
  const { queryId, epoch, plan, fragments, checkpoints, liveOf, wallMs } = parts;
  const stages = new Map(stagesOf(plan.plan).map((stage) => [stage.id, stage]));
  const texts = new Map(explainPlan(plan.plan).nodes.map(({ id, text }) => [id, text]));
  const stageOf = new Map(plan.fragments.map(({ name, stage }) => [name, stages.get(stage)]));
  return {
    query_id: queryId,
    epoch,
    at_ms: wallMs,
    fragments: fragments.map((row) => {
      const nodes = stageOf.get(row.fragment)?.nodes ?? [];
      return {
        fragment: row.fragment,
        worker_id: row.worker_id,
        state: row.state,
        operators: nodes.map(({ id }) => texts.get(id) ?? ""),
        ...namesOf(nodes),
        ...figuresBody(liveOf(row.fragment), parts),
      };
    }),
    edges: edgesOf(plan, stageOf).map(([from, to]) => edgeBody(from, to, parts)),
    checkpoints,
    held_back_by: findHeldBack(parts, stageOf) ?? null,
  };
}

function namesOf(nodes: readonly PlanNode[]): { sources: string[]; sinks: string[] } {
  const names = (kind: "source" | "sink"): string[] => [
    ...new Set(nodes.flatMap(({ op }) => (op.kind === kind ? op.name : []))),
  ];
  return { sources: names("source"), sinks: names("sink") };
}

function figuresBody(
  live: LiveFragment | undefined,
  { nowMs, wallMs }: Pick<LiveParts, "nowMs" | "wallMs">,
) {
  const { figures, rates } = live ?? {};
  return {
    rows_in: figures === undefined ? null : rowsInOf(figures),
    rows_out: figures === undefined ? null : rowsOutOf(figures),
    rows_in_per_second: rates?.rowsIn ?? null,
    rows_out_per_second: rates?.rowsOut ?? null,
    bytes_in_per_second: rates?.bytesIn ?? null,
    bytes_out_per_second: rates?.bytesOut ?? null,
    late_rows: figures?.lateRows ?? null,
    malformed_rows: figures?.malformed ?? null,
    state_bytes: figures?.stateBytes ?? null,
    watermark_ms: figures?.watermarkMs ?? null,
    watermark_lag_ms: watermarkLagMs(figures?.watermarkMs, wallMs) ?? null,
    busy_ratio: rates?.busyRatio ?? null,
    backpressure_ratio: rates?.backpressureRatio ?? null,
    told_at_ms: live === undefined ? null : Math.round(wallMs - (nowMs - live.heardMs)),
  };
}

/** How far event time is behind the clock; `undefined` if it is not a clock's time. */
export function watermarkLagMs(
  watermarkMs: number | undefined,
  wallMs: number,
): number | undefined {
  if (watermarkMs === undefined || watermarkMs < clockTimesFromMs) return undefined;
  return Math.max(0, wallMs - watermarkMs);
}

/** The pairs of fragments between which rows flow, each pair once. */
function edgesOf(
  { fragments }: StoredPlan,
  stageOf: ReadonlyMap<string, Stage | undefined>,
): readonly (readonly [from: string, to: string])[] {
  return fragments.flatMap(({ name: from }) => {
    const sends = new Set(stageOf.get(from)?.sends);
    return fragments.flatMap(({ name: to }) => {
      const isReceiver = stageOf.get(to)?.receives.some((exchange) => sends.has(exchange));
      return isReceiver === true ? [[from, to] as const] : [];
    });
  });
}

/** Two exchanges between the same fragments are one edge. */
function edgeBody(from: string, to: string, { liveOf, wallMs }: LiveParts): LiveEdgeBody {
  const live = liveOf(from);
  const told = live?.figures.edges.filter((edge) => edge.to === to) ?? [];
  const rates = live?.rates?.edges.filter((edge) => edge.to === to) ?? [];
  const sumOf = (values: readonly number[]): number | null =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
  const watermarks = told.map(({ watermarkMs }) => watermarkMs);
  const isTold = watermarks.length > 0 && !watermarks.includes(undefined);
  const watermarkMs = isTold ? Math.min(...watermarks.map(Number)) : undefined;
  return {
    from,
    to,
    rows_per_second: sumOf(rates.map(({ rows }) => rows)),
    backlog_bytes: sumOf(told.map(({ backlogBytes }) => backlogBytes)),
    backpressure_ratio:
      rates.length === 0 ? null : Math.max(...rates.map((rate) => rate.backpressureRatio)),
    watermark_ms: watermarkMs ?? null,
    watermark_lag_ms: watermarkLagMs(watermarkMs, wallMs) ?? null,
  };
}
