/** The exit statuses of the command line. `capstan --help` lists them. */
export const exitCodes = {
  ok: 0,
  /** The requested operation failed. */
  failure: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** No coordinator answers. */
  unreachable: 3,
  /** The token is missing, unknown, or may not do this. */
  notAuthorised: 4,
  /**
   * A child of `capstan up` tells its supervisor that this worker was dropped and must stay down.
   */
  dropped: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
