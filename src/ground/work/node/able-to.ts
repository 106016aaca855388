/**
 * What a worker may claim by itself at the moment. Assigned work needs no such table, because it is
 * tried on another worker when it fails for this worker's reasons.
 */
import type { HealthBoard } from "../../kernel/health.ts";

/** The parts of this worker (`HealthBoard`) that each kind of work needs. */
const needs = {
  refreshes: ["data_dir", "disk", "engine"],
  /** A load worker does not use this worker's engine; its log and records need the disk. */
  load: ["data_dir", "disk"],
} as const satisfies Record<string, readonly string[]>;

/** WN5 */
export function isAbleTo(
  kind: keyof typeof needs,
  board: Pick<HealthBoard, "parts">,
  node: { readonly takesWork: boolean },
): boolean {
  const needed: readonly string[] = needs[kind];
  const lacks = board
    .parts()
    .some(({ name, state }) => state === "failed" && needed.includes(name));
  return node.takesWork && !lacks;
}
