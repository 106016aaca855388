/** A ratio as a bar with its number beside it. */
import { formatPercent } from "../format.ts";

export function Meter({ ratio }: { readonly ratio: number | undefined }) {
  const width = `${Math.min(1, Math.max(0, ratio ?? 0)) * 100}%`;
  return (
    <span className="meter">
      <span className="meter-track" aria-hidden="true">
        <span className="meter-fill" style={{ width }} />
      </span>
      {formatPercent(ratio)}
    </span>
  );
}
