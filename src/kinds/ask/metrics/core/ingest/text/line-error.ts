import { MalformedInput } from "../malformed.ts";

/** A line that cannot be read. `message` is complete: it begins with the line's number. */
export class LineError extends MalformedInput {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.line = line;
  }
}
