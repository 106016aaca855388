/**
 * Plans the catalog rows of a commit from its changes and the current rows. Pure: the rows are
 * written in the transaction that read the facts. Conflicts: LK7.
 */
import type { Commit } from "./commit.ts";
import { type CommitPlan, CommitPlanner } from "./commit-planner.ts";
import type { CommitFacts } from "./commit-rows.ts";
import { planDefinition } from "./plan-definition.ts";
import { planRowChange } from "./plan-row-change.ts";

export function planCommit(commit: Commit, facts: CommitFacts): CommitPlan {
  const planner = new CommitPlanner(commit, facts);
  for (const change of commit.changes) {
    if (change.kind === "changeRows") planRowChange(planner, change);
    else planDefinition(planner, change);
  }
  return planner.finish();
}
