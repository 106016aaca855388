/** The state of a run, and of its objectives, each as a sign and a word. */
import {
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconLoader2,
  IconPlayerStop,
  IconTargetArrow,
} from "@tabler/icons-react";
import type { RunStatus, TestResult } from "../../../api/gen/types.ts";
import { isUnderWay } from "../../../api/load.ts";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";
import { unknown } from "../../../format.ts";

const statuses: Readonly<Record<RunStatus, Sign>> = {
  PREPARED: { word: "Not started", tone: "dim", icon: IconCircleDashed },
  RUNNING: { word: "Running", tone: "accent", icon: IconLoader2 },
  STOPPING: { word: "Stopping", tone: "accent", icon: IconPlayerStop },
  CANCELLING: { word: "Cancelling", tone: "warn", icon: IconPlayerStop },
  COMPLETED: { word: "Completed", tone: "good", icon: IconCircleCheck },
  FAILED: { word: "Failed", tone: "bad", icon: IconCircleX },
  CANCELLED: { word: "Cancelled", tone: "warn", icon: IconBan },
};

export function RunStatusSign({ status }: { readonly status: RunStatus }) {
  return <StateSign sign={statuses[status]} spinning={status === "RUNNING"} />;
}

/**
 * For a run that has ended. Without objectives there is no verdict, unless the run broke a limit of
 * every run.
 */
export function ObjectivesSign({
  run,
}: {
  readonly run: Pick<
    TestResult,
    "status" | "slo_result" | "total_operations" | "verdict" | "generator_bound"
  >;
}) {
  const objectives = run.slo_result ?? [];
  if (run.verdict === "FAILED" && objectives.every(({ state }) => state === "MET")) {
    return <StateSign sign={{ word: "Failed", tone: "bad", icon: IconCircleX }} />;
  }
  const hasFigures = !isUnderWay(run.status) && run.total_operations > 0;
  if (!hasFigures || objectives.length === 0) {
    return <span className="dim">{unknown}</span>;
  }
  const missed = objectives.filter(({ state }) => state === "MISSED").length;
  if (missed === 0 && run.generator_bound) {
    return (
      <StateSign sign={{ word: "Met, with a reservation", tone: "warn", icon: IconTargetArrow }} />
    );
  }
  if (missed === 0) {
    return <StateSign sign={{ word: "Met", tone: "good", icon: IconTargetArrow }} />;
  }
  const word = objectives.length === 1 ? "Missed" : `${missed} of ${objectives.length} missed`;
  return <StateSign sign={{ word, tone: "bad", icon: IconCircleX }} />;
}
