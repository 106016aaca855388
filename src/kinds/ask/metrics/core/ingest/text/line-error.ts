import { MalformedInput } from "../malformed.ts";

/** An unreadable line. `message` begins with the line's number. */
export class LineError extends MalformedInput {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.line = line;
  }
}
