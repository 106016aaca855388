/** The catalog for other cores. */
export {
  type DesiredState,
  type FragmentState,
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
