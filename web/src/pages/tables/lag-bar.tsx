/** Lag against target: the bar is full when the target is reached. */
import type { DynamicTable } from "../../api/gen/types.ts";
import { formatLag } from "../../format.ts";
import { conditionOf, lagOf, lagRatioOf, targetText } from "./table-condition.ts";

interface LagBarProps {
  readonly table: DynamicTable;
  readonly nowMs: number;
}

export function LagBar({ table, nowMs }: LagBarProps) {
  const ratio = lagRatioOf(table, nowMs);
  const target = table.effective_target_lag_ms;
  const width = `${Math.min(1, ratio ?? 0) * 100}%`;
  const stopped = table.status === "SUSPENDED" || table.status === "FAILED";
  const tone = stopped ? "idle" : conditionOf(table) === "late" ? "late" : "good";
  return (
    <span className="lag">
      <span className="lag-track" aria-hidden="true">
        <span className={`lag-fill lag-${tone}`} style={{ width }} />
      </span>
      <span className="num">{formatLag(lagOf(table, nowMs))}</span>
      <span className="dim nowrap" title={`target ${targetText(table)}`}>
        of {target === null ? "downstream" : formatLag(target)}
      </span>
    </span>
  );
}
