/** The stage of a run, as shown to people. Pure. */

import type { RunUpdate } from "../../../api/gen/types.ts";
import { isTerminal } from "../../../api/load.ts";

export type RunStage =
  | "prepared"
  | "starting"
  | "warming"
  | "measuring"
  | "stopping"
  | "cancelling"
  | "processing"
  | "ended";

/**
 * A completed run is stored as PROCESSING; its enrichment shows whether work is still being done.
 */
export function stageOf(run: Pick<RunUpdate, "status" | "phase" | "enrichment_status">): RunStage {
  const { status, phase, enrichment_status: enrichment } = run;
  if (isTerminal(status)) {
    return enrichment === "PENDING" || enrichment === "RUNNING" ? "processing" : "ended";
  }
  if (status === "PREPARED") return "prepared";
  if (status === "STOPPING") return "stopping";
  if (status === "CANCELLING") return "cancelling";
  if (phase === "WARMUP") return "warming";
  if (phase === "MEASUREMENT") return "measuring";
  return phase === "" || phase === "PREPARING" ? "starting" : "stopping";
}

/** The stages that every run goes through, in order. */
export const stages = [
  { stage: "starting", word: "Starting" },
  { stage: "warming", word: "Warm-up" },
  { stage: "measuring", word: "Running" },
  { stage: "stopping", word: "Stopping" },
  { stage: "processing", word: "Processing" },
] as const;

/** The index of the stage; -1 before the first. */
export function stageIndex(stage: RunStage): number {
  if (stage === "prepared") return -1;
  if (stage === "ended") return stages.length;
  const shown = stage === "cancelling" ? "stopping" : stage;
  return stages.findIndex((each) => each.stage === shown);
}
