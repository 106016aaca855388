/** What the engine's processes go through, for metrics. */
export interface EngineObserver {
  processStarted(tookMs: number): void;
  /** One was lost: its memory, a cancellation that it ignored, others' turn, or by itself. */
  processLost(reason: "memory" | "cancel" | "crash" | "overdue" | "closed"): void;
  /** A statement is run again, because its process was lost. */
  statementRepeated(): void;
  /** A statement failed for what it did to a process in which it was alone. */
  statementAtFault(code: string): void;
}

export const silentEngineObserver: EngineObserver = {
  processStarted: () => undefined,
  processLost: () => undefined,
  statementRepeated: () => undefined,
  statementAtFault: () => undefined,
};
