/** Parse and Describe of one statement: the types that the server wants, or why it refuses. */
import type { Operation, OperationStatement } from "../../core/operation.ts";
import { placeholderOf } from "../named-sql.ts";
import { declaredOids } from "./encode-parameter.ts";
import { describeStatementFrame, parseFrame, syncFrame } from "./frames.ts";
import { MalformedStream } from "./message-scanner.ts";
import { parseParameterTypes } from "./parse-rows.ts";
import { parseServerError, type ServerError } from "./server-error.ts";
import type { WireReceiver } from "./wire.ts";

/** With `$1` and so on, one for each place: the server may want another type in each. */
export function sqlOf({ texts }: OperationStatement): string {
  return texts.reduce((sql, text, index) => `${sql}$${index}${text}`);
}

/** A position (from 1) in `sqlOf`, as one in `namedSqlOf`. */
export function namedPosition(
  operation: Operation,
  statement: OperationStatement,
  position: number,
): number {
  let numbered = 0;
  let named = 0;
  for (const [index, text] of statement.texts.entries()) {
    if (position <= numbered + text.length) return named + position - numbered;
    numbered += text.length + `$${index + 1}`.length;
    named += text.length;
    if (position <= numbered) return named + 1;
    named += placeholderOf(operation, statement, index).length;
  }
  return named;
}

export function declaredTypesOf(operation: Operation, statement: OperationStatement): number[] {
  return statement.parameters.map((index) => {
    const parameter = operation.parameters[index];
    return parameter === undefined ? 0 : declaredOids[parameter.type];
  });
}

/** `$1 + $2` alone says nothing of its types: then those that the operation declares count. */
export function isTypeUnknown({ code }: ServerError): boolean {
  return code === "42P18" || code === "42725" || code === "42P08";
}

export function prepareFrames(name: string, sql: string, types: readonly number[]): Buffer {
  return Buffer.concat([parseFrame(name, sql, types), describeStatementFrame(name), syncFrame]);
}

export type Described =
  | { readonly oids: readonly number[] }
  | { readonly error: ServerError }
  | { readonly broken: string };

/** Receives the answer to `prepareFrames`. */
export class DescribeReceiver implements WireReceiver {
  readonly #decide: (described: Described) => void;
  #oids: readonly number[] = [];
  #error: ServerError | undefined;
  #isOver = false;

  constructor(decide: (described: Described) => void) {
    this.#decide = decide;
  }

  message(type: number, bytes: Buffer, start: number, end: number): void {
    switch (String.fromCharCode(type)) {
      case "t":
        this.#oids = parseParameterTypes(bytes, start, end);
        return;
      case "E":
        this.#error = parseServerError(bytes, start, end);
        return;
      case "Z":
        this.#finish(this.#error === undefined ? { oids: this.#oids } : { error: this.#error });
        return;
      case "1":
      case "T":
      case "n":
      case "N":
      case "S":
      case "A":
        return;
      default:
        throw new MalformedStream("a message that does not belong to a description");
    }
  }

  pieceEnded(): void {}

  broken(why: string): void {
    this.#finish({ broken: this.#error?.message ?? why });
  }

  #finish(described: Described): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#decide(described);
  }
}
