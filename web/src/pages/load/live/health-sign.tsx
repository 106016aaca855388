/** A load worker's health, by its heartbeats: a sign and a word. */
import { IconCircleCheck, IconClockExclamation, IconX } from "@tabler/icons-react";
import type { WorkerHealth } from "../../../api/gen/types.ts";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";

const signs: Readonly<Record<WorkerHealth, Sign>> = {
  HEALTHY: { word: "Healthy", tone: "good", icon: IconCircleCheck },
  STALE: { word: "Silent", tone: "warn", icon: IconClockExclamation },
  DEAD: { word: "Lost", tone: "bad", icon: IconX },
};

export function HealthSign({ health }: { readonly health: WorkerHealth }) {
  return <StateSign sign={signs[health]} />;
}
