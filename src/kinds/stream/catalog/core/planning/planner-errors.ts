/** Errors of the dialect as refusals of the request table, with number, place and hint (SC15). */

import { detailsOf, type ErrorCode, OperatingError } from "../../../../../ground/kernel/errors.ts";
import {
  DialectError,
  type DialectErrorNumber,
  type Position,
  type Statement,
} from "../../../language/core/index.ts";

const definitionCodes: Partial<Record<DialectErrorNumber, ErrorCode>> = {
  1000: "InvalidConfig",
  2000: "EmptySchema",
  2003: "InvalidSchema",
  2005: "InvalidSchema",
  2016: "SinkTypeDoesNotExist",
  2017: "SourceTypeDoesNotExist",
  2018: "InvalidConfig",
  2021: "InvalidConfig",
  2029: "InvalidConfig",
  2030: "LogicalSourceDoesNotExistForPhysical",
  2031: "AlreadyExists",
  2034: "AlreadyExists",
  2036: "InvalidConfig",
};

/** A text that cannot be read. */
export function parserError(thrown: unknown, text: string): unknown {
  if (!(thrown instanceof DialectError)) return thrown;
  const declares = /^\s*CREATE\s+(LOGICAL|SINK)\b/i.test(text);
  const isType = thrown.number === 2023 && declares;
  return refused(isType ? "InvalidSchema" : "ParserError", thrown);
}

/** A source, sink, view or worker that cannot be as the statement says. */
export function definitionError(thrown: unknown, { kind, ...statement }: Statement): unknown {
  if (!(thrown instanceof DialectError)) return thrown;
  const isQuery =
    thrown.number !== 2031 && "definition" in statement && statement.definition !== undefined;
  const code = isQuery || kind === "createView" ? queryCode(thrown) : undefined;
  return refused(code ?? definitionCodes[thrown.number] ?? "BinderError", thrown, statement);
}

function queryCode({ number }: DialectError): ErrorCode | undefined {
  return number === 2031 ? undefined : "BinderError";
}

/** `isDry`: nothing is read for a source of the query. */
export function bindError(thrown: unknown, isDry: boolean, statement: Statement): unknown {
  if (!(thrown instanceof DialectError)) return thrown;
  const code = thrown.number === 2033 ? "SinkDoesNotExistForQuery" : "BinderError";
  return refused(thrown.number === 2030 && isDry ? "PlacementError" : code, thrown, statement);
}

export function optimizerError(thrown: unknown, statement: Statement): unknown {
  return thrown instanceof DialectError ? refused("OptimizerError", thrown, statement) : thrown;
}

/** Of the statement, where the error does not say. */
function refused(
  code: ErrorCode,
  { message, number, hint, position: own }: DialectError,
  statement?: { readonly position: Position },
): OperatingError {
  const position = own ?? statement?.position;
  return new OperatingError(code, "never", message, {
    number,
    ...(hint === undefined ? {} : { hint }),
    ...(position === undefined ? {} : { position }),
  });
}

/** The error of a statement of a bundle says of which. */
export function ofStatement(thrown: unknown, at: number): unknown {
  if (!(thrown instanceof OperatingError)) return thrown;
  const { code, retry, message } = thrown;
  return new OperatingError(code, retry, `statement ${at + 1}: ${message}`, {
    ...detailsOf(thrown),
    statement: at + 1,
    cause: thrown,
  });
}
