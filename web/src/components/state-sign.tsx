/** A state as a sign and a word; the colour only repeats it. */
import {
  IconBan,
  IconCircleCheck,
  IconCircleMinus,
  IconCirclePlus,
  IconCircleX,
  IconClock,
  IconDoorExit,
  IconLoader2,
  IconPlugConnectedX,
  IconRefresh,
} from "@tabler/icons-react";
import type { ComponentType } from "react";
import type { ConditionChange } from "../api/cluster-state.ts";
import type { QueryState } from "../api/gen/types.ts";

export type Tone = "good" | "warn" | "bad" | "accent" | "dim";
export interface Sign {
  readonly word: string;
  readonly tone: Tone;
  readonly icon: ComponentType<{ size?: number; className?: string }>;
}

const conditions: Readonly<Record<ConditionChange["condition"], Sign>> = {
  active: { word: "Active", tone: "good", icon: IconCircleCheck },
  draining: { word: "Draining", tone: "warn", icon: IconDoorExit },
  unreachable: { word: "Unreachable", tone: "bad", icon: IconPlugConnectedX },
  registered: { word: "Registered", tone: "accent", icon: IconCirclePlus },
  restarted: { word: "Restarted", tone: "accent", icon: IconRefresh },
  dropped: { word: "Dropped", tone: "dim", icon: IconCircleMinus },
};

const queryStates: Readonly<Record<QueryState, Sign>> = {
  queued: { word: "Queued", tone: "warn", icon: IconClock },
  running: { word: "Running", tone: "accent", icon: IconLoader2 },
  done: { word: "Done", tone: "good", icon: IconCircleCheck },
  failed: { word: "Failed", tone: "bad", icon: IconCircleX },
  cancelled: { word: "Cancelled", tone: "dim", icon: IconBan },
};

export function ConditionSign({ condition }: Pick<ConditionChange, "condition">) {
  return <StateSign sign={conditions[condition]} />;
}

export function conditionWord(condition: ConditionChange["condition"]): string {
  return conditions[condition].word;
}

export function QueryStateSign({ state }: { readonly state: QueryState }) {
  return <StateSign sign={queryStates[state]} spinning={state === "running"} />;
}

export function StateSign({
  sign,
  spinning = false,
}: {
  readonly sign: Sign;
  readonly spinning?: boolean;
}) {
  const Icon = sign.icon;
  return (
    <span className="state">
      <Icon size={15} className={`tone-${sign.tone}${spinning ? " spin" : ""}`} />
      {sign.word}
    </span>
  );
}
