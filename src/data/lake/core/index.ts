/** The lake's model, ports and pure decisions. */

export type * from "./catalog.ts";
export type * from "./change-feed.ts";
export type { FileFacts } from "./check-file-facts.ts";
export type { ReferencedFile } from "./check-files.ts";
export type { LakeField } from "./column-types.ts";
export type * from "./commit.ts";
export {
  type Compaction,
  decideLakeUpkeep,
  isOrphan,
  type LiveFile,
  type OrphanFacts,
  type ScheduledFile,
  type UpkeepDecision,
  type UpkeepFacts,
  type UpkeepLimits,
  upkeepLimitsDefault,
} from "./decide-upkeep.ts";
export { MissingFile } from "./missing-file.ts";
export type * from "./model.ts";
export type * from "./object-store.ts";
export type { LakeRows } from "./rows.ts";
