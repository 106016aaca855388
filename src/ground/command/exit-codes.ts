/** What the command line's exit status says. `capstan --help` lists them. */
export const exitCodes = {
  ok: 0,
  /** What was asked for failed. */
  failure: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** No coordinator answers. */
  unreachable: 3,
  /** The token is missing, unknown, or may not do this. */
  notAuthorised: 4,
  /** From a child of `capstan up` to its supervisor: a worker that was dropped, and should stay down. */
  dropped: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
