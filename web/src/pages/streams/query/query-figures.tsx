/** How a query does, in figures that change each second. */
import type { LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { Figure } from "../../../components/figure.tsx";
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDuration,
  formatLag,
  formatPercent,
  formatRate,
  unknown,
} from "../../../format.ts";
import { type QueryTotals, totalsOf } from "./live-figures.ts";

interface QueryFiguresProps {
  readonly query: StreamQueryDetail;
  readonly live: LiveQuery | undefined;
  readonly nowMs: number;
}

export function QueryFigures({ query, live, nowMs }: QueryFiguresProps) {
  const totals = live && totalsOf(live);
  const since = query.epoch > 1 ? `in epoch ${query.epoch}` : "since it began";
  return (
    <dl className="card figures-strip">
      <Figure name="Rows in" note={known(totals?.rowsIn, since)}>
        <PerSecond rate={totals?.rowsInPerSecond} />
      </Figure>
      <Figure name="Rows out" note={known(totals?.rowsOut, since)}>
        <PerSecond rate={totals?.rowsOutPerSecond} />
      </Figure>
      <Figure name="Behind" note={live?.held_back_by?.reason ?? "no event time is known"}>
        {formatLag(totals?.watermarkLagMs)}
      </Figure>
      <Figure name="Backpressure" note={backpressureNote(totals)}>
        {formatPercent(totals?.backpressure?.ratio)}
      </Figure>
      <Figure name="Late rows" note={known(totals?.malformedRows, "malformed")}>
        {formatCount(totals?.lateRows)}
      </Figure>
      <Figure name="Last checkpoint" note={checkpointNote(live)}>
        {checkpointAge(live, nowMs)}
      </Figure>
    </dl>
  );
}

function known(count: number | undefined, of: string): string {
  return count === undefined ? "not known" : `${formatCount(count)} ${of}`;
}

function PerSecond({ rate }: { readonly rate: number | undefined }) {
  return (
    <>
      {formatRate(rate)}
      {rate !== undefined && <span className="dim figure-aside">/s</span>}
    </>
  );
}

function backpressureNote(totals: QueryTotals | undefined): string {
  const worst = totals?.backpressure;
  if (worst === undefined) return "not known";
  return worst.ratio === 0 ? "nothing waits for room" : `${worst.fragment} waits for room`;
}

function checkpointNote(live: LiveQuery | undefined): string {
  const [newest] = live?.checkpoints ?? [];
  if (newest === undefined) return "none yet";
  return `${formatBytes(newest.bytes)} in ${formatDuration(newest.duration_ms)}`;
}

function checkpointAge(live: LiveQuery | undefined, nowMs: number): string {
  const [newest] = live?.checkpoints ?? [];
  if (newest === undefined) return unknown;
  return formatAgo(Math.max(0, nowMs - newest.begun_at_ms - newest.duration_ms));
}
