/**
 * What a commit writes into the catalog, from what it says and what is there. Pure: the rows that come out are written in
 * the transaction that read the facts.
 *
 *   LC2 as rows. A table that was dropped since `readSnapshot`: conflict. Rows of a table whose columns changed since:
 *   conflict. A file that ended since, or whose deletes changed since: conflict, for whoever deletes from it, ends it or
 *   compacts it. Rows that others added are no conflict for anyone. A name that is taken is `already_exists`.
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
