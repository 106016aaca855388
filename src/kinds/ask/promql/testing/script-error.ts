/** A test script is invalid. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
  /** Starts at 1. */
  readonly line: number;

  constructor(line: number, problem: string, cause?: unknown) {
    super(`line ${line}: ${problem}`, { cause });
    this.line = line;
  }
}
