/**
 * A Capstan inside of another program, for its tests and tools: the coordinator runs in this
 * process, workers in processes of its own that end with it. docs/library.md has an example.
 */

export interface CapstanOptions {
  /**
   * The data directory. By default a new one below the system's temporary directory, which is
   * deleted at the end.
   */
  readonly dataDir?: string;
  /** Default: 1. Without workers there are the catalog and its answers, and nothing runs. */
  readonly workers?: number;
  /** More options of `capstan up`, as on its command line: `["--lake", "s3://…"]`. */
  readonly args?: readonly string[];
  /** Of the coordinator, which writes to standard output, and of its workers. Default: `error`. */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
}

export interface CapstanAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Integers that no number holds exactly are rounded: cast them to text. */
  readonly rows: readonly (readonly unknown[])[];
}

/** A continuous query, as SHOW QUERY has it. */
export interface CapstanQuery {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: string;
  readonly state_reason: string;
}

export interface Capstan {
  /** Of its API and dashboard. */
  readonly url: string;
  readonly dataDir: string;
  /**
   * Runs statements, one after the other, each with its answer. Statements between BEGIN and
   * COMMIT are done as a whole or not at all, and have one answer. Rejects with an `Error` that has
   * `code`, and `hint` where there is one; the statements before it were done.
   */
  run(statements: string): Promise<readonly CapstanAnswer[]>;
  /** The rows of the last statement's answer. */
  rows(statements: string): Promise<CapstanAnswer["rows"]>;
  /**
   * Waits until a continuous query is in a state, RUNNING by default. Rejects when it ends in
   * another one, or `timeoutMs` are over (30,000 by default), and says why it is not there.
   */
  waitForQuery(
    name: string,
    state?: string,
    options?: { readonly timeoutMs?: number },
  ): Promise<CapstanQuery>;
  /** Stops everything. Idempotent. */
  close(): Promise<void>;
}

/** Resolves when it leads and all of its workers are there. */
export async function openCapstan(options: CapstanOptions = {}): Promise<Capstan> {
  const { startEmbedded } = await import("./start-embedded.ts");
  return await startEmbedded(options);
}
