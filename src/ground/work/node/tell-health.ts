/**
 * Reports unhealthy parts of this worker to coordinators as facts, and keeps work away while a
 * vital one has failed (WN4).
 */
import { type HealthBoard, partFactKey, showPartFact } from "../../kernel/health.ts";
import type { WorkerNode } from "./worker-node.ts";

/** Call the result to stop. */
export function tellHealth(
  board: HealthBoard,
  node: Pick<WorkerNode, "setBlocked"> & {
    readonly endpoint: Pick<WorkerNode["endpoint"], "setFact" | "unsetFact">;
  },
): () => void {
  let told = new Set<string>();
  const tell = (): void => {
    const unwell = board.parts().filter(({ state }) => state !== "ok");
    const names = new Set(unwell.map(({ name }) => name));
    for (const name of told.difference(names)) node.endpoint.unsetFact(partFactKey(name));
    for (const part of unwell) node.endpoint.setFact(partFactKey(part.name), showPartFact(part));
    told = names;
    node.setBlocked(board.blocker() !== undefined);
  };
  tell();
  return board.onChange(tell);
}
