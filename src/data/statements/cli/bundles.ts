/**
 * Bundles: what stands between BEGIN and COMMIT goes to the server as one text, which does all of
 * it or nothing. Kinds whose statements cannot be bundled refuse it there.
 */
import { exitCodes, Failure } from "../../../ground/command/index.ts";

export class Bundles {
  #statements: string[] | undefined;

  get isOpen(): boolean {
    return this.#statements !== undefined;
  }

  /** What to run now: the statement itself, a whole bundle, or nothing yet. */
  take(statement: string): string | undefined {
    const word = wordOf(statement);
    const bundle = this.#statements;
    if (bundle === undefined) {
      if (word !== "BEGIN") return statement;
      this.#statements = [];
      return undefined;
    }
    if (word === "BEGIN") {
      throw new Failure(
        "usage",
        "BEGIN within a bundle",
        exitCodes.usage,
        "COMMIT ends the first one.",
      );
    }
    if (word !== "COMMIT" && word !== "ROLLBACK") {
      bundle.push(statement);
      return undefined;
    }
    this.#statements = undefined;
    return word === "COMMIT" && bundle.length > 0 ? bundle.join(";\n") : undefined;
  }

  discard(): void {
    this.#statements = undefined;
  }
}

const control = /^(?:--[^\n]*\n|\s)*(BEGIN|COMMIT|ROLLBACK)(?:\s+TRANSACTION)?\s*$/i;

function wordOf(statement: string): string {
  return control.exec(statement)?.[1]?.toUpperCase() ?? "";
}
