/**
 * What a worker may claim by itself at the moment. Work that is assigned to it needs no such table:
 * what fails here for the worker's own reasons is tried on another one.
 */
import type { HealthBoard } from "../../kernel/health.ts";

/** The parts of this worker (`HealthBoard`) without which such work would only fail. */
const needs = {
  refreshes: ["data_dir", "disk", "engine"],
  /** A load worker has no engine of this worker's; its log and its records need the disk. */
  load: ["data_dir", "disk"],
} as const satisfies Record<string, readonly string[]>;

/** N5 */
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
