/** A test script that cannot be read. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
  /** From 1. */
  readonly line: number;

  constructor(line: number, problem: string, cause?: unknown) {
    super(`line ${line}: ${problem}`, { cause });
    this.line = line;
  }
}
