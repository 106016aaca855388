/** The main statement about a run. Pure. */

import type { RunSummary, TestDetail } from "../../../api/gen/types.ts";
import { isUnderWay } from "../../../api/load.ts";
import { plural } from "../../../format.ts";

export interface Verdict {
  readonly kind: "pass" | "doubtful" | "fail" | "stopped" | "none";
  readonly title: string;
  readonly sentence: string;
}

type Ended = Pick<
  TestDetail,
  "status" | "stop_reason" | "cancellation_reason" | "total_operations"
>;

export function verdictOf(
  run: Ended,
  summary: Pick<RunSummary, "verdict" | "slos" | "reasons" | "warnings" | "generator_bound">,
): Verdict {
  const { verdict, slos, reasons: failures } = summary;
  const reason = run.cancellation_reason ?? reasons[run.stop_reason ?? ""] ?? "";
  if (run.status === "PREPARED") {
    return { kind: "none", title: "Not started", sentence: "It is prepared, and was not started." };
  }
  if (isUnderWay(run.status)) {
    return { kind: "none", title: "Under way", sentence: "Its figures are not final." };
  }
  if (run.status === "FAILED") {
    const sentence = reason === "" ? "The run failed; its log says more." : reason;
    return { kind: "fail", title: "The run failed", sentence };
  }
  if (run.status === "CANCELLED") {
    const measured =
      run.total_operations === 0
        ? "Nothing had been measured by then."
        : "Figures are of what was measured until then.";
    const title = "Stopped before its end";
    return { kind: "stopped", title, sentence: [reason, measured].filter(Boolean).join(". ") };
  }
  if (verdict === "PASSED") {
    const kept =
      slos.length === 1 ? "Its objective is met." : `All ${slos.length} objectives are met.`;
    if (!summary.generator_bound) return { kind: "pass", title: "Passed", sentence: kept };
    const doubt = summary.warnings[0] ?? "The load generator was saturated.";
    const sentence = `${kept} ${doubt}`;
    return { kind: "doubtful", title: "Passed, with a reservation", sentence };
  }
  const missed = slos.filter(({ state }) => state === "MISSED");
  const broken = failures.filter((text) => !missed.some((each) => each.text === text));
  if (verdict === "FAILED" && broken.length > 0) {
    return { kind: "fail", title: "Failed", sentence: `${sentenceOf(broken[0])}.` };
  }
  if (verdict === "FAILED") {
    const sentence = `${missed.length} of ${plural(slos.length, "objective")} ${missed.length === 1 ? "is" : "are"} missed.`;
    return { kind: "fail", title: "Failed", sentence };
  }
  if (run.total_operations === 0) {
    const sentence = "Not one operation was answered while it measured; its log says more.";
    return { kind: "fail", title: "Nothing was measured", sentence };
  }
  return {
    kind: "none",
    title: "No verdict",
    sentence: "Its template has no objectives: give it some (slos: p95 < 20 ms) to get one.",
  };
}

function sentenceOf(text = ""): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Used when the run gives no reason. */
const reasons: Readonly<Record<string, string>> = {
  user_requested: "Somebody stopped it",
  guardrail: "A guardrail stopped it",
  worker_failure: "Too few of its workers were left",
};
