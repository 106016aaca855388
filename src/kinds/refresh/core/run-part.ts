/** Runs one part of a refresh, from claim to result. Rejects only for our own bugs. */
import { attempt } from "./claim-keeper.ts";
import type { ClaimedWork } from "./claimed-work.ts";
import { failureOf } from "./failure-of.ts";
import type { ClaimedSubtask, SubtaskClaims, SubtaskRunner } from "./refresh-subtasks.ts";

export interface PartPorts {
  readonly claims: SubtaskClaims;
  readonly runner: SubtaskRunner;
}

export function runPart(
  work: ClaimedWork,
  subtask: ClaimedSubtask,
  { claims, runner }: PartPorts,
): Promise<void> {
  return attempt(() => {
    work.signal.throwIfAborted();
    return runner.run(subtask, work.signal);
  })
    .then((result) => {
      work.signal.throwIfAborted();
      return work.insist(() => claims.finish(subtask, result));
    })
    .then(
      (isTaken) => {
        if (!isTaken) work.keeper.lose("when its part was done");
      },
      (thrown: unknown) =>
        work.undone(thrown, "a part of a refresh failed", {
          release: () => claims.release(subtask),
          fail: () => claims.fail(subtask, failureOf(thrown)),
        }),
    );
}
