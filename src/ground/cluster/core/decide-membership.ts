/** Decides a worker's row from this coordinator's session with it: MB1 to MB3. Pure. */
import type { SessionView } from "./session-view.ts";

/** The columns of a worker's row that the coordinator's sessions decide. */
export interface MembershipStatus {
  readonly state: "ACTIVE" | "UNREACHABLE";
  readonly state_reason: string;
  readonly accepting_work: number;
  readonly draining: number;
  readonly incarnation: string;
  readonly software_version: string;
  readonly capacity: number;
}

export const reasons = {
  active: "answering heartbeats",
  takenOver: "not heard from since this coordinator took over",
  registered: "registered, not heard from yet",
  notDialled: "not among the workers that discovery found",
} as const;

/** Reasons that mean that nothing is known yet (MB2). */
const provisional: ReadonlySet<string> = new Set([reasons.takenOver, reasons.registered]);

/** The columns to change; undefined when none (MB3). `view` is undefined without such a target. */
export function decideMembership(
  row: MembershipStatus,
  view: SessionView | undefined,
): Partial<MembershipStatus> | undefined {
  const patch = view?.live === undefined ? whenDown(row, view) : whenLive(row, view.live);
  const changed = Object.entries(patch).filter(
    ([column, value]) => row[column as keyof MembershipStatus] !== value,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

function whenLive(
  row: MembershipStatus,
  live: NonNullable<SessionView["live"]>,
): Partial<MembershipStatus> {
  return {
    state: "ACTIVE",
    state_reason: row.state === "ACTIVE" ? row.state_reason : reasons.active,
    accepting_work: live.admission.accepting ? 1 : 0,
    draining: live.admission.draining ? 1 : 0,
    incarnation: live.incarnation,
    software_version: live.softwareVersion,
    capacity: live.capacity,
  };
}

function whenDown(row: MembershipStatus, view: SessionView | undefined): Partial<MembershipStatus> {
  const down = { state: "UNREACHABLE", accepting_work: 0, draining: 0 } as const;
  if (row.state === "ACTIVE") {
    const reason =
      view === undefined ? reasons.notDialled : (view.downReason ?? reasons.registered);
    return { ...down, state_reason: reason };
  }
  const isKnown = view?.downReason !== undefined && provisional.has(row.state_reason); // MB2
  return isKnown ? { ...down, state_reason: view.downReason } : down;
}

/** Whether only the willingness to take work changed, which may happen many times a second. */
export function isAdmissionOnly(patch: Partial<MembershipStatus>): boolean {
  return Object.keys(patch).every((column) => column === "accepting_work");
}
