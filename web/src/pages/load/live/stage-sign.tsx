/** A run's stage as a sign and a word. */
import {
  IconActivity,
  IconCircleDashed,
  IconFlag,
  IconFlame,
  IconLoader2,
  IconPlayerStop,
} from "@tabler/icons-react";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";
import type { RunStage } from "./run-stage.ts";

const signs: Readonly<Record<RunStage, Sign>> = {
  prepared: { word: "Prepared", tone: "dim", icon: IconCircleDashed },
  starting: { word: "Starting", tone: "accent", icon: IconLoader2 },
  warming: { word: "Warm-up", tone: "warn", icon: IconFlame },
  measuring: { word: "Running", tone: "good", icon: IconActivity },
  stopping: { word: "Stopping", tone: "accent", icon: IconPlayerStop },
  cancelling: { word: "Cancelling", tone: "warn", icon: IconPlayerStop },
  processing: { word: "Processing", tone: "accent", icon: IconLoader2 },
  ended: { word: "Ended", tone: "dim", icon: IconFlag },
};

export function StageSign({ stage }: { readonly stage: RunStage }) {
  return (
    <StateSign sign={signs[stage]} spinning={stage === "starting" || stage === "processing"} />
  );
}
