/**
 * Whether no rows come out of a query. Windows give theirs in bursts, so a rate of one second says
 * nothing: rows that came out are counted over a while. Pure.
 */
import type { LiveQuery } from "../../../api/gen/types.ts";
import { totalsOf } from "./live-figures.ts";

/** How many rows had come out when that number was last seen to change. */
export interface SeenOutput {
  readonly epoch: number;
  readonly rowsOut: number;
  readonly atMs: number;
}

const silentMsMin = 10_000;

/** By query; what is not among `lives` is forgotten. */
export function stepOutputs(
  before: ReadonlyMap<string, SeenOutput>,
  lives: ReadonlyMap<string, LiveQuery>,
): ReadonlyMap<string, SeenOutput> {
  const after = new Map<string, SeenOutput>();
  for (const [id, live] of lives) {
    const { rowsOut } = totalsOf(live);
    const known = before.get(id);
    if (rowsOut === undefined) continue;
    const isSame = known?.epoch === live.epoch && known.rowsOut === rowsOut;
    after.set(id, isSame ? known : { epoch: live.epoch, rowsOut, atMs: live.at_ms });
  }
  return after;
}

/** Why no rows come out; empty where they do, or where nobody knows. */
export function silenceOf(live: LiveQuery, seen: SeenOutput | undefined): string {
  const { held_back_by: held, at_ms: atMs } = live;
  if (held === null || seen === undefined) return "";
  const isSilent = seen.rowsOut === 0 || atMs - seen.atMs >= silentMsMin;
  return isSilent ? `no rows come out: ${held.reason}` : "";
}
