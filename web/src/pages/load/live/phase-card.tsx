/** The run's stages, and its two clocks. */
import { formatTimer, readTimers, type Timers } from "./phase-timers.ts";
import { type RunStage, stageIndex, stages } from "./run-stage.ts";
import { useClock } from "./use-clock.ts";

interface PhaseCardProps {
  readonly stage: RunStage;
  readonly timers: Timers;
  readonly isSearch: boolean;
}

export function PhaseCard({ stage, timers, isSearch }: PhaseCardProps) {
  const nowMs = useClock(200);
  const { totalS, phaseS, phaseLengthS } = readTimers(timers, nowMs);
  const at = stageIndex(stage);
  const share = phaseLengthS === undefined || phaseLengthS === 0 ? 0 : phaseS / phaseLengthS;
  return (
    <section className="card phase-card" aria-label="Progress">
      <ol className="phase-steps">
        {stages.map(({ stage: each, word }, index) => (
          <li
            key={each}
            data-done={index < at || undefined}
            {...(index === at && { "aria-current": "step" as const })}
          >
            <span className="phase-word">{word}</span>
            {index === at && (
              <span className="phase-time" data-timer="phase" data-seconds={phaseS.toFixed(1)}>
                {formatTimer(phaseS)}
                {phaseLengthS !== undefined && (
                  <span className="dim"> of {formatTimer(phaseLengthS)}</span>
                )}
              </span>
            )}
            <span className="phase-track" aria-hidden="true">
              <span
                className="phase-fill"
                data-open={index === at && phaseLengthS === undefined ? true : undefined}
                style={{ width: `${widthOf(index, at, share) * 100}%` }}
              />
            </span>
          </li>
        ))}
      </ol>
      <div className="phase-total">
        <span className="dim">Total{isSearch ? ", until found" : ""}</span>
        <strong data-timer="total" data-seconds={totalS.toFixed(1)}>
          {formatTimer(totalS)}
        </strong>
      </div>
    </section>
  );
}

function widthOf(index: number, at: number, share: number): number {
  if (index !== at) return index < at ? 1 : 0;
  return Math.min(1, share);
}
