/**
 * What the dialect refuses, by number and name. The numbers and names are those of NebulaStream's
 * error list, whose test suite is the judge of the dialect; a number below 3000 is found while a
 * statement is planned, the others while it runs.
 */

export const dialectErrors = {
  1000: "InvalidConfigParameter",
  1001: "CannotLoadConfig",
  2000: "InvalidQuerySyntax",
  2001: "CannotSerialize",
  2002: "CannotDeserialize",
  2003: "CannotInferSchema",
  2004: "FieldNotFound",
  2005: "FieldAlreadyExists",
  2006: "DifferentFieldTypeExpected",
  2007: "CannotInferStamp",
  2008: "UnsupportedQuery",
  2009: "InvalidIdentifier",
  2010: "InvalidLiteral",
  2011: "UnknownWindowType",
  2012: "UnknownPhysicalType",
  2013: "UnknownJoinStrategy",
  2015: "UnknownFunctionType",
  2016: "UnknownSinkType",
  2017: "UnknownSourceType",
  2018: "UnknownSinkFormat",
  2019: "UnknownAggregationType",
  2020: "UnknownOperation",
  2021: "UnknownInputFormatterType",
  2023: "UnknownDataType",
  2026: "QueryInvalid",
  2028: "TypeInferenceException",
  2029: "InvalidStatement",
  2030: "UnknownSourceName",
  2031: "SourceAlreadyExists",
  2032: "QueryCompilerError",
  2033: "UnknownSinkName",
  2034: "SinkAlreadyExists",
  2035: "QueryAlreadyRegistered",
  2036: "UnknownOutputFormatterType",
  2300: "PlacementFailure",
  2301: "InvalidTopology",
  2302: "UnknownWorker",
  3000: "BufferAllocationFailure",
  3002: "CannotFormatMalformedStringValue",
  3003: "CannotAllocateBuffer",
  3005: "TuplesTooLargeForPipelineBufferSize",
  3013: "ArithmeticalError",
  3014: "WindowingError",
  4000: "CannotFormatSourceData",
  4001: "RunningRoutineFailure",
  4002: "CannotOpenSource",
  4003: "FormattingError",
  4004: "CannotOpenSink",
  5000: "QueryNotFound",
  9000: "FunctionNotImplemented",
  9003: "NotImplemented",
} as const;

export type DialectErrorNumber = keyof typeof dialectErrors;
export type DialectErrorName = (typeof dialectErrors)[DialectErrorNumber];

/** The longest message, in characters: names of a person are part of it, and can be long. */
const messageMax = 400;

/** A place in a statement's text. */
export interface Position {
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in characters. */
  readonly column: number;
}

/**
 * Thrown by the pure code of the language and the engine; the shell that called it translates it
 * to an `OperatingError`.
 */
export class DialectError extends Error {
  override readonly name = "DialectError";
  readonly number: DialectErrorNumber;
  readonly position: Position | undefined;
  /** What the person could do about it. */
  readonly hint: string | undefined;

  constructor(
    number: DialectErrorNumber,
    message: string,
    more: { readonly position?: Position | undefined; readonly hint?: string | undefined } = {},
  ) {
    super(message.length > messageMax ? `${message.slice(0, messageMax)} …` : message);
    this.number = number;
    this.position = more.position;
    this.hint = more.hint;
  }

  get errorName(): DialectErrorName {
    return dialectErrors[this.number];
  }
}
