/** What one room adds to a process. A process is a list of parts, and stops as PR16 says. */
import type { OperatingError } from "../kernel/errors.ts";
import type { StopStep } from "./lifecycle.ts";

export interface Part {
  readonly name: string;
  /** Steps that end what the part begins by itself. */
  readonly quiesce?: readonly StopStep[];
  /** Steps that release what the part holds. */
  readonly close?: readonly StopStep[];
  /** Resolves when the part is broken for good: the process should end and be restarted. */
  readonly failure?: Promise<OperatingError>;
}

/** PR16 */
export function stopStepsOf(parts: readonly Part[], drain: StopStep): StopStep[] {
  return [
    ...parts.flatMap(({ quiesce = [] }) => quiesce),
    drain,
    ...parts.toReversed().flatMap(({ close = [] }) => close),
  ];
}

/** A part that only has something to close. */
export function closing(name: string, timeoutMs: number, run: () => unknown): Part {
  return { name, close: [stopStep(`close ${name}`, timeoutMs, run)] };
}

export function stopStep(name: string, timeoutMs: number, run: () => unknown): StopStep {
  return { name, timeoutMs, run: async () => void (await run()) };
}
