/** The catalog for other cores. */
export { findWorker, type NamedWorker } from "./find-worker.ts";
export { placeAgain, type Replacement, replaceFragments } from "./placement/replace-fragments.ts";
export type { FragmentToPlace, Topology, TopologyWorker } from "./planner.ts";
export {
  type OpenedPreview,
  type OpenPreview,
  type PreviewEnd,
  type PreviewEvent,
  type PreviewRequest,
  previewRowsDefault,
} from "./preview.ts";
export { specsOf, type WorkerSpecs } from "./specs-of.ts";
export {
  type DesiredState,
  type FragmentState,
  fragmentStates,
  hasEnded,
  type QueryState,
  type StopMode,
} from "./states.ts";
export {
  fragmentIdOf,
  type StoredFragment,
  type StoredPlan,
  storedPlanVersion,
} from "./stored-plan.ts";
export type {
  FragmentRow,
  LogicalSourceRow,
  PhysicalSourceRow,
  QueryRow,
  SinkRow,
} from "./tables.ts";
