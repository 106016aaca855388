/** The lake's model, ports and pure decisions. */

export type * from "./catalog.ts";
export type * from "./change-feed.ts";
export type { ReferencedFile } from "./check-files.ts";
export type * from "./commit.ts";
export {
  type Compaction,
  decideLakeUpkeep,
  isOrphan,
  type UpkeepDecision,
  type UpkeepLimits,
  upkeepLimitsDefault,
} from "./decide-upkeep.ts";
export { MissingFile } from "./missing-file.ts";
export type * from "./model.ts";
export type * from "./object-store.ts";
export type { LakeRows } from "./rows.ts";
