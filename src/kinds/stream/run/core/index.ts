/** What other cores see of running queries. */
export type { Prepared } from "./checkpoint-record.ts";
export { CheckpointRound } from "./checkpoint-round.ts";
export { pinOf } from "./lake-position.ts";
export { lakeTableOf } from "./lake-types.ts";
export {
  checkManifest,
  type Manifest,
  type ManifestFragment,
  manifestVersion,
} from "./manifest.ts";
export {
  type FragmentedPlan,
  fragmentsOf,
  type PlanFragment,
  specOf,
  stagesOf,
  wholeFragment,
} from "./plan-fragments.ts";
export type { FragmentProgress, SlowestEntry } from "./progress.ts";
export type {
  EncodedFragment,
  FarEnd,
  FragmentEvents,
  FragmentSpec,
  QueryRun,
  RestoredFragment,
  StreamHost,
} from "./stream-host.ts";
export type { AskedRows, SystemCalls, SystemRows } from "./system-rows.ts";
