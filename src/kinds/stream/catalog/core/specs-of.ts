/** What a worker is told of the fragments of a query that it is to run. */
import {
  type FragmentedPlan,
  type FragmentSpec,
  type RestoredFragment,
  specOf,
  stagesOf,
} from "../../run/core/index.ts";
import type { StoredPlan } from "./stored-plan.ts";
import type { FragmentRow } from "./tables.ts";

export interface WorkerSpecs {
  readonly plan: StoredPlan;
  /** Of all workers. */
  readonly fragments: readonly Pick<FragmentRow, "fragment" | "worker_id">[];
  readonly worker: string;
  /** The exchange port of another worker. */
  readonly addressOf: (workerId: string) => string;
  /** What a checkpoint has of the fragments, by name. */
  readonly restored?: ReadonlyMap<string, RestoredFragment>;
}

/** The fragments of this worker, in the order of the plan. */
export function specsOf({
  plan: stored,
  fragments: rows,
  worker,
  addressOf,
  restored,
}: WorkerSpecs): readonly FragmentSpec[] {
  const workers = new Map(rows.map(({ fragment, worker_id }) => [fragment, worker_id]));
  const stages = new Map(stagesOf(stored.plan).map((stage) => [stage.id, stage]));
  const cut: FragmentedPlan = {
    plan: stored.plan,
    fragments: stored.fragments.flatMap(({ name, stage: id, lane }) => {
      const stage = stages.get(id);
      return stage === undefined ? [] : [{ name, stage, lane }];
    }),
  };
  const own = cut.fragments.filter(({ name }) => workers.get(name) === worker);
  // Lanes that other workers have would leave threads of this one without work.
  const lanes = [...new Set(own.map(({ lane }) => lane))].sort((one, other) => one - other);
  return own.map((fragment) => ({
    ...specOf(cut, fragment, {
      restored: restored?.get(fragment.name),
      keepsState: true,
      addressOf: ({ name }) => {
        const other = workers.get(name) ?? worker;
        return other === worker ? undefined : addressOf(other);
      },
    }),
    lane: lanes.indexOf(fragment.lane),
  }));
}
