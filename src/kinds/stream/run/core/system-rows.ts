/**
 * The rows of the streams that a cluster makes of itself, as fragments ask their process for them.
 * A process gives what it has made, or what it hears of the coordinator.
 */

export interface AskedRows {
  /** The name of the stream, without its prefix. */
  readonly stream: string;
  /** Rows behind this place; `undefined`: none yet, the answer says where now is. */
  readonly after: string | undefined;
  /** Where the coordinator that deployed the reader gives its streams; absent for other streams. */
  readonly coordinator?: string;
}

export interface SystemRows {
  /** An object in JSON for each row, each with a line feed behind it. */
  readonly lines: string;
  /** The place behind the last of them. */
  readonly at: string;
}

export interface SystemRequests {
  /** Waits for rows, for a moment at most, and gives none then. */
  systemRows(asked: AskedRows): SystemRows;
}

export interface SystemCalls {
  systemRows(asked: AskedRows, signal?: AbortSignal): Promise<SystemRows>;
}
