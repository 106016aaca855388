/** Where a query keeps its checkpoints, and who commits what its sinks prepare. */
import type { Files } from "../../../../ground/kernel/files.ts";
import { randomText } from "../../../../ground/kernel/prng.ts";
import type { Plan } from "../../language/core/index.ts";
import { isLakePlan } from "../core/uses-lake.ts";
import { commitPrepared } from "../lake/commit-prepared.ts";
import { openLakeRecord } from "../lake/lake-record.ts";
import type { StreamLake } from "../lake/stream-lake.ts";
import type { LocalQueryOptions } from "./local-query.ts";

export interface CheckpointPlaceOptions {
  readonly name: string;
  readonly plan: Plan;
  /** Absent where no checkpoints are wanted. */
  readonly directory: string | undefined;
  readonly files: Files;
  readonly lake: StreamLake | undefined;
}

/** A query that uses the lake has its record in the lake's store. */
export async function checkpointPlace(
  options: CheckpointPlaceOptions,
): Promise<Pick<LocalQueryOptions, "checkpoints" | "commit">> {
  const { name, plan, directory, files, lake } = options;
  const own = isLakePlan(plan) ? lake : undefined;
  if (directory !== undefined) {
    const place = { directory, files };
    if (own === undefined) return { checkpoints: place };
    const record = await openLakeRecord({ ...place, lake: own, plan, name });
    return { checkpoints: { ...place, record } };
  }
  if (own === undefined) return { checkpoints: undefined };
  return {
    checkpoints: undefined,
    commit: async (prepared) => {
      if (prepared.size === 0) return;
      const token = `stream-${randomText(own.prng, 24)}`;
      await commitPrepared(own, { prepared, token, message: `rows of ${name}` });
    },
  };
}
