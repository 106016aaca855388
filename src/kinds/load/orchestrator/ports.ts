/** What the orchestrator needs from others. */
import type { RunId } from "../core/ids.ts";
import type { Scenario, TargetConfig } from "../core/scenario.ts";
import type { StatementFigures, Target } from "../core/target.ts";
import type { RecordedPercentiles } from "../store/finalize-run.ts";

/** Opens what is under test. `password`: as it is; nobody keeps it. */
export type TargetFactory = (
  config: TargetConfig,
  password: string | null,
  queryTag: string,
) => Promise<Target>;

export interface EnrichmentPoll {
  /** Of the run's recorded queries, those that the server has told of; 0 to 1. */
  readonly ratio: number;
  /** Of those: what was spent outside of the server. Milliseconds. */
  readonly overhead?: { readonly p50: number; readonly p95: number; readonly p99: number };
}

/** The lake's records of a run, and what the server adds to them. */
export interface RunRecords {
  /** Of MEASUREMENT; `undefined`: there are none. */
  percentiles(runId: RunId, signal: AbortSignal): Promise<RecordedPercentiles | undefined>;
  /** Asks the server once, and writes down what it says. Only for targets with `perQuery`. */
  enrich(
    run: { readonly runId: RunId; readonly scenario: Scenario; readonly queryTag: string },
    target: Target,
    signal: AbortSignal,
  ): Promise<EnrichmentPoll>;
  /** Of runs that are to be deleted. Idempotent. */
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
