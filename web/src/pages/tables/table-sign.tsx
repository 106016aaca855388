/** A table's condition as a sign and a word; each sign has a shape of its own. */
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconClockExclamation,
  IconHourglassEmpty,
  IconPlayerPause,
  IconRefresh,
  IconTable,
  IconX,
} from "@tabler/icons-react";
import { type Sign, StateSign } from "../../components/state-sign.tsx";
import type { TableCondition } from "./table-condition.ts";

const signs: Readonly<Record<TableCondition, Sign>> = {
  fresh: { word: "Fresh", tone: "good", icon: IconCircleCheck },
  late: { word: "Late", tone: "warn", icon: IconClockExclamation },
  retrying: { word: "Retrying", tone: "warn", icon: IconAlertTriangle },
  refreshing: { word: "Refreshing", tone: "accent", icon: IconRefresh },
  new: { word: "New", tone: "accent", icon: IconHourglassEmpty },
  suspended: { word: "Suspended", tone: "dim", icon: IconPlayerPause },
  failed: { word: "Failed", tone: "bad", icon: IconX },
};

export function conditionWord(condition: TableCondition): string {
  return signs[condition].word;
}

export function TableSign({ condition }: { readonly condition: TableCondition }) {
  return <StateSign sign={signs[condition]} spinning={condition === "refreshing"} />;
}

/** The sign alone, for use beside the word. `plain` is a table that is not dynamic. */
export function TableIcon({ condition }: { readonly condition: TableCondition | "plain" }) {
  if (condition === "plain") return <IconTable size={16} className="tone-dim" />;
  const { icon: Icon, tone } = signs[condition];
  const spin = condition === "refreshing" ? " spin" : "";
  return <Icon size={16} className={`tone-${tone}${spin}`} />;
}
