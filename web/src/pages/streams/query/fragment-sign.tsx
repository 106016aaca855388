/** A fragment's state as a sign and a word. */
import {
  IconCircle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconFlag,
  IconHourglassEmpty,
  IconPlayerStop,
} from "@tabler/icons-react";
import type { StreamFragmentState } from "../../../api/gen/types.ts";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";

const signs: Readonly<Record<StreamFragmentState, Sign>> = {
  PENDING: { word: "Pending", tone: "warn", icon: IconHourglassEmpty },
  REGISTERED: { word: "Registered", tone: "accent", icon: IconCircle },
  STARTED: { word: "Started", tone: "accent", icon: IconCircleDashed },
  RUNNING: { word: "Running", tone: "good", icon: IconCircleCheck },
  STOPPED: { word: "Stopped", tone: "dim", icon: IconPlayerStop },
  TERMINATED: { word: "Ended", tone: "dim", icon: IconFlag },
  FAILED: { word: "Failed", tone: "bad", icon: IconCircleX },
};

export function FragmentSign({ state }: { readonly state: StreamFragmentState }) {
  return <StateSign sign={signs[state]} />;
}

export function fragmentWord(state: StreamFragmentState): string {
  return signs[state].word;
}

export function FragmentIcon({ state }: { readonly state: StreamFragmentState }) {
  const { icon: Icon, tone } = signs[state];
  return <Icon size={16} className={`tone-${tone}`} />;
}
