/** PASS or FAIL, each objective, and reasons for doubt. */
import {
  IconAlertTriangle,
  IconBan,
  IconCircleCheck,
  IconCircleX,
  IconHelpCircle,
  IconTargetArrow,
} from "@tabler/icons-react";
import type { Objective, RunSummary, TestDetail } from "../../../api/gen/types.ts";
import { type Verdict, verdictOf } from "./verdict-of.ts";

const icons: Readonly<Record<Verdict["kind"], typeof IconCircleCheck>> = {
  pass: IconCircleCheck,
  doubtful: IconAlertTriangle,
  fail: IconCircleX,
  stopped: IconBan,
  none: IconTargetArrow,
};

interface VerdictCardProps {
  readonly run: TestDetail;
  readonly summary: RunSummary;
}

export function VerdictCard({ run, summary }: VerdictCardProps) {
  const { kind, title, sentence } = verdictOf(run, summary);
  const Icon = icons[kind];
  const objectives = new Set(summary.slos.map(({ text }) => text));
  const broken = summary.reasons.filter((text) => !objectives.has(text));
  // The sentence has already covered some of them.
  const notes = [...summary.allowances, ...summary.warnings].filter(
    (note) => !sentence.includes(note),
  );
  return (
    <section className="card verdict" data-verdict={kind} aria-label="Verdict">
      <div className="verdict-head">
        <Icon size={26} stroke={1.8} className="verdict-icon" aria-hidden="true" />
        <div>
          <strong className="verdict-title">{title}</strong>
          <span className="verdict-sentence">{sentence}</span>
        </div>
      </div>
      {summary.slos.length > 0 && (
        <ul className="objectives" aria-label="Objectives">
          {summary.slos.map((objective) => (
            <ObjectiveLine
              key={`${objective.of} ${objective.metric} ${objective.limit}`}
              objective={objective}
            />
          ))}
        </ul>
      )}
      {broken.length > 0 && (
        <ul className="objectives" aria-label="Limits">
          {broken.map((text) => (
            <li key={text} data-state="MISSED">
              <IconCircleX size={15} className="tone-bad" aria-label="Broken" /> {text}
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <ul className="run-warnings" aria-label="Warnings">
          {notes.map((warning) => (
            <li key={warning}>
              <IconAlertTriangle size={15} className="tone-warn" aria-label="Warning" /> {warning}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ObjectiveLine({ objective: { state, text } }: { readonly objective: Objective }) {
  const Icon = { MET: IconCircleCheck, MISSED: IconCircleX, NO_DATA: IconHelpCircle }[state];
  const tone = { MET: "good", MISSED: "bad", NO_DATA: "dim" }[state];
  const word = { MET: "Met", MISSED: "Missed", NO_DATA: "No data" }[state];
  return (
    <li data-state={state}>
      <Icon size={15} className={`tone-${tone}`} aria-label={word} /> {text}
    </li>
  );
}
