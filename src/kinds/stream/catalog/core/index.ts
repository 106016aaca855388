/** The catalog for other cores. */

export { placeAgain, type Replacement, replaceFragments } from "./placement/replace-fragments.ts";

export type {
  OpenedPreview,
  OpenPreview,
  PreviewEnd,
  PreviewEvent,
  PreviewRequest,
} from "./preview.ts";
export { specsOf } from "./specs-of.ts";
export {
  type FragmentState,
  fragmentStates,
  hasEnded,
  type QueryState,
  type StopMode,
} from "./states.ts";
export type { StoredPlan } from "./stored-plan.ts";
export type {
  FragmentRow,
  QueryRow,
} from "./tables.ts";
