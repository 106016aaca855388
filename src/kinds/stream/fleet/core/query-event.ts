/** A row of `system.query_events`, from a change of the log (SD83). */

export interface LoggedChange {
  readonly revision: number;
  readonly op: "CREATE" | "UPDATE" | "DROP";
  readonly row_json: string;
  readonly old_row_json: string | null;
  readonly committed_at_ms: number;
}

interface LoggedQuery {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: string;
  readonly epoch: number;
  readonly state_reason: string;
}

/** `undefined`: the state is the same as before. */
export function queryEventOf(change: LoggedChange) {
  const { revision, op, committed_at_ms: timestamp } = change;
  const row = JSON.parse(change.row_json) as LoggedQuery;
  const before =
    change.old_row_json === null ? undefined : (JSON.parse(change.old_row_json) as LoggedQuery);
  if (before !== undefined && before.state === row.state) return undefined;
  const { query_id, name: query_name, epoch, state, state_reason: reason } = row;
  return {
    ...{ revision, timestamp, query_id, query_name, epoch },
    from_state: op === "DROP" ? state : (before?.state ?? null),
    to_state: op === "DROP" ? null : state,
    reason,
  };
}
