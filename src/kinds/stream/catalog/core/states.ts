/**
 * The states of queries and fragments, and which follow which. The store has the same transitions
 * as rows that every query and fragment refers to, so an illegal change fails there, too (SC1).
 */

export const queryStates = [
  "PENDING",
  "DEPLOYING",
  "RUNNING",
  "PAUSED",
  "STOPPING",
  "STOPPED",
  "TERMINATING",
  "TERMINATED",
  "FAILED",
] as const;
export type QueryState = (typeof queryStates)[number];

export const fragmentStates = [
  "PENDING",
  "REGISTERED",
  "STARTED",
  "RUNNING",
  "STOPPED",
  "TERMINATED",
  "FAILED",
] as const;
export type FragmentState = (typeof fragmentStates)[number];

/** What a query is wanted to be. */
export const desiredStates = ["RUNNING", "PAUSED", "STOPPED"] as const;
export type DesiredState = (typeof desiredStates)[number];

export const stopModes = ["SOFT", "HARD"] as const;
export type StopMode = (typeof stopModes)[number];

/** The state of a row before it was there. */
export const noState = "NONE";

type Transitions<State extends string> = Readonly<Record<State | typeof noState, readonly State[]>>;

export const queryTransitions: Transitions<QueryState> = {
  NONE: ["PENDING"],
  PENDING: ["DEPLOYING", "STOPPING", "TERMINATING"],
  DEPLOYING: ["RUNNING", "STOPPING", "TERMINATING"],
  RUNNING: ["DEPLOYING", "STOPPING", "TERMINATING", "TERMINATED"],
  PAUSED: ["PENDING", "STOPPING"],
  STOPPING: ["STOPPED", "PAUSED"],
  STOPPED: [],
  TERMINATING: ["FAILED", "STOPPING"],
  TERMINATED: ["STOPPING"],
  FAILED: ["STOPPING"],
};

export const fragmentTransitions: Transitions<FragmentState> = {
  NONE: ["PENDING"],
  PENDING: ["REGISTERED", "STARTED", "RUNNING", "STOPPED", "TERMINATED", "FAILED"],
  REGISTERED: ["STARTED", "RUNNING", "STOPPED", "TERMINATED", "FAILED", "PENDING"],
  STARTED: ["RUNNING", "STOPPED", "TERMINATED", "FAILED", "PENDING"],
  RUNNING: ["STOPPED", "TERMINATED", "FAILED", "PENDING"],
  STOPPED: ["PENDING"],
  TERMINATED: ["PENDING"],
  FAILED: ["PENDING"],
};

/** Whether a fragment has ended: it is on no worker any more and holds no slot. */
export function hasEnded(state: FragmentState): boolean {
  return state === "STOPPED" || state === "TERMINATED" || state === "FAILED";
}
