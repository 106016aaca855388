/** A query's condition as a sign and a word; each sign has a shape of its own. */
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashedCheck,
  IconCircleX,
  IconFlag,
  IconHandStop,
  IconHourglassEmpty,
  IconLoader2,
  IconPlayerPause,
  IconPlayerStop,
  IconRefresh,
} from "@tabler/icons-react";
import { type Sign, StateSign } from "../../components/state-sign.tsx";
import type { QueryCondition } from "./query-condition.ts";

const signs: Readonly<Record<QueryCondition, Sign>> = {
  failed: { word: "Failed", tone: "bad", icon: IconCircleX },
  failing: { word: "Failing", tone: "bad", icon: IconAlertTriangle },
  stuck: { word: "Stopping, stuck", tone: "bad", icon: IconHandStop },
  partial: { word: "Partially deployed", tone: "warn", icon: IconCircleDashedCheck },
  redeploying: { word: "Redeploying", tone: "warn", icon: IconRefresh },
  deploying: { word: "Deploying", tone: "accent", icon: IconLoader2 },
  pending: { word: "Pending", tone: "accent", icon: IconHourglassEmpty },
  stopping: { word: "Stopping", tone: "dim", icon: IconPlayerStop },
  paused: { word: "Paused", tone: "dim", icon: IconPlayerPause },
  running: { word: "Running", tone: "good", icon: IconCircleCheck },
  ended: { word: "Ended", tone: "dim", icon: IconFlag },
};

export function conditionWord(condition: QueryCondition): string {
  return signs[condition].word;
}

interface QuerySignProps {
  readonly condition: QueryCondition;
  /** It is over, so it does not move. */
  readonly isStill?: boolean;
}

export function QuerySign({ condition, isStill = false }: QuerySignProps) {
  const isMoving = condition === "deploying" || condition === "redeploying";
  return <StateSign sign={signs[condition]} spinning={isMoving && !isStill} />;
}
