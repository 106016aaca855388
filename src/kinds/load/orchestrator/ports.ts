/** Ports of the orchestrator. */
import type { RunId } from "../core/ids.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { Scenario, TargetConfig } from "../core/scenario.ts";
import type { StatementFigures, Target } from "../core/target.ts";
import type { RecordedPercentiles } from "../store/finalize-run.ts";
import { queryTagOf } from "../store/result-rows.ts";
import { passwordOf } from "./seal.ts";

/** Opens the target. `password` is plain text and is not kept. */
export type TargetFactory = (
  config: TargetConfig,
  password: string | null,
  queryTag: string,
) => Promise<Target>;

/** The target of a run, as its statements are sent. */
export async function openRunTarget(
  { runId, scenario, targetSecret }: Pick<RunRecord, "runId" | "scenario" | "targetSecret">,
  { openTarget, clusterToken }: { openTarget: TargetFactory; clusterToken: string },
): Promise<Target> {
  const password = passwordOf({ runId, targetSecret }, clusterToken);
  return await openTarget(scenario.target, password, queryTagOf(runId));
}

export interface EnrichmentPoll {
  /** The share of the run's recorded queries that the server has described, from 0 to 1. */
  readonly ratio: number;
  /** Their latency outside the server, in milliseconds. */
  readonly overhead?: { readonly p50: number; readonly p95: number; readonly p99: number };
}

/** The lake's records of a run, and what the server adds to them. */
export interface RunRecords {
  /** Percentiles of MEASUREMENT. Undefined when there are no records. */
  percentiles(runId: RunId, signal: AbortSignal): Promise<RecordedPercentiles | undefined>;
  /** Asks the server once, and writes down what it says. Only for targets with `perQuery`. */
  enrich(
    run: { readonly runId: RunId; readonly scenario: Scenario; readonly queryTag: string },
    target: Target,
    signal: AbortSignal,
  ): Promise<EnrichmentPoll>;
  /** Removes the records of runs that are to be deleted. Idempotent. */
  remove(runIds: readonly string[], signal: AbortSignal): Promise<void>;
}

/** The statements' figures between two moments: what was counted since. */
export function statementsSince(
  after: readonly StatementFigures[],
  before: readonly StatementFigures[],
): readonly StatementFigures[] {
  const earlier = new Map(before.map((each) => [each.text, each]));
  return after
    .map((each) => {
      const was = earlier.get(each.text);
      return {
        text: each.text,
        calls: each.calls - (was?.calls ?? 0),
        totalMs: each.totalMs - (was?.totalMs ?? 0),
        rows: each.rows - (was?.rows ?? 0),
      };
    })
    .filter(({ calls }) => calls > 0);
}
