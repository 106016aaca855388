/** Events of the engine's processes, for metrics. */
export interface EngineObserver {
  processStarted(tookMs: number): void;
  /** A process was lost: to memory, an ignored cancellation, another's turn, or a crash. */
  processLost(reason: "memory" | "cancel" | "crash" | "overdue" | "closed"): void;
  /** A statement is run again because its process was lost. */
  statementRepeated(): void;
  /** A statement failed because of the damage to a process in which it was alone. */
  statementAtFault(code: string): void;
}

export const silentEngineObserver: EngineObserver = {
  processStarted: () => undefined,
  processLost: () => undefined,
  statementRepeated: () => undefined,
  statementAtFault: () => undefined,
};
