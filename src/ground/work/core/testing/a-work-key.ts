import type { LeafId, QueryId, WorkId } from "../../../kernel/ids.ts";
import type { WorkKey } from "../assignment/index.ts";

/** For tests to which the artifact's work does not matter. */
export const aWorkKey: WorkKey = {
  queryId: "q-1" as QueryId,
  leafId: "0" as LeafId,
  workId: "0" as WorkId,
};
